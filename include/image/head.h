// head.h - what a program handed to the driver, told from its first bytes.
//
// cuModuleLoadData, cuLibraryLoadData and their kin take a pointer without a length: to a wrapper, a fat binary, a
// cubin or PTX text.
#ifndef NK_IMAGE_HEAD_H
#define NK_IMAGE_HEAD_H

#include "base/bytes.h"

enum nk_head_kind { NK_HEAD_UNKNOWN, NK_HEAD_WRAPPER, NK_HEAD_CONTAINER, NK_HEAD_ELF, NK_HEAD_PTX };

// How many bytes are enough for an answer. A wrapper has 24; fewer bytes may be given, as many as are known to be
// there.
#define NK_HEAD_SIZE 64u

struct nk_image_head {
    enum nk_head_kind kind;
    uint64_t
        size; // CONTAINER: bytes of the whole; ELF: at least so many (see nk_elf_extent); PTX: 0, it ends with a NUL
    // WRAPPER: the address of the container, and in version 2 (device-linked) that of a NULL-terminated array of
    // addresses of containers. Not followed here.
    uint32_t version;
    uint64_t data, prelinked;
};

// Text that starts neither with ".version" nor with a comment is UNKNOWN. All fields but `kind` are 0 unless said
// above.
struct nk_image_head nk_image_from_memory_head(struct nk_bytes first);

#endif
