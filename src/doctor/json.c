// json.c - the doctor as JSON (schema nokernel-doctor/1).
#define _GNU_SOURCE
#include "doctor/doctor.h"
#include "base/json_text.h"
#include "report/words.h"
#include "verdict/arch.h"

#include <stdlib.h>
#include <string.h>

static json_t *buf_text(const struct nk_buf *buf) { return nk_json_text(buf->data ? buf->data : ""); }

static json_t *path_text(const struct nk_doctor *doctor, const char *path)
{
    // What is shown was kept by the doctor's memory: paths are made anew here, so that nothing is changed.
    struct nk_buf out = {0};
    nk_words_redacted(&out, path, doctor->asked.full_paths);
    json_t *text = buf_text(&out);
    nk_buf_free(&out);
    return text;
}

static json_t *cuda_text(int cuda)
{
    return cuda > 0 ? json_sprintf("%d.%d", cuda / 1000, cuda % 1000 / 10) : json_null();
}

static json_t *gpus(const struct nk_doctor *doctor)
{
    json_t *array = json_array();
    for (size_t i = 0; i < doctor->gpu_count; i++) {
        const struct nk_doctor_gpu *gpu = &doctor->gpus[i];
        json_t *one = json_pack("{s:o, s:s, s:b, s:o}", "name", nk_json_text(gpu->name), "text", gpu->text, "asked",
                                gpu->ordinal < 0, "sm", json_sprintf("sm_%d", gpu->target.sm));
        if (gpu->ordinal >= 0) json_object_set_new(one, "ordinal", json_integer(gpu->ordinal));
        if (gpu->target.driver) json_object_set_new(one, "driver_cuda", cuda_text(gpu->target.driver));
        json_array_append_new(array, one);
    }
    return array;
}

json_t *nk_doctor_json_driver(const struct nk_doctor *doctor)
{
    static const char *const states[] = {"not asked", "absent", "hangs", "refuses", "works"};
    const struct nk_doctor_driver *d = &doctor->driver;
    return json_pack("{s:s, s:i, s:o, s:o, s:s, s:s, s:b, s:b, s:b, s:b}", "state", states[d->state], "result",
                     d->result, "cuda", cuda_text(d->cuda), "library", path_text(doctor, d->library), "version",
                     d->version, "module", d->module, "wsl", d->wsl, "container", d->container, "stub", d->stub,
                     "forward_compatibility", d->compat);
}

static json_t *python(const struct nk_doctor *doctor)
{
    static const char *const kinds[] = {"own", "pythonpath", "user", "base", "pth"};
    const struct nk_doctor_python *p = &doctor->python;
    json_t *sites = json_array();
    for (size_t i = 0; i < p->site_count; i++)
        json_array_append_new(sites, json_pack("{s:o, s:s}", "path", path_text(doctor, p->sites[i].path), "kind",
                                               kinds[p->sites[i].kind]));
    return json_pack("{s:o, s:o, s:s, s:s, s:s, s:o, s:o}", "exe", path_text(doctor, p->exe), "prefix",
                     path_text(doctor, p->prefix), "kind", p->kind, "version", *p->full ? p->full : p->version,
                     "why_none", p->why, "base", path_text(doctor, p->base), "sites", sites);
}

static json_t *origin(const struct nk_doctor *doctor, const struct nk_doctor_package *p)
{
    struct nk_buf out = {0};
    nk_words_origin(&out, p->origin, doctor->asked.full_paths, false);
    json_t *value = nk_json_or_null(out.data);
    nk_buf_free(&out);
    return value;
}

static json_t *packages(const struct nk_doctor *doctor)
{
    json_t *array = json_array();
    for (size_t i = 0; i < doctor->package_count; i++) {
        const struct nk_doctor_package *p = doctor->packages[i];
        if (!p->known) continue;
        json_array_append_new(array,
                              json_pack("{s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:b}", "name", nk_json_text(p->name),
                                        "version", nk_json_text(p->version), "cuda", cuda_text(p->cuda), "cpu",
                                        p->cuda < 0, "site", path_text(doctor, p->site), "installer",
                                        nk_json_text(p->installer), "origin", origin(doctor, p), "hidden", p->hidden));
    }
    return array;
}

static json_t *images(const struct nk_doctor_library *l)
{
    json_t *array = json_array(), *seen = json_object();
    for (size_t i = 0; i < l->image_count; i++) {
        char name[NK_ARCH_TEXT];
        const struct nk_image *image = &l->images[i];
        if (image->kind != NK_KIND_CUBIN && image->kind != NK_KIND_PTX) continue;
        nk_arch_text(name, (struct nk_arch){image->arch, (char)image->suffix, image->kind == NK_KIND_PTX});
        if (json_object_get(seen, name)) continue;
        json_object_set_new(seen, name, json_true());
        json_array_append_new(array, json_string(name));
    }
    json_decref(seen);
    return array;
}

