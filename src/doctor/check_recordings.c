// check_recordings.c - recorded runs of this Python in which launches were refused.
#define _GNU_SOURCE
#include "doctor/checks.h"
#include "report/sums.h"
#include "report/words.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_SHOWN = 5, NAME_COLUMNS = 60 };

static struct nk_doctor_library *library_of(const struct nk_doctor *doctor, const char *path)
{
    for (size_t i = 0; i < doctor->library_count; i++)
        if (!strcmp(doctor->libraries[i]->path, path)) return doctor->libraries[i];
    return NULL;
}

// The GPU of today that is of the kind that the run had; -1 when there is none.
static int gpu_of(const struct nk_doctor *doctor, const struct nk_run_failure *f)
{
    for (size_t i = 0; f->gpu && i < doctor->gpu_count; i++)
        if (doctor->gpus[i].target.sm == (int)f->gpu->r.sm) return (int)i;
    return -1;
}

// What was a gap is a refusal now: it takes over what is known about the gap.
static struct nk_doctor_finding *refusal(struct nk_doctor *doctor, const struct nk_doctor_library *l, int gpu)
{
    static const enum nk_finding_name gaps[] = {NK_FINDING_COVER_NONE, NK_FINDING_COVER_PARTLY};
    char title[300];
    struct nk_doctor_finding *f = nk_doctor_found(doctor, NK_FINDING_REFUSED, l->package, gpu), *gap = NULL;
    if (f) return f;
    snprintf(title, sizeof title, "%s %s", l->package ? l->package->name : l->shown,
             l->package ? l->package->version : "");
    f = nk_doctor_find_in(doctor, l->package, NK_FINDING_REFUSED, title, doctor->gpus[gpu].text, NULL);
    f->gpu = gpu;
    for (size_t i = 0; i < 2 && !gap; i++) gap = nk_doctor_found(doctor, gaps[i], l->package, gpu);
    if (gap) {
        nk_buf_free(&f->remedy);
        f->remedy = gap->remedy;
        gap->remedy = (struct nk_buf){0};
        f->evidence = gap->evidence;
        f->advice = gap->advice;
        gap->evidence = (struct nk_buf){0};
        gap->advice.count = 0;
        nk_doctor_drop(doctor, gap);
    } else if (l->cover[gpu].none) {
        nk_check_advise(doctor, f, l);
    }
    return f;
}

static void tell(struct nk_doctor *doctor, struct nk_run *run, const struct nk_run_failure *failure,
                 struct nk_doctor_library *l, int gpu)
{
    struct nk_buf kernel = {0};
    struct nk_doctor_finding *f = refusal(doctor, l, gpu);
    size_t lines = 0;
    for (size_t i = 0; i < f->evidence.size; i++) lines += f->evidence.data[i] == '\n';
    if (lines >= MOST_SHOWN) return;
    if (failure->kernel) nk_words_kernel(&kernel, nk_run_text(run, failure->kernel->name), NAME_COLUMNS);
    nk_doctor_see(f, "%s: %s was refused (%d) in %s", nk_words_base(run->path),
                  kernel.size ? kernel.data : "a kernel that was not named", failure->r.result, l->shown);
    nk_buf_free(&kernel);
}

// A package that was installed after the run is not the one that failed.
static bool is_newer(const struct nk_doctor_library *l, const struct nk_run *run)
{
    return l->package && l->package->installed > (int64_t)(run->process.started / 1000000000u);
}

static void read_one(struct nk_doctor *doctor, const char *path)
{
    struct nk_run run;
    struct nk_sums sums;
    if (!nk_run_open(&run, path, NULL)) {
        nk_sums(&run, &sums);
        for (size_t i = 0; i < run.failure_count; i++) {
            const struct nk_run_failure *f = &run.failures[i];
            const struct nk_run_library *where =
                f->container && f->container->library ? f->container->library : f->library;
            struct nk_doctor_library *l = where ? library_of(doctor, where->path) : NULL;
            int gpu = gpu_of(doctor, f);
            if (f->class == NK_CLASS_MISSING && l && gpu >= 0 && !is_newer(l, &run)) tell(doctor, &run, f, l, gpu);
        }
    }
    nk_run_free(&run);
}

// The newest first: of many runs that fail alike, a few are enough.
void nk_check_recordings(struct nk_doctor *doctor)
{
    size_t count = doctor->asked.recording_count;
    for (size_t i = 0; i < count; i++) read_one(doctor, doctor->asked.recordings[count - 1 - i]);
}
