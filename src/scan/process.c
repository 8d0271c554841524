// process.c - what a scan is asked to look at: the packages of a Python, the files that a process has mapped.
#define _GNU_SOURCE
#include "scan/files.h"
#include "scan/walk.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// ---- a Python

// Its own answer: a virtual environment, a user's site folder and a .pth file all change it. Folders of its standard
// library hold no packages.
static const char ask[] = "import sys\n"
                          "for p in sys.path:\n"
                          "    if 'site-packages' in p or 'dist-packages' in p: print(p)\n";

// Everything that the program prints, or -1 with a sentence.
static int output_of(const char *exe, struct nk_buf *out, struct nk_err *err)
{
    char *const words[] = {(char *)exe, "-c", (char *)ask, NULL};
    int ends[2], status = 0, result;
    char block[4096];
    ssize_t got;
    pid_t child;
    posix_spawn_file_actions_t actions;
    if (pipe(ends)) return nk_fail(err, NK_ERR_SYSTEM, "no pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    result = posix_spawnp(&child, exe, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    while (!result && ((got = read(ends[0], block, sizeof block)) > 0 || (got < 0 && errno == EINTR)))
        if (got > 0) nk_buf_add(out, block, (size_t)got);
    close(ends[0]);
    if (result) return nk_fail(err, NK_ERR_SYSTEM, "cannot be run: %s", strerror(result));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        return nk_fail(err, NK_ERR_BAD_INPUT, "did not tell where it imports from: is it a Python?");
    return out->failed ? nk_fail(err, NK_ERR_MEMORY, "not enough memory") : 0;
}

// A folder, such as that of a virtual environment, stands for the interpreter in it.
static const char *interpreter(const char *exe, char *path, size_t size)
{
    static const char *const names[] = {"bin/python", "bin/python3"};
    struct stat st;
    if (stat(exe, &st) || !S_ISDIR(st.st_mode)) return exe;
    for (size_t i = 0; i < 2; i++) {
        int length = snprintf(path, size, "%s/%s", exe, names[i]);
        if (length > 0 && (size_t)length < size && !access(path, X_OK)) return path;
    }
    return exe;
}

void nk_scan_python(struct nk_scan *scan, const char *exe, const struct nk_scan_options *options)
{
    struct nk_buf out = {0};
    struct nk_err err = {0};
    char inside[PATH_MAX];
    size_t folders = 0;
    exe = interpreter(exe, inside, sizeof inside);
    if (output_of(exe, &out, &err)) {
        nk_scan_problem_add(scan, exe, err.text);
        nk_buf_free(&out);
        return;
    }
    char *rest = out.data, *line;
    while (rest && (line = strsep(&rest, "\n"))) {
        struct stat st;
        if (!*line || stat(line, &st) || !S_ISDIR(st.st_mode)) continue;
        folders++;
        nk_scan_path(scan, line, options);
    }
    if (!folders) nk_scan_problem_add(scan, exe, "has no folder of packages");
    nk_buf_free(&out);
}

// ---- a process

// Its name and number, for the item.
static void title(const char *pid, char *out, size_t size)
{
    char path[64], name[64] = "";
    snprintf(path, sizeof path, "/proc/%s/comm", pid);
    FILE *file = fopen(path, "re");
    if (file && fgets(name, sizeof name, file)) name[strcspn(name, "\n")] = 0;
    if (file) fclose(file);
    snprintf(out, size, "process %s%s%s%s", pid, *name ? " (" : "", name, *name ? ")" : "");
}

struct mapped {
    struct nk_scan *scan;
    const struct nk_scan_options *options;
    const char *pid;
    char title[128];
};

// A file as the process sees it: it may live in another root, or have been deleted and still be there.
static void read_mapped(const struct mapped *m, const char *range, char *path)
{
    char real[PATH_MAX];
    struct stat st;
    char *gone = strstr(path, " (deleted)");
    if (gone && !gone[10]) *gone = 0;
    if (path[0] != '/') return;
    snprintf(real, sizeof real, "/proc/%s/root%s", m->pid, path);
    if (gone || stat(real, &st)) snprintf(real, sizeof real, "/proc/%s/map_files/%s", m->pid, range);
    if (!gone && access(real, R_OK)) {
        nk_scan_problem_add(m->scan, path, strerror(errno));
        return;
    }
    if (stat(real, &st) || !S_ISREG(st.st_mode)) return;
    nk_scan_file_seen(m->scan, &(struct nk_scan_place){m->title, path}, real, path, m->options);
}

void nk_scan_process(struct nk_scan *scan, const char *pid, const struct nk_scan_options *options)
{
    char path[64];
    struct mapped m = {.scan = scan, .options = options, .pid = pid};
    char *line = NULL;
    size_t room = 0;
    for (const char *c = pid; *c; c++)
        if (!isdigit((unsigned char)*c) || c - pid > 10) {
            nk_scan_problem_add(scan, pid, "the number of a process was expected");
            return;
        }
    title(pid, m.title, sizeof m.title);
    snprintf(path, sizeof path, "/proc/%s/maps", pid);
    FILE *file = fopen(path, "re");
    if (!file) {
        nk_scan_problem_add(scan, m.title, errno == ENOENT ? "there is no such process" : strerror(errno));
        return;
    }
    while (getline(&line, &room, file) > 0) {
        int at = 0;
        char range[64];
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%63s %*s %*s %*s %*s %n", range, &at) < 1 || !at || !line[at]) continue;
        read_mapped(&m, range, line + at);
    }
    free(line);
    fclose(file);
}
