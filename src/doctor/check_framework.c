// check_framework.c - which framework there is, and whether it is a build for GPUs at all.
#define _GNU_SOURCE
#include "advice/knowledge.h"
#include "advice/parts.h"
#include "doctor/checks.h"
#include "doctor/installed.h"

#include <stdio.h>
#include <string.h>

// The newest wheel of torch that serves every GPU and starts on this driver: the command that installs it.
static const char *cuda_build(struct nk_doctor *doctor)
{
    static struct nk_wheel wheels[NK_WHEELS_MOST];
    struct nk_buf out = {0};
    size_t count = nk_wheels(wheels, "x86_64");
    for (size_t i = count; i-- && !out.size;) {
        bool fits =
            nk_driver_starts(doctor->driver.cuda ? doctor->driver.cuda : doctor->gpus[0].target.driver, wheels[i].cuda);
        for (size_t gpu = 0; gpu < doctor->gpu_count; gpu++)
            fits = fits && nk_wheel_serves(&wheels[i], doctor->gpus[gpu].target.sm, false);
        if (fits)
            nk_buf_format(
                &out,
                "%s -m pip install --force-reinstall \"torch==%s+%s\" --index-url https://download.pytorch.org/whl/%s",
                doctor->python.shown, wheels[i].torch, wheels[i].variant, wheels[i].variant);
    }
    return nk_doctor_keep_buf(doctor, &out);
}

static void cpu_build(struct nk_doctor *doctor, struct nk_doctor_package *torch)
{
    struct nk_buf name = {0};
    bool has_code = false;
    for (size_t i = 0; i < doctor->library_count; i++) has_code |= doctor->libraries[i]->package == torch;
    if (torch->cuda != -1 || has_code) return;
    nk_buf_format(&name, "%s %s", torch->name, torch->version);
    struct nk_doctor_finding *f = nk_doctor_find(doctor, NK_FINDING_CPU_BUILD, nk_doctor_keep_buf(doctor, &name),
                                                 doctor->gpu_count ? cuda_build(doctor) : "", NULL);
    f->package = torch;
    nk_doctor_see(f, "%s; no library of it has GPU code", torch->info);
    if (!doctor->gpu_count) f->severity = NK_SEVERITY_NOTE;
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
    struct nk_doctor_finding *f = nk_doctor_find(doctor, NK_FINDING_DRIVER_OLD, has, title, built);
    char branch[NK_NAME_TEXT];
    f->package = p;
    nk_doctor_see(f, "CUDA %d needs a driver for CUDA %d.0 or newer%s%s", p->cuda / 1000, p->cuda / 1000,
                  *nk_name_driver(branch, p->cuda / 1000 * 1000) ? ", number " : "", branch);
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
