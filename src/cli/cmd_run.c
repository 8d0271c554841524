// cmd_run.c - `nokernel run`: a program under the library, and the report when it has ended.
#define _GNU_SOURCE
#include "cli/command.h"
#include "cli/recordings.h"
#include "report/json.h"
#include "report/markdown.h"
#include "report/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CANNOT_EXECUTE = 126, NOT_FOUND = 127, BY_SIGNAL = 128 };

static int run_main(int argc, char **argv);

const struct nk_command nk_cmd_run = {
    .name = "run",
    .summary = "run a program, and tell which kernels it lacked when it ends",
    .help = "Usage: nokernel run [OPTIONS] [--] COMMAND [ARGUMENT ...]\n"
            "\n"
            "Runs COMMAND with libnokernel.so in LD_PRELOAD and writes the report to stderr when it has ended,\n"
            "also when it was killed. Processes that it starts are watched too.\n"
            "\n"
            "Options\n"
            "  --sync MODE        launch (default): wait for each kernel, so that the one that really failed is\n"
            "                     named; trail: wait for none, and list afterwards those that had not ended;\n"
            "                     off: only count (a missing image is still named exactly)\n"
            "  --json FILE        write the report as JSON too\n"
            "  --markdown FILE    write the report as Markdown too\n"
            "  --report text|none what goes to stderr\n"
            "  --help             this text\n"
            "\n"
            "libnokernel.so is looked for beside this command and in ../lib; NOKERNEL_LIBRARY names another.\n"
            "Recordings: a new folder below $NOKERNEL_DIR, else $XDG_STATE_HOME/nokernel, else\n"
            "~/.local/state/nokernel; `nokernel report --last` tells it again.\n"
            "\n"
            "Exit status: that of COMMAND; 128 + N when signal N ended it; 127 COMMAND was not found, 126 it could\n"
            "not be started; 2 wrong usage; 3 libnokernel.so was not found.\n",
    .main = run_main,
};

// ---- the library

static bool there(const char *path) { return !access(path, R_OK); }

// Writes the absolute path of libnokernel.so into `out` (PATH_MAX bytes).
static int find_library(char *out)
{
    const char *own = getenv("NOKERNEL_LIBRARY");
    if (own && *own)
        return realpath(own, out) ? NK_EXIT_OK
                                  : nk_cli_fail(NK_EXIT_INPUT, "NOKERNEL_LIBRARY=%s: %s", own, strerror(errno));
    static const char *const places[] = {"", "../lib/", "../lib/nokernel/", "../lib64/"};
    char self[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 64);
    for (size_t i = 0; size > 0 && i < sizeof places / sizeof *places; i++) {
        char path[PATH_MAX + 64];
        self[size] = 0;
        char *slash = strrchr(self, '/');
        if (!slash) break;
        snprintf(path, sizeof path, "%.*s/%slibnokernel.so", (int)(slash - self), self, places[i]);
        if (there(path) && realpath(path, out)) return NK_EXIT_OK;
    }
    return nk_cli_fail(NK_EXIT_INPUT, "libnokernel.so was expected beside this command or in ../lib; NOKERNEL_LIBRARY "
                                      "can name another place");
}

static int preload(const char *library)
{
    // The dynamic linker takes both as the end of a path, and knows no way to write them.
    if (strpbrk(library, " :"))
        return nk_cli_fail(NK_EXIT_INPUT, "%s: LD_PRELOAD cannot hold a path with a space or a colon", library);
    const char *before = getenv("LD_PRELOAD");
    struct nk_buf value = {0};
    nk_buf_text(&value, library);
    if (before && *before) nk_buf_format(&value, ":%s", before);
    int result = value.data && !value.failed ? setenv("LD_PRELOAD", value.data, 1) : -1;
    nk_buf_free(&value);
    return result ? nk_cli_fail(NK_EXIT_INPUT, "not enough memory") : NK_EXIT_OK;
}

// ---- the folder of recordings

static int make_folders(char *path)
{
    for (char *at = path + 1; *at; at++)
        if (*at == '/') {
            *at = 0;
            mkdir(path, 0700);
            *at = '/';
        }
    return mkdir(path, 0700);
}

// A new folder, named by time and process: /.../run-20250131-142501-4711. "" when it cannot be made: the program runs
// all the same, and is watched without a recording.
static void new_folder(char *out, size_t size)
{
    char base[PATH_MAX], here[PATH_MAX] = "", stamp[32] = "";
    struct nk_err err;
    struct tm now;
    struct nk_buf path = {0};
    time_t seconds = time(NULL);
    *out = 0;
    if (nk_recordings_folder(base, sizeof base, &err)) {
        nk_cli_fail(0, "no recording: %s", err.text);
        return;
    }
    if (localtime_r(&seconds, &now)) strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &now);
    if (base[0] != '/' && getcwd(here, sizeof here)) nk_buf_format(&path, "%s/", here); // the program may go elsewhere
    nk_buf_format(&path, "%s/run-%s-%d", base, stamp, (int)getpid());
    if (path.failed || path.size >= size || make_folders(path.data))
        nk_cli_fail(0, "no recording: %s: %s", base, strerror(errno));
    else
        memcpy(out, path.data, path.size + 1);
    nk_buf_free(&path);
}

// ---- the program

static volatile sig_atomic_t child;

// A signal from the terminal (SI_KERNEL) reaches the program by itself: it is in the same process group.
static void forward(int signal, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    if (child > 0 && info->si_code != SI_KERNEL) kill((pid_t)child, signal);
    errno = saved;
}

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
enum { FORWARDED = sizeof forwarded / sizeof *forwarded };

