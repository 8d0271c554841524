// advice.h - what to do about code that does not run on a GPU: at most three repairs, the best first.
//
// Pure functions of what is handed in and of the tables in knowledge/: nothing is looked up in files, in the
// environment (but the language) or on the network. A repair that the tables do not bear out is never given; none at
// all is an answer too.
#ifndef NK_ADVICE_ADVICE_H
#define NK_ADVICE_ADVICE_H

#include "advice/texts.h"
#include "base/buf.h"
#include "verdict/judge.h"

#include <stdbool.h>
#include <stddef.h>

// What failed, or would fail. Texts are borrowed and never NULL once nk_advice_case_init has been called.
struct nk_advice_case {
    const char *package, *version, *source; // as packages/package.h says; "" when unknown
    const char *installer;                  // as packages/package.h says; "" when unknown
    const char *origin;                     // the same; the path of "editable:" and "file:" as a shell takes it
    const char *library;                    // its path; "" for code in memory
    const char *loader_package;             // of the library that loaded code from memory
    const char *loader_version;
    const char *torch;          // version of the torch of the process, "" when there is none
    const char *python;         // command of the interpreter, as it is to be shown: "~/v/bin/python"; ""
    const char *python_version; // "3.11" or ""
    const char *machine;        // "x86_64", "aarch64"
    bool user_site;             // installed with pip --user
    bool in_memory;             // no file holds it: compiled or unpacked while the program ran
    const char *const *others;  // packages of the process that may have to move along; NULL at the end
    const int *sms;             // all GPUs of the process (120), 0 at the end; may be NULL
    struct nk_target target;    // the GPU that it does not run on; driver 0: unknown
    int result;                 // what the driver returned, 0 unknown
    struct nk_verdict verdict;
    const struct nk_image *images; // what there is
    size_t image_count;
};

enum { NK_REPAIRS_MOST = 3 };

struct nk_repair {
    struct nk_buf text;        // a sentence or two, without a full stop at the end
    struct nk_buf command;     // to be copied into a shell; empty when there is none
    struct nk_buf evidence;    // where the knowledge comes from
    bool safe;                 // nothing but this package, or the environment of the program, changes
    enum nk_text safe_because; // the same in words
};

struct nk_advice {
    enum nk_language language;
    struct nk_repair repair[NK_REPAIRS_MOST];
    size_t count;
};

// A case about which nothing is known yet.
void nk_advice_case_init(struct nk_advice_case *about);
// Fills *out (whatever was in it). When memory is short, texts are cut off (nk_buf.failed).
void nk_advise(const struct nk_advice_case *about, enum nk_language language, struct nk_advice *out);
// What pip calls a package of conda or Debian ("pytorch": "torch"); else its own name. `source` as in a case.
const char *nk_advice_name(const char *package, const char *source);
void nk_advice_free(struct nk_advice *advice);

#endif
