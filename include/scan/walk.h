// walk.h - what a scan is asked to look at: files, archives, folders, a Python's packages, a process's libraries.
//
// Whatever cannot be read becomes one problem of the scan, in one sentence; the rest is read all the same.
#ifndef NK_SCAN_WALK_H
#define NK_SCAN_WALK_H

#include "scan/model.h"
#include "scan/read.h"

struct nk_scan_options {
    struct nk_scan_how how;
    // Called now and then with what is being read, how far, and of how much (0: not known). May be NULL.
    void (*progress)(void *user, const char *what, uint64_t done, uint64_t all);
    void *user;
};

// A file, an archive, or a folder with all below it. Links inside a folder are followed to files, not to folders; a
// file that was read under another name is not read again.
void nk_scan_path(struct nk_scan *scan, const char *path, const struct nk_scan_options *options);
// Every package of the folders that this interpreter imports from. Runs the interpreter (it prints its sys.path). A
// folder stands for bin/python or bin/python3 in it.
void nk_scan_python(struct nk_scan *scan, const char *exe, const struct nk_scan_options *options);
// Every file that the running process has mapped.
void nk_scan_process(struct nk_scan *scan, const char *pid, const struct nk_scan_options *options);

#endif
