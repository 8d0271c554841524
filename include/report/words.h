// words.h - the words that all formats of the report share. All functions append to a buffer and allocate only there.
#ifndef NK_REPORT_WORDS_H
#define NK_REPORT_WORDS_H

#include "report/sums.h"

// `text` with home directories (of the reader, and /home/NAME) replaced by "~", unless `full`.
void nk_words_redacted(struct nk_buf *out, const char *text, bool full);
// The same as a word of a shell: other characters than those of plain paths stand behind a backslash.
void nk_words_shell(struct nk_buf *out, const char *path, bool full);
// The origin of a package (packages/package.h). shell: its path as a word of a shell, which is what an advice case
// takes.
void nk_words_origin(struct nk_buf *out, const char *origin, bool full, bool shell);
// The file name of a path. Points into it.
const char *nk_words_base(const char *path);
// "torch/lib/libtorch_cuda.so" for a path inside site-packages or dist-packages, else the whole path, redacted.
void nk_words_path(struct nk_buf *out, const char *path, bool full);
// "torch 2.4.1+cu121", or nothing. True when there was a package.
bool nk_words_package(struct nk_buf *out, const struct nk_run_library *library);
// Where a container lies: its library, its file, or the memory that a library loaded it from.
void nk_words_place(struct nk_buf *out, const struct nk_run_container *container, bool full);
// A kernel's name, demangled; shortened to `columns` unless that is 0.
void nk_words_kernel(struct nk_buf *out, const char *mangled, size_t columns);
// "sm_90a", "compute_90@8.0" (or "compute_90" without `isa`), or "kind 16 sm_90".
void nk_words_arch(struct nk_buf *out, const struct nk_arch_item *item, bool isa);
// "sm_50 sm_60 sm_90, no PTX", as nk_arch_list_text, with the images whose body is empty named after it.
void nk_words_has(struct nk_buf *out, const struct nk_archs *archs);
// What would have to be there: "sm_120 (or PTX for compute_120 or lower)".
// With a kernel's `holds` only the images that (may) hold it count.
void nk_words_needs(struct nk_buf *out, const struct nk_run *run, const struct nk_run_container *container,
                    const unsigned char *holds, const struct nk_run_gpu *gpu);
// "209 CUDA_ERROR_NO_BINARY_FOR_GPU"
// What the driver means by a result that has other causes than a GPU without an image; NULL for all others.
const char *nk_words_means(int32_t result);
// "sm_90", "PTX compute_90": what an image was compiled for.
void nk_words_image(struct nk_buf *out, const struct nk_image *image);
void nk_words_result(struct nk_buf *out, const struct nk_rec_failure *failure);
// "once", "3 times"
void nk_words_times(struct nk_buf *out, uint64_t count);
// "1 kernel", "2 kernels"
void nk_words_count(struct nk_buf *out, uint64_t count, const char *one, const char *many);
// "CUDA 13.0" of 13000
void nk_words_cuda(struct nk_buf *out, uint32_t cuda);
// "NVIDIA GeForce RTX 5090, sm_120, driver 580.65 (CUDA 13.0)"
void nk_words_gpu(struct nk_buf *out, struct nk_run *run, const struct nk_run_gpu *gpu);
// How the process ended: "exited with status 1", "was killed, or still runs".
void nk_words_end(struct nk_buf *out, const struct nk_run *run);
// The sentence about what the program made of a failure, or nothing.
void nk_words_unread(struct nk_buf *out, const struct nk_run *run);
// The word of an enum nk_failure_kind: "launch", "load", "lookup", "probe", "graph", "wait".
const char *nk_words_kind(uint32_t kind);
// The word of an enum nk_pinned: "returned", "synchronised", "trail".
const char *nk_words_pinned(uint32_t pinned);

// A frame of CUDA's runtime or driver, of this library, or of the loader: left out of the text.
bool nk_words_folded(const struct nk_run_frame *frame);
// A frame of a native stack: true when it tells something (not a frame of the CUDA runtime, the driver, this library,
// an interpreter's loop or the start of the process). *last is set on the frame at which a reader's code ends.
bool nk_words_frame(struct nk_buf *out, const struct nk_run_frame *frame, size_t columns, bool *last);

#endif
