// advise.c - what to do about a package on a GPU: the same advice as in the report of a failed run.
#define _GNU_SOURCE
#include "advice/advice.h"
#include "advice/parts.h"
#include "doctor/checks.h"
#include "image/elf.h"
#include "packages/sources.h"
#include "report/words.h"

#include <string.h>

enum { MOST_NAMES = 64, EM_AARCH64 = 183 };

// Names go into commands: what no package is called is not known.
static const char *plain(const char *name) { return nk_doctor_plain(name) ? name : ""; }

// What a case borrows while it is advised on.
struct loan {
    struct nk_package owner;
    struct nk_buf origin;
    const char *others[MOST_NAMES + 1];
    int sms[NK_DOCTOR_GPUS + 1];
};

// All but what there is of code. `path`: of a file of the package.
static void begin(struct nk_doctor *doctor, const struct nk_doctor_package *p, const char *path,
                  struct nk_advice_case *about, struct loan *loan)
{
    struct nk_package *owner = &loan->owner;
    const struct nk_doctor_package *torch = nk_doctor_package(doctor, "torch");
    size_t count = 0;
    nk_advice_case_init(about);
    about->package = p ? plain(p->name) : "";
    about->version = p ? plain(p->version) : "";
    about->source = p ? !strcmp(p->installer, "conda") ? "conda" : "pip" : "";
    about->installer = p ? p->installer : "";
    if (p && !nk_package_find_in(doctor->asked.root, path, owner, NULL)) {
        about->source = owner->source;
        if (strcmp(owner->source, "pip")) about->package = plain(owner->name); // as its installer calls it
        nk_words_origin(&loan->origin, owner->origin, doctor->asked.full_paths, true);
        if (loan->origin.data) about->origin = loan->origin.data;
    }
    about->library = path;
    about->torch = torch ? plain(torch->version) : "";
    about->python = doctor->python.shown;
    about->python_version = doctor->python.version;
    about->user_site = p && p->kind == NK_SITE_USER;
    for (size_t i = 0; i < doctor->package_count && count < MOST_NAMES; i++)
        if (doctor->packages[i]->known && !doctor->packages[i]->hidden && !strchr(doctor->packages[i]->name, ' '))
            loan->others[count++] = doctor->packages[i]->name;
    for (size_t i = 0; i < doctor->gpu_count; i++) loan->sms[i] = doctor->gpus[i].target.sm;
    about->others = loan->others;
    about->sms = loan->sms;
}

void nk_check_advise(struct nk_doctor *doctor, struct nk_doctor_finding *finding,
                     const struct nk_doctor_library *library)
{
    struct nk_advice_case about;
    struct loan loan = {0};
    const struct nk_doctor_cover *cover = &library->cover[finding->gpu];
    const struct nk_doctor_box *box = &library->boxes[cover->box];
    begin(doctor, library->package, library->path, &about, &loan);
    if (library->machine == EM_AARCH64) about.machine = "aarch64";
    about.target = doctor->gpus[finding->gpu].target;
    about.verdict = cover->verdict;
    about.images = library->images + box->first;
    about.image_count = box->count;
    nk_advise(&about, doctor->language, &finding->advice);
    nk_buf_free(&loan.origin);
    if (!finding->advice.count && !finding->remedy.size)
        nk_text_add(&finding->remedy, doctor->language, NK_TEXT_OTHER_GPU, NULL, NULL, NULL, NULL);
}

void nk_check_advise_build(struct nk_doctor *doctor, struct nk_doctor_finding *finding)
{
    struct nk_advice_case about;
    struct loan loan = {0};
    struct nk_buf path = {0};
    const struct nk_doctor_package *p = finding->package;
    nk_buf_format(&path, "%s/%s/__init__.py", p->site, p->name);
    begin(doctor, p, path.data ? path.data : "", &about, &loan);
#ifdef __aarch64__
    about.machine = "aarch64";
#endif
    about.target = doctor->gpus[0].target;
    if (doctor->driver.cuda) about.target.driver = doctor->driver.cuda;
    about.verdict = (struct nk_verdict){.runs = NK_RUNS_NONE, .reason = NK_REASON_NO_IMAGE};
    nk_advise(&about, doctor->language, &finding->advice);
    nk_buf_free(&loan.origin);
    nk_buf_free(&path);
}
