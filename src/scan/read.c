// read.c - all device code of one file.
#include "scan/read.h"
#include "image/fatbin.h"
#include "image/ptx.h"
#include "scan/box.h"

#include <string.h>

struct reading {
    struct nk_scan_library *library;
    struct nk_box box;
    bool kernels;
};

static int add(const struct nk_found *found, void *user)
{
    struct reading *reading = user;
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    nk_box_begin(&reading->box, found);
    if (nk_fatbin_begin(&walk, found->bytes, NULL)) {
        // Bytes between containers that are none: worth a word only when they are not the whole answer.
        reading->box.flags |= NK_FOUND_DAMAGED;
    } else {
        while (nk_fatbin_next(&walk, &entry, NULL) == 1) nk_box_image(&reading->box, &entry, reading->kernels);
    }
    nk_box_end(&reading->box, reading->library);
    return reading->library->failed ? 1 : 0;
}

int nk_scan_bytes(struct nk_scan_library *library, struct nk_bytes file, bool kernels, struct nk_err *err)
{
    struct reading reading = {.library = library, .kernels = kernels};
    library->kernels_read = kernels;
    library->size = file.size;
    int result = nk_find_images(file, 0, add, &reading, err);
    nk_box_free(&reading.box);
    return result > 0 ? nk_fail(err, NK_ERR_MEMORY, "not enough memory for what is in it") : result;
}

enum nk_scan_type nk_scan_type(struct nk_bytes first)
{
    static const struct {
        const char *bytes;
        size_t at, size;
        enum nk_scan_type type;
    } signs[] = {
        {"\177ELF", 0, 4, NK_SCAN_CODE},
        {"MZ", 0, 2, NK_SCAN_CODE},
        {"!<arch>\ndebian", 0, 14, NK_SCAN_ARCHIVE},
        {"!<arch>\n", 0, 8, NK_SCAN_CODE},
        {"!<thin>\n", 0, 8, NK_SCAN_CODE},
        {NK_FATBIN_KEY, 0, 8, NK_SCAN_CODE},
        {"PK\3\4", 0, 4, NK_SCAN_ARCHIVE},
        {"PK\5\6", 0, 4, NK_SCAN_ARCHIVE},
        {"\37\213\10", 0, 3, NK_SCAN_ARCHIVE},
        {"BZh", 0, 3, NK_SCAN_ARCHIVE},
        {"\3757zXZ\0", 0, 6, NK_SCAN_ARCHIVE},
        {"\x28\xb5\x2f\xfd", 0, 4, NK_SCAN_ARCHIVE},
        {"ustar", 257, 5, NK_SCAN_ARCHIVE},
    };
    struct nk_bytes part;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (nk_bytes_part(first, signs[i].at, signs[i].size, &part) && !memcmp(part.data, signs[i].bytes, part.size))
            return signs[i].type;
    return nk_ptx_looks(first) ? NK_SCAN_CODE : NK_SCAN_OTHER;
}
