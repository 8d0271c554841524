// loader.c - where the dynamic loader would find a library.
#define _GNU_SOURCE
#include "doctor/loader.h"
#include "base/file.h"
#include "doctor/files.h"
#include "image/elf.h"
#include "report/words.h"

#include <stdio.h>
#include <string.h>

// ---- dynamic sections

enum { PT_DYNAMIC = 2, DT_NEEDED = 1, DT_STRTAB = 5, DT_SONAME = 14, DT_RPATH = 15, DT_RUNPATH = 29 };

// The bytes at an address of the loaded library.
static bool at_address(const struct nk_elf *elf, uint64_t address, struct nk_bytes *out)
{
    struct nk_elf_segment segment;
    for (uint32_t i = 0; nk_elf_segment(elf, i, &segment); i++)
        if (segment.type == NK_PT_LOAD && address >= segment.address && address - segment.address < segment.file_size)
            return nk_bytes_part(elf->file, segment.offset + (address - segment.address),
                                 segment.file_size - (address - segment.address), out);
    return false;
}

static bool dynamic_of(const struct nk_elf *elf, struct nk_bytes *out)
{
    struct nk_elf_segment segment;
    for (uint32_t i = 0; nk_elf_segment(elf, i, &segment); i++)
        if (segment.type == PT_DYNAMIC) return nk_bytes_part(elf->file, segment.offset, segment.file_size, out);
    return false;
}

static void take(struct nk_dynamic *out, uint64_t tag, struct nk_bytes text)
{
    if (tag == DT_NEEDED && out->count < sizeof out->needed / sizeof *out->needed) out->needed[out->count++] = text;
    if (tag == DT_SONAME) out->soname = text;
    if (tag == DT_RPATH) out->rpath = text;
    if (tag == DT_RUNPATH) out->runpath = text;
}

bool nk_dynamic_read(struct nk_bytes file, struct nk_dynamic *out)
{
    struct nk_elf elf;
    struct nk_bytes table, strings = {0}, text;
    uint64_t tag, value;
    *out = (struct nk_dynamic){0};
    if (nk_elf_open(&elf, file, NULL) || !dynamic_of(&elf, &table)) return false;
    for (uint64_t at = 0; nk_bytes_u64(table, at, &tag) && nk_bytes_u64(table, at + 8, &value) && tag; at += 16)
        if (tag == DT_STRTAB && !at_address(&elf, value, &strings)) return false;
    for (uint64_t at = 0; nk_bytes_u64(table, at, &tag) && nk_bytes_u64(table, at + 8, &value) && tag; at += 16)
        if (nk_bytes_string(strings, value, &text)) take(out, tag, text);
    return true;
}

// ---- folders

// A file of that name that is a library for this kind of process. (The loader passes over others.)
static bool is_library(const char *root, const char *path)
{
    struct nk_buf whole = {0};
    struct nk_file file;
    struct nk_elf elf;
    bool good = false;
    if (!nk_file_open(&file, nk_doctor_path(&whole, root, path), NULL)) {
        nk_file_scattered(&file);
        good = !nk_elf_open(&elf, file.bytes, NULL);
        nk_file_close(&file);
    }
    nk_buf_free(&whole);
    return good;
}

// $ORIGIN and ${ORIGIN} become the folder of the library that asks.
static void expand(struct nk_buf *out, const char *folder, size_t size, const char *asker)
{
    size_t origin = asker && strrchr(asker, '/') ? (size_t)(strrchr(asker, '/') - asker) : 0;
    for (size_t i = 0; i < size;) {
        size_t skip = !strncmp(folder + i, "$ORIGIN", 7) ? 7 : !strncmp(folder + i, "${ORIGIN}", 9) ? 9 : 0;
        if (skip && skip <= size - i)
            nk_buf_add(out, asker, origin);
        else
            nk_buf_add(out, folder + i, 1);
        i += skip ? skip : 1;
    }
}

static bool in_list(const struct nk_doctor *doctor, const char *list, size_t size, const char *asker, const char *name,
                    struct nk_loaded *out)
{
    bool found = false;
    for (size_t at = 0; at < size && !found;) {
        const char *colon = memchr(list + at, ':', size - at), *semicolon = memchr(list + at, ';', size - at);
        size_t end = colon ? (size_t)(colon - list) : size;
        struct nk_buf path = {0};
        if (semicolon && (size_t)(semicolon - list) < end) end = (size_t)(semicolon - list);
        expand(&path, list + at, end - at, asker);
        nk_buf_format(&path, "/%s", name);
        // An empty entry is the current folder.
        if (!path.failed && end > at && path.size < sizeof out->path && is_library(doctor->asked.root, path.data)) {
            memcpy(out->path, path.data, path.size + 1);
            found = true;
        }
        nk_buf_free(&path);
        at = end + 1;
    }
    return found;
}

