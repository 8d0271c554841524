// words.h - words that several formats of a scan share. They append to a buffer and allocate only there.
#ifndef NK_SCAN_WORDS_H
#define NK_SCAN_WORDS_H

#include "scan/text.h"

// 24,172
void nk_scan_number(struct nk_buf *out, uint64_t number);
// "1 kernel", "24,172 kernels"
void nk_scan_count(struct nk_buf *out, uint64_t number, const char *one, const char *many);
// A text of a file, which may hold anything: what is no UTF-8, or would move the cursor, becomes '?'.
void nk_scan_clean(struct nk_buf *out, const char *text);
// The demangled name of a kernel, likewise.
void nk_scan_kernel_name(struct nk_buf *out, const char *name);
// A path with the reader's home directory replaced by ~ unless `full`.
void nk_scan_shown(struct nk_buf *out, const char *path, bool full);
// "torch 2.15.0+cu132", or the path of an item that is no package.
void nk_scan_title(struct nk_buf *out, const struct nk_scan_item *item, bool full);
// "torch 2.1.2 -> torch 2.4.1", or one of them; either may be NULL.
void nk_scan_title_change(struct nk_buf *out, const struct nk_scan_item *old, const struct nk_scan_item *new_item,
                          bool full);
// "native", "partly (58 missing, 3 empty)"; "absent" of a library that is NULL.
void nk_scan_short_verdict(struct nk_buf *out, const struct nk_scan_library *library, const struct nk_target *gpu);
// "sm_75 sm_80 sm_90a(4)": the targets of a kind, wherever they lie, with the number of images where it is not that of
// most.
void nk_scan_archs(struct nk_buf *out, const struct nk_scan_sum *sum, uint16_t kind, bool relocatable);
// "lz4, zstd"
void nk_scan_codecs(struct nk_buf *out, const struct nk_scan_sum *sum);
// What stands behind the word: "all 24,172 kernels", "58 of 24,172 kernels do not run: there is no image for this GPU".
void nk_scan_detail(struct nk_buf *out, enum nk_scan_word word, const struct nk_scan_counts *counts);
// Writes each kernel that does not run natively on the GPU, the worst first. `word`: "none", "unknown", "hollow",
// "jit".
typedef void (*nk_scan_kernel_fn)(struct nk_buf *out, const char *word, const char *name);
void nk_scan_not_native(struct nk_buf *out, const struct nk_scan_library *library, const struct nk_target *gpu,
                        nk_scan_kernel_fn write);
// Names of the sections in which containers lie outside .nv_fatbin: ".data .rodata".
void nk_scan_sections(struct nk_buf *out, const struct nk_scan_library *library);

#endif
