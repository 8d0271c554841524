// image.c - which image of some code a device would use: its own few lines, sharing nothing with the library under
// test.
//
// Code is one of: nvcc's wrapper, a container of images, a bare cubin, PTX text. Layouts: LLVM's documentation of the
// offloading formats and measurements; rules: NVIDIA's CUDA programming guide (binary and PTX compatibility).
#include "sim.h"

#include <elf.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { WRAPPER = 0x466243b1, KIND_PTX = 1, KIND_CUBIN = 2, KIND_LINK_PTX = 0x40, KIND_CONCAT = 0x100 };
#define CONTAINER 0xba55ed50u
enum { FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000, FLAG_A = 0x100000, FLAG_F = 0x200000 };

static uint32_t u32(const void *at)
{
    uint32_t value;
    memcpy(&value, at, 4);
    return value;
}
static uint64_t u64(const void *at)
{
    uint64_t value;
    memcpy(&value, at, 8);
    return value;
}
static unsigned u16(const void *at)
{
    uint16_t value;
    memcpy(&value, at, 2);
    return value;
}

static const unsigned char *unwrap(const void *code)
{
    return u32(code) == WRAPPER ? (const void *)u64((const char *)code + 8) : code;
}

static bool is_elf(const void *code)
{
    return memcmp(code,
                  "\x7f"
                  "ELF",
                  4) == 0;
}

// PTX is text: some blanks or comments, then ".version".
static bool is_ptx(const void *code)
{
    const char *text = code;
    for (int i = 0; i < 64 && text[i]; i++)
        if (!strchr(" \t\r\n/.", text[i]) && (unsigned char)text[i] < 0x20) return false;
    return strnlen(text, 16) == 16 && (text[0] == '/' || text[0] == '.' || text[0] == '\n' || text[0] == ' ') &&
           strstr(text, ".version");
}

static size_t elf_size(const unsigned char *code)
{
    const Elf64_Ehdr *head = (const void *)code;
    size_t end = sizeof *head, last = head->e_shoff + (size_t)head->e_shnum * sizeof(Elf64_Shdr);
    if (last > end) end = last;
    last = head->e_phoff + (size_t)head->e_phnum * sizeof(Elf64_Phdr);
    if (last > end) end = last;
    const Elf64_Shdr *sections = (const void *)(code + head->e_shoff);
    for (unsigned i = 0; head->e_shoff && i < head->e_shnum; i++)
        if (sections[i].sh_type != SHT_NOBITS && sections[i].sh_offset + sections[i].sh_size > end)
            end = sections[i].sh_offset + sections[i].sh_size;
    return end;
}

size_t sim_code_size(const void *code)
{
    const unsigned char *at = unwrap(code);
    if (!at) return 0;
    if (u32(at) == CONTAINER) return u16(at + 6) + u64(at + 8);
    if (is_elf(at)) return elf_size(at);
    return is_ptx(code) ? strlen(code) + 1 : 0;
}

// ---- one image
static void read_elf(const unsigned char *code, struct sim_image *image)
{
    const Elf64_Ehdr *head = (const void *)code;
    bool new_layout = head->e_ident[EI_ABIVERSION] >= 8;
    image->sm = (int)(new_layout ? (head->e_flags >> 8) & 0xff : head->e_flags & 0xff);
    if (image->variant == 0 && (head->e_flags & (new_layout ? 0x08 : 0x800)) && image->sm >= 90) image->variant = 'a';
}

static void read_ptx(const char *text, struct sim_image *image)
{
    const char *version = strstr(text, ".version"), *target = strstr(text, ".target");
    if (version) {
        char *end;
        long major = strtol(version + 8, &end, 10);
        image->isa = (int)(major * 10 + (*end == '.' ? strtol(end + 1, NULL, 10) : 0));
    }
    if (target && (target = strstr(target, "sm_"))) {
        char *end;
        image->sm = (int)strtol(target + 3, &end, 10);
        image->variant = *end == 'a' || *end == 'f' ? *end : 0;
    }
}

