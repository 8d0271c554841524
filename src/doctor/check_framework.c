// check_framework.c - which framework there is, and whether it is a build for GPUs at all.
#define _GNU_SOURCE
#include "advice/knowledge.h"
#include "advice/parts.h"
#include "doctor/checks.h"
#include "doctor/installed.h"

#include <stdio.h>
#include <string.h>

static void cpu_build(struct nk_doctor *doctor, struct nk_doctor_package *torch)
{
    struct nk_buf name = {0};
    bool has_code = false;
    for (size_t i = 0; i < doctor->library_count; i++) has_code |= doctor->libraries[i]->package == torch;
    if (torch->cuda != -1 || has_code) return;
    nk_buf_format(&name, "%s %s", torch->name, torch->version);
    struct nk_doctor_finding *f =
        nk_doctor_find_in(doctor, torch, NK_FINDING_CPU_BUILD, nk_doctor_keep_buf(doctor, &name), NULL, NULL);
    nk_doctor_see(f, "%s; no library of it has GPU code", torch->info);
    if (doctor->gpu_count)
        nk_check_advise_build(doctor, f);
    else
        f->severity = NK_SEVERITY_NOTE;
    if (f->advice.count) nk_buf_clear(&f->remedy);
}

// CUDA 11 and later start on any driver of their major version (minor-version compatibility).
static void old_driver(struct nk_doctor *doctor, struct nk_doctor_package *p)
{
    char has[24], built[24], title[300];
    int driver = doctor->driver.cuda;
    for (size_t i = 0; !driver && i < doctor->gpu_count; i++) driver = doctor->gpus[i].target.driver;
    if (!driver || p->cuda <= 0 || nk_driver_starts(driver, p->cuda)) return;
    snprintf(has, sizeof has, "%d.%d", driver / 1000, driver % 1000 / 10);
    snprintf(built, sizeof built, "%d.%d", p->cuda / 1000, p->cuda % 1000 / 10);
    snprintf(title, sizeof title, "%s %s", p->name, p->version);
    struct nk_doctor_finding *f = nk_doctor_find_in(doctor, p, NK_FINDING_DRIVER_OLD, has, title, built);
    char branch[NK_NAME_TEXT];
    nk_doctor_see(f, "CUDA %d needs a driver for CUDA %d.0 or newer%s%s", p->cuda / 1000, p->cuda / 1000,
                  *nk_name_driver(branch, p->cuda / 1000 * 1000) ? ", number " : "", branch);
    // A build for this driver, where there is one that can be installed.
    if (doctor->gpu_count && nk_same_package(p->name, "torch")) nk_check_advise_build(doctor, f);
    if (f->advice.count && !f->advice.repair[0].command.size) nk_advice_free(&f->advice);
}

void nk_check_framework(struct nk_doctor *doctor)
{
    struct nk_doctor_row *row = nk_doctor_row(doctor, "framework");
    struct nk_doctor_package *p = nk_doctor_framework(doctor);
    row->unchecked = *doctor->python.why;
    if (*doctor->python.why) {
        nk_buf_text(&row->found, "not looked at");
        return;
    }
    if (!p) {
        nk_buf_text(&row->found, "none that is known");
        if (!doctor->library_count) nk_doctor_find(doctor, NK_FINDING_NO_FRAMEWORK, NULL, NULL, NULL);
        return;
    }
    nk_buf_format(&row->found, "%s %s", p->name, p->version);
    if (p->cuda > 0 && !strchr(p->version, '+'))
        nk_buf_format(&row->found, " (CUDA %d.%d)", p->cuda / 1000, p->cuda % 1000 / 10);
    if (nk_same_package(p->name, "torch")) cpu_build(doctor, p);
    old_driver(doctor, p);
}
