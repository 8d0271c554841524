// contents.c - the bytes of an image that a program handed to the driver.
//
// What a caller may pass (measured on runtimes 11.2 to 13.5): nvcc's 24-byte wrapper, a container, a cubin, or PTX text
// that ends with NUL; told apart by the first four bytes.
#define _GNU_SOURCE
#include "contents.h"

#include "base/table.h"
#include "dso.h"
#include "image/fatbin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MAX_COPY = 256 << 20, HEAD = 4096 };
static const char elf_magic[4] = "\177ELF";

// Where a sandbox forbids process_vm_readv, /proc/self/mem may still be there.
static ssize_t read_at(const void *address, void *out, size_t size)
{
    struct iovec to = {out, size}, from = {(void *)(uintptr_t)address, size};
    ssize_t got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    if (got >= 0 || (errno != EPERM && errno != ENOSYS)) return got;
    int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -1;
    got = pread(fd, out, size, (off_t)(uintptr_t)address);
    close(fd);
    return got;
}

size_t nk_memory_read(const void *address, void *out, size_t size)
{
    ssize_t got = read_at(address, out, size);
    if (got >= 0 && (size_t)got == size) return size;
    // A range that runs into a hole can fail as a whole: then only up to the end of the first page.
    size_t first = 4096 - (uintptr_t)address % 4096;
    if (first >= size) return 0;
    got = read_at(address, out, first);
    return got > 0 ? (size_t)got : 0;
}

// In place when all of it lies in one loaded library, else a copy.
static int take(const void *address, uint64_t size, struct nk_contents *out)
{
    struct nk_dso dso;
    uintptr_t start = (uintptr_t)address;
    if (nk_dso_find(address, &dso) && size <= dso.end - start) {
        out->bytes = nk_bytes(address, (size_t)size);
        return 0;
    }
    if (size > MAX_COPY || !(out->owned = nk_got(malloc((size_t)size + 1)))) return -1;
    if (nk_memory_read(address, out->owned, (size_t)size) != size) {
        free(out->owned);
        out->owned = NULL;
        return -1;
    }
    out->bytes = nk_bytes(out->owned, (size_t)size);
    return 0;
}

static int take_container(const void *address, struct nk_contents *out)
{
    struct {
        uint32_t magic;
        uint16_t version, header;
        uint64_t size;
    } head;
    if (nk_memory_read(address, &head, sizeof head) != sizeof head || head.magic != NK_FATBIN_MAGIC) return -1;
    if (head.size > MAX_COPY) return -1;
    return take(address, head.header + head.size, out);
}

// A cubin ends with its section headers or its program headers, whichever come last. 0 when the header is not whole.
static uint64_t elf_size(struct nk_bytes head)
{
    uint64_t sections, segments;
    uint16_t segment_size, segment_count, section_size, section_count;
    if (!nk_bytes_u64(head, 32, &segments) || !nk_bytes_u64(head, 40, &sections) ||
        !nk_bytes_u16(head, 54, &segment_size) || !nk_bytes_u16(head, 56, &segment_count) ||
        !nk_bytes_u16(head, 58, &section_size) || !nk_bytes_u16(head, 60, &section_count))
        return 0;
    if (segments > MAX_COPY || sections > MAX_COPY) return 0;
    uint64_t end = sections + (uint64_t)section_size * section_count;
    uint64_t other = segments + (uint64_t)segment_size * segment_count;
    return end > other ? end : other;
}

static int take_elf(const void *address, struct nk_contents *out)
{
    uint8_t head[64];
    if (nk_memory_read(address, head, sizeof head) != sizeof head) return -1;
    uint64_t size = elf_size(nk_bytes(head, sizeof head));
    return size ? take(address, size, out) : -1;
}

static int take_text(const void *address, struct nk_contents *out)
{
    size_t size = 0;
    char page[HEAD / 2];
    while (size < MAX_COPY) {
        size_t got = nk_memory_read((const char *)address + size, page, sizeof page);
        const char *end = got ? memchr(page, 0, got) : NULL;
        if (end) return take(address, size + (size_t)(end - page), out);
        if (!got) return -1;
        size += got;
    }
    return -1;
}

static int take_code(const void *code, struct nk_contents *out)
{
    struct {
        uint32_t magic, version;
        const void *data;
    } head;
    if (nk_memory_read(code, &head, sizeof head) < 8) return -1;
    if (head.magic == NK_WRAPPER_MAGIC) return take_container(head.data, out);
    if (head.magic == NK_FATBIN_MAGIC) return take_container(code, out);
    return memcmp(&head.magic, elf_magic, 4) ? take_text(code, out) : take_elf(code, out);
}

int nk_contents_open(const struct nk_container *container, struct nk_contents *out)
{
    *out = (struct nk_contents){0};
    if (container->file) {
        if (nk_file_open(&out->file, container->file, NULL)) return -1;
        out->bytes = out->file.bytes;
        return 0;
    }
    return container->code && container->lives ? take_code(container->code, out) : -1;
}

void nk_contents_close(struct nk_contents *contents)
{
    free(contents->owned);
    nk_file_close(&contents->file);
    *contents = (struct nk_contents){0};
}

// nvcc's wrapper stays where it is as long as its library does; then another library can come to the same addresses.
static uint64_t wrapper_key(const void *code, const uint8_t *head, size_t size)
{
    struct nk_dso dso;
    const void *data = NULL;
    uint8_t first[256];
    uint64_t key = nk_hash_u64((uintptr_t)code) ^ 2;
    if (nk_dso_find(code, &dso)) key ^= nk_hash_bytes(dso.path, strlen(dso.path));
    if (size >= 16) memcpy(&data, head + 8, sizeof data);
    size_t got = data ? nk_memory_read(data, first, sizeof first) : 0;
    return got ? key ^ nk_hash_bytes(first, got) : key;
}

uint64_t nk_contents_key(const void *code, const char *path)
{
    if (path) return nk_hash_bytes(path, strlen(path)) ^ 1;
    uint8_t head[HEAD / 2];
    uint32_t magic = 0;
    size_t size = nk_memory_read(code, head, sizeof head);
    if (size >= 4) memcpy(&magic, head, 4);
    if (!size || magic == NK_WRAPPER_MAGIC) return wrapper_key(code, head, size);
    // What lies behind the end of a short image is not its content.
    uint64_t end = magic == NK_FATBIN_MAGIC     ? size
                   : memcmp(head, elf_magic, 4) ? strnlen((char *)head, size)
                                                : elf_size(nk_bytes(head, size));
    return nk_hash_bytes(head, end < size ? (size_t)end : size) ^ 3;
}