static void read_entry(const unsigned char *entry, struct sim_image *image)
{
    uint64_t flags = u64(entry + 40);
    *image = (struct sim_image){.kind = (int)u16(entry), .sm = (int)u32(entry + 28)};
    image->isa = (int)(u16(entry + 26) * 10 + u16(entry + 24));
    image->variant = flags & FLAG_A ? 'a' : flags & FLAG_F ? 'f' : 0;
    image->codec = flags & FLAG_ZSTD ? 'z' : flags & FLAG_LZ4 ? 'l' : 0;
    image->data = entry + u32(entry + 4);
    image->stored = image->codec ? u32(entry + 16) : u64(entry + 8);
    image->size = image->codec ? u64(entry + 56) : image->stored;
}

void *sim_image_decode(const struct sim_image *image)
{
    if (image->size == 0 || image->size > (size_t)1 << 30) return NULL;
    char *text = malloc(image->size + 1);
    if (!text) return NULL;
    size_t got = image->size;
    if (image->codec == 'z')
        got = ZSTD_decompress(text, image->size, image->data, image->stored);
    else if (image->codec == 'l')
        got = (size_t)LZ4_decompress_safe((const char *)image->data, text, (int)image->stored, (int)image->size);
    else
        memcpy(text, image->data, image->size);
    if (got != image->size) return free(text), NULL;
    text[image->size] = 0;
    return text;
}

// ---- the rule
// Which compute capabilities a family target runs on: NVIDIA's table of family-specific architectures.
static bool in_family(int target, int sm)
{
    static const int table[][4] = {{100, 100, 103, 107}, {103, 103, 107}, {107, 107},
                                   {110, 110},           {120, 120, 121}, {121, 121}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int k = 1; table[i][0] == target && k < 4; k++)
            if (table[i][k] == sm) return true;
    return false;
}

static int renamed(int sm) { return sm == 101 ? 110 : sm; } // sm_101 was called sm_110 from CUDA 13.0 on
static bool alone(int sm) { return sm == 32 || sm == 53 || sm == 62 || sm == 72 || sm == 87 || sm == 88 || sm == 110; }

static bool cubin_fits(const struct sim_image *image, int sm)
{
    int made = renamed(image->sm);
    sm = renamed(sm);
    if (image->variant == 'a') return made == sm;
    if (image->variant == 'f') return in_family(made, sm);
    if (alone(made) || alone(sm)) return made == sm; // Tegra: no binary compatibility with anything else
    return made / 10 == sm / 10 && made <= sm;
}

static bool ptx_fits(const struct sim_image *image, int sm)
{
    int made = renamed(image->sm);
    sm = renamed(sm);
    if (image->variant == 'a') return made == sm;
    if (image->variant == 'f') return in_family(made, sm);
    return made <= sm;
}