static json_t *libraries(const struct nk_doctor *doctor)
{
    json_t *array = json_array();
    for (size_t i = 0; i < doctor->library_count; i++) {
        const struct nk_doctor_library *l = doctor->libraries[i];
        json_t *verdicts = json_object();
        for (size_t gpu = 0; gpu < doctor->gpu_count; gpu++) {
            const struct nk_doctor_cover *c = &l->cover[gpu];
            json_t *one =
                json_pack("{s:s, s:i, s:i, s:i, s:i}", "word", c->word && *c->word ? c->word : "empty", "native",
                          (int)c->native, "jit", (int)c->jit, "none", (int)c->none, "unknown", (int)c->unknown);
            if (c->none) json_object_set_new(one, "reason", json_string(nk_reason_key(c->verdict.reason)));
            json_object_set_new(verdicts, doctor->gpus[gpu].text, one);
        }
        json_array_append_new(array, json_pack("{s:o, s:o, s:i, s:o, s:o}", "path", nk_json_text(l->shown), "package",
                                               l->package ? nk_json_text(l->package->name) : json_null(), "containers",
                                               (int)l->box_count, "images", images(l), "verdicts", verdicts));
    }
    return array;
}

static json_t *runtimes(const struct nk_doctor *doctor)
{
    json_t *array = json_array();
    for (size_t i = 0; i < doctor->runtime_count; i++) {
        const struct nk_doctor_runtime *r = &doctor->runtimes[i];
        json_array_append_new(array, json_pack("{s:s, s:o, s:s, s:o, s:o}", "name", r->name, "path",
                                               path_text(doctor, r->path), "how", r->how, "by", nk_json_text(r->by),
                                               "package", r->package ? nk_json_text(r->package->name) : json_null()));
    }
    return array;
}

// ---- findings

static json_t *repair(const char *text, const char *command, enum nk_text safety, const char *evidence)
{
    bool safe = safety == NK_TEXT_SAFE_PACKAGE || safety == NK_TEXT_SAFE_ENVIRONMENT || safety == NK_TEXT_SAFE_NOTHING;
    return json_pack("{s:o, s:o, s:b, s:o}", "text", nk_json_text(text), "command", nk_json_text(command), "safe", safe,
                     "evidence", nk_json_text(evidence));
}

static json_t *repairs(const struct nk_doctor_finding *f)
{
    json_t *array = json_array();
    if (f->remedy.size)
        json_array_append_new(
            array, repair(f->remedy.data, f->command.data ? f->command.data : "", nk_finding(f->name)->safety, ""));
    for (size_t i = 0; i < f->advice.count; i++) {
        const struct nk_repair *r = &f->advice.repair[i];
        json_array_append_new(array, repair(r->text.data ? r->text.data : "", r->command.data ? r->command.data : "",
                                            r->safe_because, r->evidence.data ? r->evidence.data : ""));
    }
    return array;
}

static json_t *lines(const struct nk_buf *text)
{
    json_t *array = json_array();
    for (const char *at = text->data; at && *at;) {
        char *line = strndup(at, strcspn(at, "\n"));
        json_array_append_new(array, nk_json_text(line ? line : ""));
        free(line);
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    return array;
}

json_t *nk_doctor_json_findings(const struct nk_doctor *doctor)
{
    json_t *array = json_array();
    for (size_t i = 0; i < doctor->finding_count; i++) {
        const struct nk_doctor_finding *f = doctor->findings[i];
        const struct nk_finding_text *text = nk_finding(f->name);
        json_array_append_new(
            array, json_pack("{s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:s, s:s, s:o, s:o}", "code", text->code, "area",
                             text->area, "severity", nk_severity_word(f->severity), "primary", f->primary, "package",
                             f->package ? nk_json_text(f->package->name) : json_null(), "gpu",
                             f->gpu >= 0 ? json_string(doctor->gpus[f->gpu].text) : json_null(), "text",
                             buf_text(&f->sentence), "evidence", lines(&f->evidence), "means",
                             text->means[doctor->language], "does_not_mean", text->not_means[doctor->language],
                             "repairs", repairs(f), "verify", buf_text(&f->verify)));
    }
    return array;
}

static json_t *areas(const struct nk_doctor *doctor)
{
    json_t *array = json_array();
    for (size_t i = 0; i < doctor->row_count; i++) {
        const struct nk_doctor_row *row = &doctor->rows[i];
        json_array_append_new(array,
                              json_pack("{s:s, s:o, s:s, s:b}", "area", row->area, "found", buf_text(&row->found),
                                        "status", nk_doctor_status(doctor, row), "checked", !row->unchecked));
    }
    return array;
}

void nk_doctor_write_json(struct nk_buf *out, const struct nk_doctor *doctor)
{
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", "nokernel-doctor/1",
                  "version", NK_VERSION, "language", doctor->language == NK_CHINESE ? "zh" : "en", "nothing_to_change",
                  !nk_doctor_cause(doctor), "gpus", gpus(doctor), "driver", nk_doctor_json_driver(doctor), "python",
                  python(doctor), "packages", packages(doctor), "libraries", libraries(doctor), "runtimes",
                  runtimes(doctor), "areas", areas(doctor), "findings", nk_doctor_json_findings(doctor));
    nk_json_write_document(out, root);
}