// In the child: signals as they were, then the program. Tells errno through the pipe when it cannot be started.
static void become(char **argv, const struct sigaction *before, const sigset_t *mask, int pipe_end)
{
    for (int i = 0; i < FORWARDED; i++) sigaction(forwarded[i], &before[i], NULL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    int why = errno;
    ssize_t n = write(pipe_end, &why, sizeof why);
    _exit(n == sizeof why ? NOT_FOUND : CANNOT_EXECUTE);
}

// Starts argv. Its process id, or -1 with the reason in errno.
static pid_t start(char **argv)
{
    int ends[2], why = 0;
    sigset_t all, mask;
    struct sigaction before[FORWARDED], action = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (pipe2(ends, O_CLOEXEC)) return -1;
    // Nothing may arrive between the fork and the moment at which the handler knows the child.
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &mask);
    for (int i = 0; i < FORWARDED; i++) {
        sigaction(forwarded[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) sigaction(forwarded[i], &action, NULL); // nohup stays nohup
    }
    pid_t pid = fork();
    if (!pid) become(argv, before, &mask, ends[1]);
    why = errno;
    child = pid;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(ends[1]);
    ssize_t n = pid < 0 ? -1 : read(ends[0], &why, sizeof why);
    close(ends[0]);
    if (n == 0) return pid;
    if (pid > 0) waitpid(pid, NULL, 0);
    child = 0;
    errno = why;
    return -1;
}

static int wait_for(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return CANNOT_EXECUTE;
    child = 0;
    return WIFSIGNALED(status) ? BY_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

// ---- the report

static void write_file(const char *path, const struct nk_buf *buf)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || nk_cli_write(fd, buf)) nk_cli_fail(0, "%s: cannot be written: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
}

struct wishes {
    const char *json, *markdown, *report;
};

typedef int format_fn(const char *const *, size_t, const struct nk_text_options *, struct nk_buf *, struct nk_err *);

static void format(const struct nk_recordings *list, format_fn *how, const struct nk_text_options *options,
                   const char *path)
{
    struct nk_buf out = {0};
    struct nk_err err = {0};
    if (how((const char *const *)list->path, list->count, options, &out, &err)) nk_cli_fail(0, "%s", err.text);
    path ? write_file(path, &out) : (void)nk_cli_write(STDERR_FILENO, &out);
    nk_buf_free(&out);
}

static void report(const char *folder, const struct wishes *wishes)
{
    struct nk_recordings list = {0};
    struct nk_err err = {0};
    struct nk_text_options options = {.colour = nk_cli_colour(STDERR_FILENO)};
    bool text = strcmp(wishes->report, "none");
    if (nk_recordings_add_folder(&list, folder, &err)) nk_cli_fail(0, "%s", err.text);
    if (!list.count && text)
        nk_cli_fail(0, "nothing was recorded: no process used CUDA, or none could be watched (static or set-user-ID "
                       "programs)");
    if (list.count && text) format(&list, nk_report_text, &options, NULL);
    if (wishes->json) format(&list, nk_report_json, &options, wishes->json);
    if (wishes->markdown) format(&list, nk_report_markdown, &options, wishes->markdown);
    // An empty folder would only be in the way.
    if (!list.count) rmdir(folder);
    nk_recordings_free(&list);
}

static int set_up(const char *sync, const struct wishes *wishes, char *folder, size_t size)
{
    char library[PATH_MAX];
    int code = find_library(library);
    if (code || (code = preload(library))) return code;
    new_folder(folder, size);
    if (*folder) setenv("NOKERNEL_DIR", folder, 1);
    // The report comes once, from here, for all processes. Without a folder each process tells its own.
    if (*folder || !strcmp(wishes->report, "none")) setenv("NOKERNEL_REPORT", "none", 1);
    if (sync) setenv("NOKERNEL_SYNC", sync, 1);
    return NK_EXIT_OK;
}

static int run_main(int argc, char **argv)
{
    const char *sync = NULL;
    struct wishes wishes = {.report = "text"};
    char folder[PATH_MAX];
    const struct nk_option options[] = {{"--sync", &sync, NULL},
                                        {"--json", &wishes.json, NULL},
                                        {"--markdown", &wishes.markdown, NULL},
                                        {"--report", &wishes.report, NULL},
                                        {0}};
    int code = nk_cli_options(&argc, argv, options, true, &nk_cmd_run);
    if (code) return code < 0 ? NK_EXIT_OK : code;
    if (argc < 2) return nk_cli_fail(NK_EXIT_USAGE, "run: a command was expected; nokernel run --help tells more");
    if (sync && strcmp(sync, "launch") && strcmp(sync, "trail") && strcmp(sync, "off"))
        return nk_cli_fail(NK_EXIT_USAGE, "run: --sync %s: launch, trail or off was expected", sync);
    if (strcmp(wishes.report, "text") && strcmp(wishes.report, "none"))
        return nk_cli_fail(NK_EXIT_USAGE, "run: --report %s: text or none was expected", wishes.report);
    if ((code = set_up(sync, &wishes, folder, sizeof folder))) return code;
    pid_t pid = start(argv + 1);
    if (pid < 0) {
        code = errno == ENOENT ? NOT_FOUND : CANNOT_EXECUTE;
        nk_cli_fail(code, "%s: cannot be started: %s", argv[1], strerror(errno));
        if (*folder) rmdir(folder);
        return code;
    }
    code = wait_for(pid);
    if (*folder) report(folder, &wishes);
    return code;
}
