// knowledge.h - the tables of knowledge/, which scripts/embed makes part of the program. All texts are static.
//
// They are constant but for override.h, which commands may call before they begin.
//
// A list in a cell is separated by ";". Row 0 is the heading; an empty cell says that nothing is known, never "none".
#ifndef NK_ADVICE_KNOWLEDGE_H
#define NK_ADVICE_KNOWLEDGE_H

#include "verdict/judge.h"

#include <stdbool.h>

struct nk_knowledge {
    int columns, rows; // rows: with the heading
    const char *const *cells;
};

// T(table, NAME, columns, those that tell rows apart): their order is that of the heading (a unit test compares).
#define NK_KNOWLEDGE_LIST(T)                                                                                           \
    T(torch_wheels, WHEELS, "torch variant machine sass ptx linalg extra pypi index evidence note source",             \
      "torch variant machine")                                                                                         \
    T(torch_pairs, PAIRS, "torch torchvision torchaudio note source", "torch")                                         \
    T(torch_python, PYTHON, "torch min max source", "torch")                                                           \
    T(torch_domain, DOMAIN, "variant sass ptx source", "variant")                                                      \
    T(packages, PACKAGES, "package family version part cuda sass ptx note source", "package version part")             \
    T(rebuild, REBUILD, "package kind command arches source", "package")                                               \
    T(sm_toolkit, TOOLKIT, "sm first last isa a f note source", "sm")                                                  \
    T(cuda_versions, CUDA, "cuda isa min_sm max_sm driver needs note source", "cuda")                                  \
    T(gpus, GPUS, "name sm family kind source", "name")                                                                \
    T(errors, ERRORS, "code means means_zh not not_zh do do_zh source", "code")                                        \
    T(messages, MESSAGES, "text code title title_zh means means_zh not not_zh do do_zh source", "text")                \
    T(names, NAMES, "name from pip source", "name from")                                                               \
    T(kernel_kinds, KINDS, "kind library words source", "kind library words")

#define NK_KNOWN_TABLE(table, NAME, columns, keys) extern struct nk_knowledge nk_known_##table;
NK_KNOWLEDGE_LIST(NK_KNOWN_TABLE)
#undef NK_KNOWN_TABLE

enum {
    NK_WHEEL_TORCH,
    NK_WHEEL_VARIANT,
    NK_WHEEL_MACHINE,
    NK_WHEEL_SASS,
    NK_WHEEL_PTX,
    NK_WHEEL_LINALG,
    NK_WHEEL_EXTRA
};
enum { NK_WHEEL_PYPI = 7, NK_WHEEL_INDEX, NK_WHEEL_EVIDENCE, NK_WHEEL_NOTE, NK_WHEEL_SOURCE };
enum { NK_PAIR_TORCH, NK_PAIR_VISION, NK_PAIR_AUDIO, NK_PAIR_NOTE, NK_PAIR_SOURCE };
enum { NK_PYTHON_TORCH, NK_PYTHON_MIN, NK_PYTHON_MAX, NK_PYTHON_SOURCE };
enum { NK_DOMAIN_VARIANT, NK_DOMAIN_SASS, NK_DOMAIN_PTX, NK_DOMAIN_SOURCE };
enum { NK_PACK_NAME, NK_PACK_FAMILY, NK_PACK_VERSION, NK_PACK_PART, NK_PACK_CUDA, NK_PACK_SASS, NK_PACK_PTX };
enum { NK_PACK_NOTE = 7, NK_PACK_SOURCE };
enum { NK_REBUILD_NAME, NK_REBUILD_KIND, NK_REBUILD_COMMAND, NK_REBUILD_ARCHES, NK_REBUILD_SOURCE };
enum { NK_SM_SM, NK_SM_FIRST, NK_SM_LAST, NK_SM_ISA, NK_SM_A, NK_SM_F, NK_SM_NOTE, NK_SM_SOURCE };
enum {
    NK_CUDA_CUDA,
    NK_CUDA_ISA,
    NK_CUDA_MIN,
    NK_CUDA_MAX,
    NK_CUDA_DRIVER,
    NK_CUDA_NEEDS,
    NK_CUDA_NOTE,
    NK_CUDA_SOURCE
};
enum { NK_GPU_NAME, NK_GPU_SM, NK_GPU_FAMILY, NK_GPU_KIND, NK_GPU_SOURCE };
// Columns of prose have their Chinese in the next one.
enum { NK_ERROR_CODE, NK_ERROR_MEANS, NK_ERROR_NOT = 3, NK_ERROR_DO = 5, NK_ERROR_SOURCE = 7 };
enum { NK_MESSAGE_TEXT, NK_MESSAGE_CODE, NK_MESSAGE_TITLE, NK_MESSAGE_MEANS = 4, NK_MESSAGE_NOT = 6 };
enum { NK_MESSAGE_DO = 8, NK_MESSAGE_SOURCE = 10 };
enum { NK_NAMES_NAME, NK_NAMES_FROM, NK_NAMES_PIP, NK_NAMES_SOURCE };
enum { NK_WORK_KIND, NK_WORK_LIBRARY, NK_WORK_WORDS, NK_WORK_SOURCE };

// A cell; row 1 is the first below the heading.
const char *nk_known(const struct nk_knowledge *table, int row, int column);
// The first row whose cell in `column` is `value`, or 0.
int nk_known_row(const struct nk_knowledge *table, int column, const char *value);

// Compares versions as pip does for releases: "2.10.0" is newer than "2.9.1", "2.7.0.dev1" and "2.7.0rc1" older than
// "2.7.0". What follows a "+" does not count. < 0, 0, > 0.
int nk_version_compare(const char *a, const char *b);
// True when `version` is `minor` ("2.7") itself or one of its patches ("2.7.1"): no dev or rc.
bool nk_version_within(const char *version, const char *minor);
// "12.8" or "cu128" as cuDriverGetVersion counts: 12080. 0 when it is neither.
int nk_version_cuda(const char *text);

// How code of these lists ("80;90a", PTX made by CUDA `cuda`, 0 = of any version) would run. Both empty: UNKNOWN.
struct nk_verdict nk_known_runs(const char *sass, const char *ptx, int cuda, const struct nk_target *target);

#endif
