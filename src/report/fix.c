// fix.c - what to do about the packages of a run that have no image for a GPU.
#define _GNU_SOURCE
#include "report/fix.h"
#include "report/words.h"

#include <stdio.h>
#include <string.h>

enum { MOST_NAMES = 64, MOST_SMS = 16 };

// What a case points to.
struct store {
    struct nk_buf python, origin;
    char python_version[16];
    const char *others[MOST_NAMES + 1];
    int sms[MOST_SMS + 1];
};

// ---- the interpreter

// Of ".../PREFIX/lib/python3.11/site-packages/..." the place of "/lib/", or NULL.
static const char *python_lib(const char *path)
{
    const char *at = strstr(path, "/lib/python3");
    if (!at) at = strstr(path, "/lib64/python3");
    return at && strstr(at, "-packages/") ? at : NULL;
}

// The interpreter whose pip installs where the library lies. A virtual environment's python is a link to another one,
// so the executable of the process says less than the path of the library; the user's own site belongs to the process.
static void interpreter(struct store *store, struct nk_advice_case *about, struct nk_run *run, bool full)
{
    const char *exe = nk_run_text(run, run->process.exe), *lib = python_lib(about->library);
    const char *zero = run->args && run->process.argc ? nk_run_text(run, run->args[0]) : "";
    struct nk_buf path = {0};
    size_t prefix = lib ? (size_t)(lib - about->library) : 0;
    about->user_site = prefix > 7 && !strncmp(lib - 7, "/.local", 7);
    bool own = !about->user_site && strstr(about->library, "/site-packages/");
    if (lib && own && !strncmp(zero, about->library, prefix) && !strncmp(zero + prefix, "/bin/", 5))
        nk_buf_text(&path, zero);
    else if (lib && own)
        nk_buf_format(&path, "%.*s/bin/python3", (int)prefix, about->library);
    else if (*zero == '/' && strstr(nk_words_base(zero), "python"))
        nk_buf_text(&path, zero);
    else if (strstr(nk_words_base(exe), "python"))
        nk_buf_text(&path, exe);
    if (path.data) nk_words_shell(&store->python, path.data, full);
    const char *number = lib ? strstr(lib, "/python") + 7 : "";
    size_t size = strspn(number, "0123456789.");
    if (size < sizeof store->python_version && memchr(number, '.', size)) // Debian's python3 folder names no version
        memcpy(store->python_version, number, size);
    nk_buf_free(&path);
}

// ---- a case

// Names go into commands: what no package is called is not known.
static const char *plain(const char *name)
{
    return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-")] ? "" : name;
}

static void surroundings(struct store *store, struct nk_advice_case *about, const struct nk_run *run,
                         const struct nk_run_gpu *asked)
{
    size_t others = 0, sms = 0;
    for (size_t i = 0; i < run->library_count; i++) {
        const struct nk_run_library *library = &run->libraries[i];
        if (!strcmp(nk_advice_name(library->package, library->source), "torch")) about->torch = plain(library->version);
        if (*library->package && others < MOST_NAMES) store->others[others++] = library->package;
    }
    for (size_t i = 0; !asked && i < run->gpu_count && sms < MOST_SMS; i++) store->sms[sms++] = (int)run->gpus[i].r.sm;
    about->others = store->others;
    about->sms = store->sms;
}

static void describe(struct store *store, struct nk_advice_case *about, struct nk_run *run,
                     const struct nk_run_container *c, const struct nk_run_gpu *gpu, const struct nk_run_gpu *asked,
                     bool full)
{
    nk_advice_case_init(about);
    if (c->library) {
        about->package = plain(c->library->package);
        about->version = *c->library->package ? plain(c->library->version) : "";
        about->source = c->library->source;
        about->installer = c->library->installer;
        nk_words_origin(&store->origin, c->library->origin, full, true);
        about->origin = store->origin.data ? store->origin.data : "";
        about->library = c->library->path;
    } else if (!*c->file) {
        about->in_memory = true;
        about->loader_package = c->loader ? plain(c->loader->package) : "";
        about->loader_version = c->loader ? plain(c->loader->version) : "";
        about->library = c->loader ? c->loader->path : "";
    }
    about->target = nk_run_target(run, gpu);
    about->images = c->images;
    about->image_count = c->count;
#ifdef __aarch64__
    about->machine = "aarch64";
#endif
    surroundings(store, about, run, asked);
    interpreter(store, about, run, full);
    if (store->python.data) about->python = store->python.data;
    about->python_version = store->python_version;
}

// ---- all cases of a run

// Failures of one package are one case; of what no package owns, those of one library; of code in memory, those of the
// same loader for the same reason.
static bool same_case(const struct nk_run_container *a, const struct nk_run_container *b)
{
    if (!a->library || !b->library) return !a->library && !b->library && a->loader == b->loader;
    if (!*a->library->package) return a->library == b->library;
    return !strcmp(a->library->package, b->library->package);
}

struct found {
    const struct nk_run_container *container[NK_FIXES_MOST];
    size_t count;
};

