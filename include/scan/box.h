// box.h - one container being read: image by image, then into its library.
//
// A box needs nothing but the images that it is given, so they may come from a mapped file or pass by in a stream, and
// several boxes may be read by several threads at once. One owner; nk_box_free gives everything back.
#ifndef NK_SCAN_BOX_H
#define NK_SCAN_BOX_H

#include "image/unpack.h"
#include "scan/memo.h"
#include "scan/partial.h"
#include "scan/read.h"

// Containers with more images are listed, but the kernels in them are not compared: the largest one seen has 26.
#define NK_BOX_IMAGES 4096u

// What decodes images: one for each thread, for many boxes. Start from {.how = ...}.
struct nk_box_tools {
    const struct nk_scan_how *how;
    bool passing;      // the bytes of an image are gone when nk_box_image returns
    uint64_t whole;    // images that had to be decoded whole
    uint64_t mismatch; // with how->verify: images whose beginning said something else
    struct nk_unpacked memory;
    struct nk_partial partial;
    struct nk_memo memo;
    struct nk_buf note; // for the memo
};
void nk_box_tools_free(struct nk_box_tools *tools);

struct nk_box_body {
    uint32_t kernel, image;
    uint64_t size; // bytes of machine code; 0 where PTX does not tell
};

// PTX that is read after all cubins, if at all.
struct nk_box_late {
    struct nk_entry_view entry;
    uint32_t image;
    void *copy; // of its payload, or NULL
};

// Start from {0}; may be used again after nk_box_end, which keeps its memory.
struct nk_box {
    uint64_t offset;
    uint32_t kind, flags;
    struct nk_bytes section, member; // borrowed until nk_box_end
    struct nk_image *images;
    size_t image_count, image_room;
    struct nk_box_body *bodies;
    size_t body_count, body_room;
    struct nk_box_late *late;
    size_t late_count, late_room, late_bytes; // late_bytes: copied
    size_t *names;                            // offsets in `texts`
    size_t name_count, name_room;
    struct nk_buf texts;
    struct nk_table by_name;
    bool unread, failed;
};

void nk_box_begin(struct nk_box *box, const struct nk_found *found);
// Adds an image as its header, its first bytes (PTX) and, if how->kernels, its symbols show it.
void nk_box_image(struct nk_box *box, struct nk_entry_view *entry, struct nk_box_tools *tools);
// After the last image: reads what was left for the end, and puts the kernels in order. (The part of nk_box_end that
// any thread may do.)
void nk_box_close(struct nk_box *box, struct nk_box_tools *tools);
// Adds the container to the library. Kernels are compared image by image: a body that is all but empty where another
// image has a real one is hollow (see image/kernels.h).
void nk_box_end(struct nk_box *box, struct nk_scan_library *library);
void nk_box_free(struct nk_box *box);

#endif
