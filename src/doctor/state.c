// state.c - what an environment consists of, for --save and --compare.
#define _GNU_SOURCE
#include "doctor/state.h"
#include "base/json_text.h"
#include "doctor/checks.h"
#include "packages/sources.h"
#include "report/words.h"

#include <stdlib.h>
#include <string.h>

static json_t *from_buf(struct nk_buf *text)
{
    json_t *value = nk_json_text(text->data ? text->data : "");
    nk_buf_free(text);
    return value;
}

static json_t *gpus(const struct nk_doctor *doctor)
{
    struct nk_buf text = {0};
    for (size_t i = 0; i < doctor->gpu_count; i++) {
        const struct nk_doctor_gpu *gpu = &doctor->gpus[i];
        nk_buf_format(&text, "%s%s%ssm_%d", i ? "; " : "", gpu->name, *gpu->name ? ", " : "", gpu->target.sm);
    }
    return from_buf(&text);
}

static json_t *driver(const struct nk_doctor *doctor)
{
    const struct nk_doctor_driver *d = &doctor->driver;
    struct nk_buf text = {0};
    if (d->state == NK_DRIVER_WORKS)
        nk_buf_format(&text, "%s%sCUDA %d.%d", d->version, *d->version ? ", " : "", d->cuda / 1000,
                      d->cuda % 1000 / 10);
    if (d->state == NK_DRIVER_WORKS && *d->module && strcmp(d->module, d->version))
        nk_buf_format(&text, ", kernel module %s", d->module);
    // Of GPUs that were asked about the drivers that were asked about.
    for (size_t i = 0; d->state == NK_DRIVER_UNASKED && i < doctor->gpu_count; i++)
        if (doctor->gpus[i].target.driver)
            nk_buf_format(&text, "%ssm_%d: CUDA %d.%d", text.size ? "; " : "", doctor->gpus[i].target.sm,
                          doctor->gpus[i].target.driver / 1000, doctor->gpus[i].target.driver % 1000 / 10);
    return from_buf(&text);
}

static json_t *settings(void)
{
    json_t *object = json_object();
    for (size_t i = 0; nk_check_setting(i); i++)
        if (getenv(nk_check_setting(i)))
            json_object_set_new(object, nk_check_setting(i), nk_json_text(getenv(nk_check_setting(i))));
    return object;
}

// What the installer of a package calls it, with its version; of pip and its kin where it came from, if from no index.
// *installer is corrected where no INSTALLER tells.
static json_t *spec(const struct nk_doctor *doctor, const struct nk_doctor_package *p, const char **installer)
{
    const char *file = nk_packages_ends(p->info, ".egg-info") ? "PKG-INFO" : "METADATA";
    struct nk_buf path = {0}, out = {0};
    struct nk_package deb;
    nk_buf_format(&path, "%s/%s/%s", p->site, p->info, file);
    bool conda = !*p->installer || !strcmp(p->installer, "conda");
    if (path.data && conda && !nk_packages_conda_spec(doctor->asked.root, path.data, &out)) *installer = "conda";
    if (path.data && !strcmp(p->installer, "debian") && !nk_packages_deb(doctor->asked.root, path.data, &deb))
        nk_buf_format(&out, "%s=%s", deb.name, deb.version);
    if (!out.size) nk_words_origin(&out, p->origin, doctor->asked.full_paths, false);
    nk_buf_free(&path);
    return from_buf(&out);
}

static json_t *packages(const struct nk_doctor *doctor)
{
    json_t *object = json_object();
    for (size_t i = 0; i < doctor->package_count; i++) {
        const struct nk_doctor_package *p = doctor->packages[i];
        const char *installer = p->installer;
        if (!p->known || p->hidden) continue;
        json_t *calls = spec(doctor, p, &installer);
        json_object_set_new(object, p->name,
                            json_pack("{s:o, s:s, s:o, s:o}", "version", nk_json_text(p->version), "content", p->record,
                                      "installer", nk_json_text(installer), "spec", calls));
    }
    return object;
}

static json_t *libraries(const struct nk_doctor *doctor)
{
    json_t *object = json_object();
    for (size_t i = 0; i < doctor->library_count; i++) {
        const struct nk_doctor_library *l = doctor->libraries[i];
        json_t *content = json_sprintf("%llu bytes%s%s%s%s", (unsigned long long)l->size,
                                       *l->build_id ? ", build-id " : "", l->build_id, *l->hash ? ", " : "", l->hash);
        json_object_set_new(object, l->shown,
                            json_pack("{s:s, s:o, s:o}", "version", "", "content", content, "package",
                                      nk_json_text(l->package ? l->package->name : "")));
    }
    return object;
}

static json_t *runtimes(const struct nk_doctor *doctor)
{
    json_t *object = json_object();
    for (size_t i = 0; i < doctor->runtime_count; i++) {
        const struct nk_doctor_runtime *r = &doctor->runtimes[i];
        struct nk_buf path = {0};
        // Of a library of a package the version of that is compared.
        if (r->package)
            nk_buf_text(&path, r->package->name);
        else
            nk_words_redacted(&path, r->path, doctor->asked.full_paths);
        if (*r->path && !json_object_get(object, r->name)) json_object_set_new(object, r->name, from_buf(&path));
        nk_buf_free(&path);
    }
    return object;
}

json_t *nk_doctor_state(const struct nk_doctor *doctor)
{
    return json_pack("{s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:o}", "version", NK_VERSION, "gpus", gpus(doctor), "driver",
                     driver(doctor), "python", *doctor->python.full ? doctor->python.full : doctor->python.version,
                     "settings", settings(), "packages", packages(doctor), "libraries", libraries(doctor), "runtimes",
                     runtimes(doctor));
}