// The newest PTX that a driver knows, times ten. Before 11.8 the numbers went in step with the toolkit's.
static int newest_isa(int driver)
{
    static const int table[][2] = {{13040, 94}, {13030, 93}, {13020, 92}, {13010, 91}, {13000, 90},
                                   {12090, 88}, {12080, 87}, {12070, 86}, {12050, 85}, {12040, 84},
                                   {12030, 83}, {12020, 82}, {12010, 81}, {12000, 80}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (driver >= table[i][0]) return table[i][1];
    return 70 + (driver >= 11000 ? driver % 1000 / 10 : -10);
}

enum { MAX_WHOLES = 8 };
struct choice {
    const struct sim_device *device;
    struct sim_image cubin, ptx;
    bool has_new_ptx, has_ptx, has_zstd;
    struct whole { // a decoded concatenation
        char *text;
        size_t size;
    } wholes[MAX_WHOLES];
    int whole_count;
};

static int rank(const struct sim_image *image)
{
    return renamed(image->sm) * 4 + (image->variant == 'a' ? 3 : image->variant == 'f' ? 2 : 1);
}

static void consider(struct choice *choice, const struct sim_image *image)
{
    bool unreadable = image->codec == 'z' && sim_set.driver < 12040; // zstd came with the drivers of 12.4
    if (image->kind == KIND_CUBIN && !sim_set.force_ptx_jit && cubin_fits(image, choice->device->sm)) {
        choice->has_zstd |= unreadable;
        if (!unreadable && (!choice->cubin.data || rank(image) > rank(&choice->cubin))) choice->cubin = *image;
    }
    if ((image->kind == KIND_PTX || image->kind == KIND_LINK_PTX) && ptx_fits(image, choice->device->sm)) {
        choice->has_zstd |= unreadable;
        choice->has_ptx = true;
        if (image->isa > newest_isa(sim_set.driver))
            choice->has_new_ptx = true;
        else if (!unreadable && (!choice->ptx.data || rank(image) > rank(&choice->ptx)))
            choice->ptx = *image;
    }
}

// Several images compressed together (nvcc --concat, 13.4): after the option record come the headers of the parts,
// whose word at 4 is the place of the part in the decoded whole.
static void consider_concatenated(struct choice *choice, const unsigned char *entry)
{
    struct sim_image whole;
    read_entry(entry, &whole);
    unsigned count = u32(entry + 0x40), head = u32(entry + 4);
    const unsigned char *part = entry + 0x48;
    char *text = choice->whole_count < MAX_WHOLES ? sim_image_decode(&whole) : NULL;
    if (!text) return;
    choice->wholes[choice->whole_count++] = (struct whole){text, whole.size};
    for (unsigned i = 0; i < count && part + 64 <= entry + head; i++) {
        struct sim_image image;
        read_entry(part, &image);
        image.codec = 0;
        image.data = (const unsigned char *)text + u32(part + 4);
        image.stored = image.size = u64(part + 8);
        if (u32(part + 4) + image.size <= whole.size) consider(choice, &image);
        unsigned record = u32(part + 20);
        part += record ? u32(part + record) + ((u32(part + record + 4) + 8) & ~7u) : 64;
    }
}

static void consider_all(struct choice *choice, const unsigned char *container)
{
    const unsigned char *at = container + u16(container + 6), *end = at + u64(container + 8);
    while (end - at >= 64) {
        struct sim_image image;
        read_entry(at, &image);
        if (image.kind == KIND_CONCAT)
            consider_concatenated(choice, at);
        else
            consider(choice, &image);
        uint64_t step = u32(at + 4) + u64(at + 8);
        if (u32(at + 4) < 64 || step > (uint64_t)(end - at)) break;
        at += step;
    }
}

// PTX is compiled now: its own text has the last word, whatever the header said.
static int compile(struct sim_image *ptx, const struct sim_device *device)
{
    char *text = sim_image_decode(ptx);
    if (!text) return BAD_IMAGE;
    read_ptx(text, ptx);
    free(text);
    if (ptx->isa > newest_isa(sim_set.driver)) return PTX_TOO_NEW;
    return ptx_fits(ptx, device->sm) ? OK : BAD_PTX;
}

static int verdict(struct choice *choice, struct sim_image *image)
{
    *image = choice->cubin.data ? choice->cubin : choice->ptx;
    if (choice->cubin.data) return OK;
    if (choice->has_ptx && sim_set.disable_ptx_jit) return JIT_DISABLED;
    if (choice->ptx.data) return compile(image, choice->device);
    if (choice->has_zstd) return BAD_IMAGE;
    return choice->has_new_ptx ? PTX_TOO_NEW : NO_BINARY;
}

void sim_pick(const void *code, const struct sim_device *device, struct sim_pick *pick)
{
    struct choice choice = {.device = device};
    struct sim_image image = {0};
    const unsigned char *at = code ? unwrap(code) : NULL;
    *pick = (struct sim_pick){.result = BAD_IMAGE};
    if (!at) return;
    if (u32(at) == CONTAINER) {
        consider_all(&choice, at);
    } else if (is_elf(at) && ((const Elf64_Ehdr *)at)->e_machine == 190) {
        image = (struct sim_image){.kind = KIND_CUBIN, .data = at, .stored = elf_size(at), .size = elf_size(at)};
        read_elf(at, &image);
        consider(&choice, &image);
    } else if (!is_elf(at) && is_ptx(code)) {
        image = (struct sim_image){.kind = KIND_PTX, .data = code, .stored = strlen(code), .size = strlen(code)};
        read_ptx(code, &image);
        consider(&choice, &image);
    } else {
        return;
    }
    pick->result = verdict(&choice, &pick->image);
    for (int i = 0; i < choice.whole_count; i++) {
        struct whole *whole = &choice.wholes[i];
        bool chosen = (uintptr_t)pick->image.data - (uintptr_t)whole->text < whole->size;
        if (chosen)
            pick->owned = whole->text;
        else
            free(whole->text);
    }
}