static void add(struct found *found, struct nk_fix *fix, struct nk_run *run, const struct nk_run_container *c,
                const struct nk_run_gpu *gpu, const struct nk_run_gpu *asked, struct nk_verdict verdict, int result,
                bool full)
{
    struct store store = {0};
    struct nk_advice_case about;
    if (!c || !gpu || found->count == NK_FIXES_MOST) return;
    for (size_t i = 0; i < found->count; i++)
        if (same_case(found->container[i], c) && fix[i].gpu->r.sm == gpu->r.sm) return;
    describe(&store, &about, run, c, gpu, asked, full);
    about.verdict = verdict;
    about.result = result;
    struct nk_fix *new = &fix[found->count];
    *new = (struct nk_fix){.package = about.package, .version = about.version, .gpu = gpu};
    nk_advise(&about, nk_text_language(), &new->advice);
    nk_buf_free(&store.python);
    nk_buf_free(&store.origin);
    if (!new->advice.count) return;
    if (!c->library)
        nk_buf_text(&new->name, nk_words_base(c->file));
    else if (!nk_words_package(&new->name, c->library))
        nk_buf_text(&new->name, nk_words_base(c->library->path));
    found->container[found->count++] = c;
}

// A program that ended before it launched anything: all that is known is what was refused at its start.
static void add_refused(struct found *found, struct nk_fix *fix, struct nk_run *run, bool full)
{
    if (run->failure_count || !run->gpu_count || (run->has_exit && !run->exit.status)) return;
    for (size_t i = 0; i < run->container_count; i++) {
        struct nk_run_container *c = &run->containers[i];
        if (!c->refused || !nk_sums_refusals(run, c->library).whole) continue;
        struct nk_run_kernel unnamed = {.container = c};
        struct nk_verdict verdict = nk_sums_kernel(run, &unnamed, &run->gpus[0]);
        if (verdict.runs == NK_RUNS_NONE) add(found, fix, run, c, &run->gpus[0], NULL, verdict, verdict.expected, full);
    }
}

size_t nk_fixes(struct nk_run *run, const struct nk_run_gpu *asked, bool full, struct nk_fix out[NK_FIXES_MOST])
{
    struct found found = {0};
    for (size_t i = 0; !asked && i < run->failure_count; i++) {
        const struct nk_run_failure *f = &run->failures[i];
        if ((f->class == NK_CLASS_MISSING || f->barren) && !f->contradiction)
            add(&found, out, run, f->container, f->gpu, NULL, f->verdict, f->r.result, full);
    }
    if (!asked) add_refused(&found, out, run, full);
    // What ran without a body, and with `asked` what would not run.
    for (size_t i = 0; i < run->kernel_count; i++) {
        const struct nk_run_kernel *k = &run->kernels[i];
        const struct nk_run_gpu *gpu = asked ? asked : k->gpu;
        struct nk_verdict verdict = {0};
        if (k->launches || k->failed) verdict = nk_sums_kernel(run, k, gpu);
        if (verdict.runs == NK_RUNS_HOLLOW || (asked && verdict.runs == NK_RUNS_NONE))
            add(&found, out, run, k->container, gpu, asked, verdict, verdict.expected, full);
    }
    return found.count;
}

void nk_fixes_free(struct nk_fix *fixes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        nk_buf_free(&fixes[i].name);
        nk_advice_free(&fixes[i].advice);
    }
}

// ---- text

static void command(struct nk_page *page, const char *text)
{
    size_t indent = 2;
    for (struct nk_buf line = {0}; *text; nk_buf_free(&line), indent = 4) {
        size_t room = nk_page_room(page) - indent;
        size_t size = strlen(text) <= room ? strlen(text) : nk_page_piece(text, room - 2);
        nk_buf_fill(&line, ' ', indent);
        nk_buf_add(&line, text, size);
        text += size + strspn(text + size, " ");
        if (*text) nk_buf_text(&line, " \\");
        if (line.data) nk_page_whole(page, 4, "", NK_STYLE_PLAIN, line.data);
    }
}

void nk_block_repairs(struct nk_page *page, const struct nk_advice *advice, const char *name)
{
    bool chinese = advice->language == NK_CHINESE;
    for (size_t i = 0; i < advice->count; i++) {
        const struct nk_repair *repair = &advice->repair[i];
        struct nk_buf line = {0};
        if (!i && name && *name) nk_text_add(&line, advice->language, NK_TEXT_FOR, name, NULL, NULL, NULL);
        nk_buf_text(&line, repair->text.data ? repair->text.data : "");
        nk_buf_format(&line, chinese ? "（%s）" : " (%s)", nk_text_raw(advice->language, repair->safe_because));
        if (line.data) nk_page_prose(page, 4, i ? "or" : "fix", NK_STYLE_STRONG, line.data);
        if (repair->command.data) command(page, repair->command.data);
        nk_buf_free(&line);
    }
}

void nk_block_fixes(struct nk_page *page, struct nk_run *run, const struct nk_run_gpu *asked)
{
    struct nk_fix fixes[NK_FIXES_MOST];
    size_t failures = 0, count = nk_fixes(run, asked, page->full_paths, fixes);
    for (size_t i = 0; i < run->failure_count; i++) failures += run->failures[i].class != NK_CLASS_ASKED;
    // The fix of the only failure belongs to its block; others stand alone and say what they are for.
    bool alone = count == 1 && failures == 1 && !asked;
    for (size_t i = 0; i < count; i++) {
        if (!alone) nk_page_gap(page);
        nk_block_repairs(page, &fixes[i].advice, !alone ? fixes[i].name.data : NULL);
    }
    nk_fixes_free(fixes, count);
}
