// err.h - an error is a code and a sentence.
//
// A function that can fail takes a `struct nk_err *` as its last argument (NULL: the caller does not want the sentence)
// and returns -1 (or NULL). The sentence says what was expected and what was there. Nothing is allocated.
#ifndef NK_BASE_ERR_H
#define NK_BASE_ERR_H

#define NK_ERR_TEXT 512

enum nk_err_code {
    NK_ERR_NONE = 0,
    NK_ERR_BAD_INPUT,   // bytes that are not what they claim to be
    NK_ERR_LIMIT,       // well formed, but larger than a documented bound
    NK_ERR_UNSUPPORTED, // well formed, but a kind or version that this build does not know
    NK_ERR_SYSTEM,      // a system call failed; the sentence holds strerror
    NK_ERR_MEMORY,      // an allocation failed
    NK_ERR_USAGE,       // words of a command line or a setting
};

struct nk_err {
    enum nk_err_code code;
    char text[NK_ERR_TEXT];
};

// Fills `err` (may be NULL) and returns -1, so that `return nk_fail(err, CODE, "...")` is one line. Keeps errno.
int nk_fail(struct nk_err *err, enum nk_err_code code, const char *format, ...) __attribute__((format(printf, 3, 4)));

// Passes an allocation on, and counts it when there was no memory. Where a little less is done then, and nobody is
// told, nk_lacks says that it happened: how often in this process, in all threads.
void *nk_got(void *memory);
unsigned nk_lacks(void);

#endif
