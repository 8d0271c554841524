// archive.c - the members of an `ar` archive.
//
// A member is a header of 60 characters {name 16, date 12, owner 6, group 6, mode 8, size 10, "`\n"}, then its bytes,
// padded to an even offset (ar(5)).
#include "image/archive.h"

#include <string.h>

#define MAGIC       "!<arch>\n"
#define THIN_MAGIC  "!<thin>\n"
#define HEADER_SIZE 60u

bool nk_archive_looks(struct nk_bytes file)
{
    return nk_bytes_starts(file, MAGIC, 8) || nk_bytes_starts(file, THIN_MAGIC, 8);
}

int nk_archive_begin(struct nk_archive *walk, struct nk_bytes file, struct nk_err *err)
{
    *walk = (struct nk_archive){.file = file, .at = 8};
    if (nk_bytes_starts(file, THIN_MAGIC, 8))
        return nk_fail(err, NK_ERR_UNSUPPORTED, "an archive with its members inside was expected, this one is thin");
    if (!nk_bytes_starts(file, MAGIC, 8))
        return nk_fail(err, NK_ERR_BAD_INPUT, "an archive was expected (\"!<arch>\")");
    return 0;
}

static bool decimal(struct nk_bytes text, uint64_t *out)
{
    size_t at = 0;
    uint64_t value = 0;
    for (; at < text.size && text.data[at] >= '0' && text.data[at] <= '9'; at++) {
        if (value > UINT32_MAX) return false; // ten digits are all a header has
        value = value * 10 + (text.data[at] - '0');
    }
    *out = value;
    return at > 0;
}

static struct nk_bytes until(struct nk_bytes text, uint8_t stop)
{
    const uint8_t *end = text.size ? memchr(text.data, stop, text.size) : NULL;
    return end ? nk_bytes(text.data, (size_t)(end - text.data)) : text;
}

// GNU: "name/", or "/123" into the member "//". BSD: "#1/12", and the name precedes the bytes.
static void read_name(struct nk_archive *walk, struct nk_bytes field, struct nk_archive_member *member)
{
    struct nk_bytes rest, name;
    uint64_t number;
    member->name = until(until(field, '/'), ' ');
    if (nk_bytes_starts(field, "#1/", 3) && nk_bytes_from(field, 3, &rest) && decimal(rest, &number) &&
        nk_bytes_part(member->bytes, 0, number, &name)) {
        member->name = until(name, 0);
        member->offset += number;
        member->bytes = nk_bytes(member->bytes.data + number, member->bytes.size - (size_t)number);
    } else if (nk_bytes_starts(field, "/", 1) && nk_bytes_from(field, 1, &rest) && decimal(rest, &number) &&
               nk_bytes_from(walk->long_names, number, &name)) {
        member->name = until(until(name, '\n'), '/');
    }
}

int nk_archive_next(struct nk_archive *walk, struct nk_archive_member *member, struct nk_err *err)
{
    struct nk_bytes field, size_text;
    uint64_t size;
    for (;;) {
        uint64_t at = walk->at;
        if (at >= walk->file.size) return 0;
        walk->at = walk->file.size; // unless all is well
        if (!nk_bytes_part(walk->file, at, 16, &field) || !nk_bytes_part(walk->file, at + 48, 10, &size_text) ||
            !nk_bytes_holds(walk->file, at, HEADER_SIZE) || memcmp(walk->file.data + at + 58, "`\n", 2) != 0 ||
            !decimal(size_text, &size))
            return nk_fail(err, NK_ERR_BAD_INPUT, "archive: a member's header was expected at 0x%llx",
                           (unsigned long long)at);
        *member = (struct nk_archive_member){.offset = at + HEADER_SIZE};
        if (!nk_bytes_part(walk->file, member->offset, size, &member->bytes))
            return nk_fail(err, NK_ERR_BAD_INPUT, "archive: the member at 0x%llx has %llu bytes, only %llu are left",
                           (unsigned long long)at, (unsigned long long)size,
                           (unsigned long long)(walk->file.size - member->offset));
        walk->at = member->offset + size + (size & 1);
        if (nk_bytes_starts(field, "// ", 3)) walk->long_names = member->bytes;
        // "/", "/SYM64/" and "//" are tables; "/12" is a member.
        if (field.data[0] == '/' && !(field.data[1] >= '0' && field.data[1] <= '9')) continue;
        read_name(walk, field, member);
        return 1;
    }
}
