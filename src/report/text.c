// text.c - the report as text: what is said about a run, and in which order.
#include "report/text.h"
#include "driver/results.h"
#include "report/blocks.h"
#include "report/coverage.h"
#include "report/fix.h"
#include "report/words.h"

#include <string.h>

// "python (process 4711): ", where there are several reports to tell apart.
static void who(struct nk_buf *line, struct nk_run *run)
{
    const char *program = nk_run_text(run, run->args && run->process.argc ? run->args[0] : run->process.exe);
    nk_buf_format(line, "%s (process %llu): ", *program ? nk_words_base(program) : "a program",
                  (unsigned long long)run->process.pid);
}

// "this GPU", "GPU 1", "GPUs 0 and 1": where something was missing.
static void which_gpus(struct nk_buf *line, const struct nk_run *run)
{
    if (run->gpu_count < 2) {
        nk_buf_text(line, "this GPU");
        return;
    }
    size_t count = 0;
    struct nk_buf list = {0};
    for (size_t g = 0; g < run->gpu_count; g++) {
        bool hit = false;
        for (size_t i = 0; i < run->failure_count; i++)
            hit |= run->failures[i].class == NK_CLASS_MISSING && run->failures[i].gpu == &run->gpus[g];
        if (hit) nk_buf_format(&list, "%s%u", count++ ? ", " : "", run->gpus[g].r.ordinal);
    }
    nk_buf_format(line, "%s%s", count == 0 ? "its GPU" : count == 1 ? "GPU " : "GPUs ", list.data ? list.data : "");
    nk_buf_free(&list);
}

// True when every missing image is one that is simply not there; else one is there, but cannot be used.
static bool simply_absent(const struct nk_run *run)
{
    for (size_t i = 0; i < run->failure_count; i++)
        if (run->failures[i].class == NK_CLASS_MISSING &&
            (run->failures[i].verdict.runs == NK_RUNS_NONE ? run->failures[i].verdict.reason != NK_REASON_NO_IMAGE
                                                           : nk_words_means(run->failures[i].r.result) != NULL))
            return false;
    return true;
}

// True when every image that is missing without a kernel's name is of a module that the program loaded itself.
static bool only_loads(const struct nk_run *run)
{
    for (size_t i = 0; i < run->failure_count; i++)
        if (run->failures[i].class == NK_CLASS_MISSING && !run->failures[i].kernel &&
            run->failures[i].r.kind != NK_FAILED_LOAD)
            return false;
    return true;
}

static void missing(struct nk_buf *line, const struct nk_run *run, const struct nk_sums *sums)
{
    bool one = sums->missing + sums->missing_boxes == 1;
    if (sums->missing) nk_words_count(line, sums->missing, "kernel", "kernels");
    if (sums->missing) nk_buf_format(line, " of %zu", sums->launched);
    if (sums->missing && sums->missing_boxes) nk_buf_text(line, " and ");
    if (sums->missing_boxes && only_loads(run))
        nk_words_count(line, sums->missing_boxes, "module that was loaded", "modules that were loaded");
    else if (sums->missing_boxes)
        nk_words_count(line, sums->missing_boxes, "fat binary in use", "fat binaries in use");
    nk_buf_format(line, " %s no %simage for ", one ? "has" : "have", simply_absent(run) ? "" : "usable ");
    which_gpus(line, run);
    if (sums->other) nk_buf_format(line, "; %zu failed for another reason", sums->other);
}

static void used_sms(struct nk_buf *line, const struct nk_run *run)
{
    nk_buf_text(line, run->gpu_count > 1 ? " an image for these GPUs (" : " an image for this GPU (");
    for (size_t i = 0; i < run->gpu_count; i++) nk_buf_format(line, "%ssm_%u", i ? ", " : "", run->gpus[i].r.sm);
    nk_buf_text(line, ")");
}

static void not_ended(struct nk_buf *line, const struct nk_run *run, const struct nk_sums *sums)
{
    nk_buf_text(line, "; it was killed, or still runs");
    if (run->reader.copied) nk_buf_text(line, ": its last launches may not be counted");
    if (sums->launched)
        nk_buf_format(line, "%s none was looked at for an empty body", run->reader.copied ? ", and" : ":");
}