static bool in_bytes(const struct nk_doctor *doctor, struct nk_bytes list, const char *asker, const char *name,
                     struct nk_loaded *out)
{
    return list.size && in_list(doctor, (const char *)list.data, list.size, asker, name, out);
}

// ---- /etc/ld.so.cache (glibc's dl-cache.h, "glibc-ld.so.cache1.1")

enum { CACHE_HEADER = 48, CACHE_ENTRY = 24, CACHE_X86_64 = 0x0303, CACHE_AARCH64 = 0x0a03 };

static bool in_cache(const struct nk_doctor *doctor, const char *name, struct nk_loaded *out)
{
    struct nk_buf whole = {0};
    struct nk_file file;
    struct nk_bytes cache, key, value;
    uint32_t count = 0, flags, at_key, at_value;
    bool found = false;
    if (nk_file_open(&file, nk_doctor_path(&whole, doctor->asked.root, "/etc/ld.so.cache"), NULL)) {
        nk_buf_free(&whole);
        return false;
    }
    int64_t start = nk_bytes_find(file.bytes, 0, "glibc-ld.so.cache1.1", 20);
    if (start >= 0 && nk_bytes_from(file.bytes, (uint64_t)start, &cache)) nk_bytes_u32(cache, 20, &count);
    for (uint32_t i = 0; i < count && !found; i++) {
        uint64_t entry = CACHE_HEADER + (uint64_t)i * CACHE_ENTRY;
        if (!nk_bytes_u32(cache, entry, &flags) || !nk_bytes_u32(cache, entry + 4, &at_key) ||
            !nk_bytes_u32(cache, entry + 8, &at_value) || !nk_bytes_string(cache, at_key, &key) ||
            !nk_bytes_string(cache, at_value, &value))
            break;
        if ((flags != CACHE_X86_64 && flags != CACHE_AARCH64) || value.size >= sizeof out->path) continue;
        if (!nk_bytes_equal(key, nk_bytes(name, strlen(name)))) continue;
        memcpy(out->path, value.data, value.size);
        out->path[value.size] = 0;
        found = nk_doctor_exists(doctor->asked.root, out->path);
    }
    nk_file_close(&file);
    nk_buf_free(&whole);
    return found;
}

// ---- the order

static bool found_by(struct nk_loaded *out, const char *how)
{
    out->how = how;
    return true;
}

bool nk_loader_find(struct nk_doctor *doctor, const struct nk_asker *asker, const char *name, struct nk_loaded *out)
{
    static const char defaults[] = "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib/aarch64-linux-gnu:"
                                   "/usr/lib/aarch64-linux-gnu:/lib64:/usr/lib64:/lib:/usr/lib";
    const char *path = nk_doctor_env("LD_LIBRARY_PATH");
    *out = (struct nk_loaded){.how = ""};
    // A RUNPATH makes the loader ignore the RPATHs of the library and of those that loaded it.
    for (const struct nk_asker *a = asker; a && !asker->dynamic->runpath.size; a = a->by)
        if (!a->dynamic->runpath.size && in_bytes(doctor, a->dynamic->rpath, a->path, name, out))
            return found_by(out, "RPATH");
    if (in_list(doctor, path, strlen(path), NULL, name, out)) return found_by(out, "LD_LIBRARY_PATH");
    if (asker && in_bytes(doctor, asker->dynamic->runpath, asker->path, name, out)) return found_by(out, "RUNPATH");
    if (in_cache(doctor, name, out)) return found_by(out, "cache");
    if (in_list(doctor, defaults, sizeof defaults - 1, NULL, name, out)) return found_by(out, "default");
    return false;
}

const char *nk_loader_without(struct nk_doctor *doctor, const char *library)
{
    struct nk_buf out = {0}, word = {0};
    size_t folder = strrchr(library, '/') ? (size_t)(strrchr(library, '/') - library) : 0;
    for (const char *at = nk_doctor_env("LD_LIBRARY_PATH"); *at;) {
        size_t size = strcspn(at, ":"), plain = size;
        while (plain > 1 && at[plain - 1] == '/') plain--;
        bool same = plain == folder && !strncmp(at, library, folder);
        if (!same && size) nk_buf_format(&out, "%s%.*s", out.size ? ":" : "", (int)size, at);
        at += size;
        at += *at == ':';
    }
    nk_buf_text(&word, out.size ? "export LD_LIBRARY_PATH=" : "unset LD_LIBRARY_PATH");
    if (out.size) nk_words_shell(&word, out.data, true);
    nk_buf_free(&out);
    return nk_doctor_keep_buf(doctor, &word);
}
