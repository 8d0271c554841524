// doctor.c - looks at everything that decides whether GPU programs run, in the order of the layers.
#include "doctor/doctor.h"
#include "doctor/checks.h"
#include "doctor/driver.h"
#include "doctor/installed.h"
#include "doctor/python.h"
#include "scan/gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int asked_gpus(struct nk_doctor *doctor, struct nk_err *err)
{
    struct nk_scan_gpus gpus = {.count = 0};
    if (!doctor->asked.gpus) return 0;
    if (nk_scan_gpus_parse(doctor->asked.gpus, &gpus, err)) return -1;
    for (size_t i = 0; i < gpus.count && i < NK_DOCTOR_GPUS; i++) {
        struct nk_doctor_gpu *gpu = &doctor->gpus[doctor->gpu_count++];
        *gpu = (struct nk_doctor_gpu){.ordinal = -1, .target = gpus.gpu[i].target};
        snprintf(gpu->text, sizeof gpu->text, "%s", gpus.gpu[i].text);
    }
    return 0;
}

// By the order of the catalogue, which is that of the layers; of one kind in the order in which they were found.
static int by_layer(const void *a, const void *b)
{
    const struct nk_doctor_finding *x = *(struct nk_doctor_finding *const *)a,
                                   *y = *(struct nk_doctor_finding *const *)b;
    if (x->severity != y->severity) return x->severity < y->severity ? 1 : -1;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    return x->gpu != y->gpu
               ? (x->gpu < y->gpu ? -1 : 1)
               : strcmp(x->sentence.data ? x->sentence.data : "", y->sentence.data ? y->sentence.data : "");
}

static void put_in_order(struct nk_doctor *doctor)
{
    if (!doctor->finding_count) return;
    qsort(doctor->findings, doctor->finding_count, sizeof *doctor->findings, by_layer);
    struct nk_doctor_finding *first = doctor->findings[0];
    first->primary = first->severity != NK_SEVERITY_NOTE;
}

int nk_doctor_examine(struct nk_doctor *doctor, const struct nk_doctor_asked *asked, struct nk_err *err)
{
    struct nk_driver_child child;
    *doctor = (struct nk_doctor){.asked = *asked, .language = nk_text_language()};
    if (asked_gpus(doctor, err)) return -1;
    nk_driver_start(doctor, &child);
    nk_python_find(doctor);
    nk_installed_find(doctor);
    nk_driver_finish(doctor, &child);
    nk_driver_check(doctor);
    nk_coverage_judge(doctor);
    nk_check_settings(doctor);
    nk_python_check(doctor);
    nk_check_framework(doctor);
    nk_installed_check(doctor);
    nk_check_companions(doctor);
    nk_check_runtime(doctor);
    nk_check_coverage(doctor);
    nk_check_recordings(doctor);
    nk_check_toolkit(doctor);
    nk_check_compilers(doctor);
    nk_check_caches(doctor);
    put_in_order(doctor);
    return doctor->failed ? nk_fail(err, NK_ERR_MEMORY, "not enough memory for what is installed") : 0;
}

void nk_doctor_examine_driver(struct nk_doctor *doctor, const struct nk_doctor_asked *asked)
{
    struct nk_driver_child child;
    *doctor = (struct nk_doctor){.asked = *asked, .language = nk_text_language()};
    nk_driver_start(doctor, &child);
    nk_driver_finish(doctor, &child);
    nk_driver_check(doctor);
    put_in_order(doctor);
}

size_t nk_doctor_count(const struct nk_doctor *doctor, enum nk_severity severity)
{
    size_t count = 0;
    for (size_t i = 0; i < doctor->finding_count; i++) count += doctor->findings[i]->severity >= severity;
    return count;
}

// The worst severity of the findings of an area, or -1.
static int worst_of(const struct nk_doctor *doctor, const char *area)
{
    int worst = -1;
    for (size_t i = 0; i < doctor->finding_count; i++)
        if (!strcmp(nk_finding(doctor->findings[i]->name)->area, area) && (int)doctor->findings[i]->severity > worst)
            worst = (int)doctor->findings[i]->severity;
    return worst;
}

const struct nk_doctor_finding *nk_doctor_cause(const struct nk_doctor *doctor)
{
    return doctor->finding_count && doctor->findings[0]->primary ? doctor->findings[0] : NULL;
}

const char *nk_doctor_status(const struct nk_doctor *doctor, const struct nk_doctor_row *row)
{
    static const char *const words[] = {"note", "warning", "FAILS"};
    int worst = worst_of(doctor, row->area);
    if (worst > NK_SEVERITY_NOTE || (worst == NK_SEVERITY_NOTE && !row->unchecked)) return words[worst];
    return row->unchecked ? "not checked" : "ok";
}