static void healthy(struct nk_buf *line, const struct nk_run *run, const struct nk_sums *sums)
{
    if (!sums->launched) {
        nk_buf_text(line, run->reader.copied && !run->has_exit ? "no launch was counted" : "no kernel was launched");
    } else {
        nk_words_count(line, sums->launched, "kernel launched, it had", "kernels launched, all had");
        if (run->gpu_count)
            used_sms(line, run);
        else
            nk_buf_text(line, " an image");
    }
    if (sums->asked) {
        nk_buf_text(line, "; asked and refused, harmless: ");
        nk_words_count(line, sums->asked, "query", "queries");
    }
    if (!run->has_exit)
        not_ended(line, run, sums);
    else if (run->exit.status)
        nk_buf_format(line, "; it ended with %d", run->exit.status);
    if (run->has_exit && run->exit.streams)
        nk_buf_format(
            line,
            "; when it ended %u of its streams had not, with up to %llu launches: whether they worked is not known",
            run->exit.streams, (unsigned long long)run->exit.unfinished);
}

static void unhealthy(struct nk_buf *line, const struct nk_run *run, const struct nk_sums *sums)
{
    if (sums->missing || sums->missing_boxes) {
        missing(line, run, sums);
    } else if (sums->other) {
        nk_words_count(line, sums->other, "kernel or call failed, not for want of an image",
                       "kernels or calls failed, none for want of an image");
    } else if (sums->asked_late) {
        nk_buf_text(line, "no launch failed, but the program read the error of a refused query");
    } else if (sums->asked_barren && !sums->ended_badly) {
        nk_buf_text(line, "no launch failed, but queries were refused: their library has no image for this GPU");
    } else if (sums->hollow) {
        nk_words_count(line, sums->hollow, "kernel", "kernels");
        nk_buf_format(line, " of %zu did nothing when launched, though no error was returned: results are wrong",
                      sums->launched);
    } else if (sums->contradictions) {
        nk_buf_text(line, "no launch failed, but something is doubtful");
    } else {
        nk_buf_format(line, "no launch was seen to fail, but %s and the program ",
                      sums->asked || sums->refused ? "images were refused" : "kernels were looked up in vain");
        nk_words_end(line, run);
    }
}

static void gpus(struct nk_page *page, struct nk_run *run)
{
    struct nk_buf line = {0};
    char label[24] = "GPU";
    nk_page_gap(page);
    for (size_t i = 0; i < run->gpu_count; i++) {
        struct nk_buf text = {0};
        nk_buf_format(&text, "GPU %u", run->gpus[i].r.ordinal);
        if (text.size < sizeof label && text.data) memcpy(label, text.data, text.size + 1);
        nk_buf_free(&text);
        nk_words_gpu(&line, run, &run->gpus[i]);
        nk_page_buf(page, 2, label, NK_STYLE_PLAIN, &line);
    }
    if (!run->gpu_count) nk_page_row(page, 2, label, NK_STYLE_PLAIN, "none was used");
    for (uint32_t i = 0; run->gpu_count && run->env && i < run->process.envc; i++) {
        const char *variable = nk_run_text(run, run->env[i]);
        if (strncmp(variable, "CUDA_VISIBLE_DEVICES=", 21)) continue;
        nk_buf_format(&line, "numbered as the program sees them: %s", variable);
        nk_page_buf(page, 2, "", NK_STYLE_PLAIN, &line);
    }
    nk_buf_free(&line);
}

// GPUs that something was missing on; all of them when nothing was.
static bool concerned(const struct nk_run *run, const struct nk_run_gpu *gpu)
{
    bool any = false;
    for (size_t i = 0; i < run->failure_count; i++) {
        if (run->failures[i].class != NK_CLASS_MISSING || !run->failures[i].gpu) continue;
        if (run->failures[i].gpu == gpu) return true;
        any = true;
    }
    return !any;
}

