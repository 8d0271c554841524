// holdings.h - which images of a container hold which kernels.
//
// To know it all images have to be decoded, which takes as long for one kernel as for all: what was read once answers
// for every kernel of the container. NCCL asks for some 140 kernels of one container, which takes a minute otherwise.
#ifndef NK_IMAGE_HOLDINGS_H
#define NK_IMAGE_HOLDINGS_H

#include "image/kernels.h"

// Larger images (decoded) are left unread: this runs inside somebody else's process.
#define NK_HOLDS_LIMIT (256ull << 20)

struct nk_holding; // of one kernel in one image
// Zeroed or read; owns its arrays.
struct nk_holdings {
    struct nk_holding *held; // by name, then image
    size_t count, room;
    unsigned char *read; // an image: was it read whole?
    size_t n_images;
};

// Reads the first `n_images` images of `container` (or bare image), in the order in which nk_fatbin_next hands them
// out.
// Keeps 24 bytes a kernel and image. On the way it needs at most NK_HOLDS_LIMIT + 8 bytes an image + 1 MB, and gives
// that back. 0, or -1 with a sentence: the container cannot be walked to its end (what was read before stands), or
// memory is short (nothing stands). To be freed in all cases.
int nk_holdings_read(struct nk_holdings *out, struct nk_bytes container, size_t n_images, struct nk_err *err);
// Which images hold the kernel `name`: holds[i] for i < n_images. Images that are not there or could not be read are
// UNKNOWN.
void nk_holdings_of(const struct nk_holdings *holdings, const char *name, unsigned char holds[], size_t n_images);
void nk_holdings_free(struct nk_holdings *holdings);

// The same for one kernel only. 0, or -1 as nk_holdings_read, with what stands in `holds`.
int nk_container_holds(struct nk_bytes container, const char *name, unsigned char holds[], size_t n_images,
                       struct nk_err *err);

#endif
