// check_installers.c - commands of pip in the words of the installer that a package came by.
//
// An environment of uv has no pip. What conda or Debian installed is not pip's to change: then the sentence has to do.
#define _GNU_SOURCE
#include "advice/parts.h"
#include "doctor/checks.h"

#include <string.h>

// The package that a finding is about; else one that tells what the environment was made with.
static const struct nk_doctor_package *package_of(const struct nk_doctor *doctor, const struct nk_doctor_finding *f)
{
    if (f->package) return f->package;
    for (size_t i = 0; i < doctor->package_count; i++)
        if (doctor->packages[i]->known && !doctor->packages[i]->hidden) return doctor->packages[i];
    return NULL;
}

// "~/v/bin/python -m pip uninstall -y torch" becomes "uv pip uninstall --python ~/v/bin/python torch".
static void to_uv(struct nk_buf *command, const char *python)
{
    struct nk_buf out = {0}, pip = {0}, verb = {0};
    struct nk_advice_case about;
    nk_advice_case_init(&about);
    about.python = python;
    about.installer = "uv";
    nk_buf_format(&pip, "%s -m pip ", python);
    for (const char *at = command->data; at && pip.data && *at;) {
        if (strncmp(at, pip.data, pip.size) || at[pip.size] == '-') {
            nk_buf_add(&out, at++, 1);
            continue;
        }
        at += pip.size;
        nk_buf_clear(&verb);
        nk_buf_add(&verb, at, strcspn(at, " "));
        at += verb.size + strspn(at + verb.size, " ");
        if (!strncmp(at, "-y ", 3)) at += 3; // uv does not ask
        nk_repair_pip(&out, &about, verb.data ? verb.data : "");
    }
    if (out.size && out.data[out.size - 1] == ' ') out.data[--out.size] = 0;
    nk_buf_free(&pip);
    nk_buf_free(&verb);
    nk_buf_free(command);
    *command = out;
}

void nk_check_installers(struct nk_doctor *doctor)
{
    for (size_t i = 0; i < doctor->finding_count; i++) {
        struct nk_doctor_finding *f = doctor->findings[i];
        const struct nk_doctor_package *p = package_of(doctor, f);
        const char *installer = p ? p->installer : "";
        if (!strcmp(installer, "uv")) {
            to_uv(&f->command, doctor->python.shown);
            to_uv(&f->verify, doctor->python.shown);
        }
        bool foreign = !strcmp(installer, "conda") || !strcmp(installer, "debian");
        if (foreign && f->command.data && strstr(f->command.data, " -m pip ")) nk_buf_clear(&f->command);
    }
}