static void others(struct nk_page *page, struct nk_run *run)
{
    for (size_t i = 0; i < run->gpu_count; i++) {
        bool again = false;
        for (size_t k = 0; k < i; k++) again |= run->gpus[k].r.sm == run->gpus[i].r.sm && concerned(run, &run->gpus[k]);
        if (!again && concerned(run, &run->gpus[i])) nk_block_others(page, run, &run->gpus[i]);
    }
}

static void notes(struct nk_page *page, struct nk_run *run, bool only_about_file)
{
    struct nk_buf line = {0};
    const char *label = "note";
    if (!only_about_file && run->note_count + run->passed_count) nk_page_gap(page);
    for (size_t i = 0; !only_about_file && i < run->note_count; i++) {
        nk_words_redacted(&line, nk_run_text(run, run->notes[i]), page->full_paths);
        if (line.size) nk_page_buf(page, 2, label, NK_STYLE_PLAIN, &line);
    }
    for (size_t i = 0; !only_about_file && i < run->passed_count; i++) {
        nk_buf_format(&line, "%s of the driver is not known to nokernel and was called ",
                      nk_run_text(run, run->passed[i].name));
        nk_words_times(&line, run->passed[i].calls);
        nk_buf_text(&line, ": what it loaded or launched is not in this report");
        nk_page_buf(page, 2, label, NK_STYLE_PLAIN, &line);
    }
    if (run->reader.cut)
        nk_page_row(page, 2, label, NK_STYLE_PLAIN, "the recording is cut off: what came last is not in it");
    if (run->reader.skipped) {
        nk_words_count(&line, run->reader.skipped, "damaged record was", "damaged records were");
        nk_buf_text(&line, " left out");
        nk_page_buf(page, 2, label, NK_STYLE_PLAIN, &line);
    }
    nk_buf_free(&line);
}

static void ending(struct nk_page *page, struct nk_run *run, const struct nk_sums *sums)
{
    struct nk_buf line = {0};
    if (sums->missing || sums->missing_boxes || sums->other) nk_words_unread(&line, run);
    if (!run->has_exit) nk_buf_text(&line, "The program was killed, or still runs.");
    if (line.size) nk_page_gap(page);
    nk_page_buf(page, 2, "end", NK_STYLE_STRONG, &line);
    nk_page_gap(page);
    if (!strncmp(run->path, NK_IN_MEMORY, strlen(NK_IN_MEMORY)))
        nk_buf_text(&line, "none: it could not be written, and is gone with the process");
    else
        nk_words_redacted(&line, run->path, page->full_paths);
    // A path is never broken: it is there to be copied.
    nk_buf_format(page->out, "  recording  %s\n", line.data ? line.data : "");
    nk_buf_free(&line);
}

static void body(struct nk_page *page, struct nk_run *run, const struct nk_sums *sums)
{
    bool nothing_failed = !sums->missing && !sums->missing_boxes && !sums->other;
    gpus(page, run);
    nk_block_failures(page, run);
    if (nothing_failed && sums->ended_badly && !run->failure_count)
        nk_block_refused(page, run);                    // its end is the failure: the fix follows it
    bool doubts = nothing_failed && !sums->ended_badly; // they are what the fix is for
    if (doubts) nk_block_doubts(page, run);
    nk_block_fixes(page, run, NULL);
    nk_block_asked_late(page, run, nothing_failed && sums->ended_badly);
    if (nothing_failed && sums->ended_badly && run->failure_count) nk_block_refused(page, run);
    if (nothing_failed && sums->ended_badly) nk_block_sought(page, run);
    if (!doubts) nk_block_doubts(page, run);
    others(page, run);
    if (!(nothing_failed && sums->ended_badly) || sums->asked_coped) nk_block_asked(page, run);
    notes(page, run, false);
    ending(page, run, sums);
}

// The headline stands out: it is the answer to most readers' question. It is never broken: a healthy run is one line.
static void headline(struct nk_page *page, struct nk_buf *line, bool bad)
{
    if (page->colour && bad) nk_buf_text(page->out, "\033[1m");
    nk_buf_text(page->out, line->data ? line->data : "");
    if (page->colour && bad) nk_buf_text(page->out, "\033[0m");
    nk_buf_text(page->out, "\n");
}

