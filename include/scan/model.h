// model.h - what a scan found: items (a file, an archive, an installed package), their libraries, the code in them.
//
// A library keeps its containers, their images and, one a container, the names of the kernels. Kernels of which the
// same is to be said share a "shape": the images of their container, and which of them hold the kernel. A library with
// 24,000 kernels has a few hundred shapes, so a verdict about every kernel for every GPU is cheap.
//
// Everything belongs to its library, item or scan, and lives until that is freed. When memory was short `failed` is set
// and what did not fit is missing. Texts are offsets in `texts`: 0 is "".
#ifndef NK_SCAN_MODEL_H
#define NK_SCAN_MODEL_H

#include "base/buf.h"
#include "base/table.h"
#include "image/find.h"
#include "image/image.h"
#include "packages/package.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A container, or an image that lies in none.
struct nk_scan_box {
    uint64_t offset;            // in the file
    uint32_t kind, flags;       // enum nk_found_kind; NK_FOUND_*
    size_t section, member;     // texts
    size_t first_image, images; // in the library's array
    size_t first_kernel, kernels;
    bool unread; // kernels of an image of it could not be read
};

struct nk_scan_kernel {
    size_t name;   // text
    size_t number; // of its name among the different ones of the library: below name_count
    size_t shape;
    uint64_t real; // images of its container with a body that is certainly not empty, as bits; the first 64 only
};

struct nk_scan_shape {
    size_t first, images; // in shape_images and holds
    uint64_t kernels;     // pairs of container and kernel with this shape
};

struct nk_scan_library {
    char *path; // as it is shown: inside its item
    struct nk_package package;
    size_t build_id;     // text, in hex
    uint64_t size;       // of the file
    uint64_t unsearched; // bytes of it in which containers were not looked for (only headers were read)
    struct nk_scan_box *boxes;
    struct nk_image *images;
    struct nk_scan_kernel *kernels;
    struct nk_scan_shape *shapes;
    struct nk_image *shape_images;
    unsigned char *holds; // enum nk_hold, beside shape_images
    size_t box_count, image_count, kernel_count, shape_count, shape_image_count;
    size_t box_room, image_room, kernel_room, shape_room, shape_image_room, hold_room;
    size_t last_section, last_member; // texts that were added last: most containers lie in one section
    struct nk_buf texts;
    struct nk_table by_shape, by_name;
    size_t *names; // texts of the different names
    size_t name_count, name_room;
    bool kernels_read; // false: only headers were looked at
    bool incomplete;   // reading it met an error: it may hold more, or something else
    bool failed;
};

struct nk_scan_item {
    char *path;   // what was asked for
    bool archive; // its libraries are members of it
    struct nk_package package;
    struct nk_scan_library **libraries;
    size_t count, room;
};

struct nk_scan_problem {
    char *path, *text;
};

struct nk_scan {
    struct nk_scan_item **items;
    size_t count, room;
    struct nk_scan_problem *problems; // what could not be read, one sentence each
    size_t problem_count, problem_room;
    uint64_t others;      // files without GPU code
    uint64_t links;       // files that had been read under another name
    struct nk_table seen; // by device and inode
    char *unowned;        // the folder in which the last files without a package lay
    unsigned unowned_in_row;
    bool failed;
};

// An array with room for one more, or NULL (then it stays as it was). size: of an element.
void *nk_scan_grow(void *array, size_t count, size_t *room, size_t size);

const char *nk_scan_text(const struct nk_scan_library *library, size_t text);
// Adds a text; 0 for none.
size_t nk_scan_add_text(struct nk_scan_library *library, struct nk_bytes text);

// A new library that belongs to nobody yet, or NULL.
struct nk_scan_library *nk_scan_library_new(const char *path);
// Notes the build-id where `file`, the bytes of the library or the first of them, tells one.
void nk_scan_library_identify(struct nk_scan_library *library, struct nk_bytes file);
// Takes out what only looks like the start of a container or a cubin: damaged, in no section of fat binaries, and
// nothing in it. Programs that read or write fat binaries hold such bytes.
void nk_scan_library_tidy(struct nk_scan_library *library);
void nk_scan_library_free(struct nk_scan_library *library);

// The item of that path and package; made when it is not there. NULL when memory is short.
struct nk_scan_item *nk_scan_item_get(struct nk_scan *scan, const char *path, const struct nk_package *package);
// Gives the library to the item; frees it when that fails.
void nk_scan_item_add(struct nk_scan *scan, struct nk_scan_item *item, struct nk_scan_library *library);
// Notes that something could not be read.
void nk_scan_problem_add(struct nk_scan *scan, const char *path, const char *text);
// Notes of each library in one sentence that containers of it are damaged, or hold images that cannot be read.
void nk_scan_note_damage(struct nk_scan *scan);
void nk_scan_free(struct nk_scan *scan);

#endif