static void recorded(struct nk_page *page, struct nk_run *run, bool several)
{
    struct nk_sums sums;
    struct nk_buf line = {0};
    nk_sums(run, &sums);
    nk_buf_text(&line, "nokernel: ");
    if (several) who(&line, run);
    sums.healthy ? healthy(&line, run, &sums) : unhealthy(&line, run, &sums);
    headline(page, &line, !sums.healthy);
    nk_buf_free(&line);
    sums.healthy ? notes(page, run, true) : body(page, run, &sums);
}

// ---- --gpu: what another GPU would have done with these kernels

static void elsewhere_line(struct nk_buf *line, const struct nk_elsewhere *e, unsigned sm)
{
    if (e->none) {
        nk_words_count(line, e->none, "kernel", "kernels");
        nk_buf_format(line, " of %zu would have no usable image on sm_%u", e->kernels, sm);
    } else if (e->kernels) {
        nk_words_count(line, e->kernels - e->unknown, "kernel", "kernels");
        nk_buf_format(line, " would have an image on sm_%u", sm);
    } else {
        nk_buf_text(line, "no kernel was launched, so none would be missing");
    }
    if (e->jit) nk_buf_format(line, "; %zu compiled from PTX", e->jit);
    if (e->hollow) nk_buf_format(line, "; %zu would do nothing", e->hollow);
    if (e->unknown) nk_buf_format(line, "; %zu cannot be judged", e->unknown);
}

static void elsewhere(struct nk_page *page, struct nk_run *run, bool several, const struct nk_text_options *options)
{
    struct nk_sums sums;
    struct nk_elsewhere found;
    struct nk_buf line = {0};
    struct nk_run_gpu gpu = {.r = {.ordinal = NK_NONE, .sm = (uint32_t)options->gpu}, .name = "", .asked = true};
    nk_sums(run, &sums);
    if (options->driver) {
        run->driver.cuda = (uint32_t)options->driver;
        run->driver.version = 0;
    }
    nk_elsewhere(run, &gpu, &found);
    nk_buf_text(&line, "nokernel: ");
    if (several) who(&line, run);
    elsewhere_line(&line, &found, gpu.r.sm);
    headline(page, &line, found.none);
    nk_buf_clear(&line);
    if (found.none || found.hollow) {
        nk_page_gap(page);
        nk_words_gpu(&line, run, &gpu);
        nk_buf_text(&line, ", asked for: nothing was run on it");
        nk_page_buf(page, 2, "GPU", NK_STYLE_PLAIN, &line);
        nk_block_elsewhere(page, run, &gpu);
        nk_block_fixes(page, run, &gpu);
        nk_block_others(page, run, &gpu);
        ending(page, run, &(struct nk_sums){0});
    }
    nk_buf_free(&line);
}

int nk_report_text(const char *const *paths, size_t count, const struct nk_text_options *options, struct nk_buf *out,
                   struct nk_err *err)
{
    struct nk_page page = {out,
                           options->columns > 40 ? (size_t)options->columns
                           : options->columns    ? 40
                                                 : 80,
                           options->colour, options->full_paths};
    int result = 0;
    bool gap = false;
    unsigned lacks = nk_lacks();
    for (size_t i = 0; i < count; i++) {
        struct nk_run run;
        struct nk_err *first = result ? NULL : err;
        if (nk_run_open(&run, paths[i], first)) {
            result = -1;
        } else {
            size_t before = out->size;
            if (gap) nk_page_gap(&page);
            options->gpu ? elsewhere(&page, &run, count > 1, options) : recorded(&page, &run, count > 1);
            // One-line reports stand together.
            gap = out->size > before && memchr(out->data + before + gap, '\n', out->size - before - gap - 1);
        }
        nk_run_free(&run);
    }
    if ((out->failed || nk_lacks() != lacks) && !result)
        result = nk_fail(err, NK_ERR_MEMORY, "%s: not enough memory for the report", paths[0]);
    return result;
}
