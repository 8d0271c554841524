// image_names.c - the kernels and variables of an image, so that a name that is not in it can be refused (500).
#include "sim.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRY = 0x10 }; // st_other of a kernel, as opposed to a device function (measured on nvcc 11.8 to 13.5)

static void add(struct sim_names *names, struct sim_symbol symbol)
{
    if ((names->count & (names->count - 1)) == 0) { // a power of two: full
        void *more = realloc(names->list, (names->count ? names->count * 2 : 1) * sizeof *names->list);
        if (!more) return;
        names->list = more;
    }
    names->list[names->count++] = symbol;
}

static void read_symbol(struct sim_names *names, const char *elf, size_t size, const Elf64_Sym *symbol,
                        const char *name)
{
    const Elf64_Ehdr *head = (const void *)elf;
    const Elf64_Shdr *sections = (const void *)(elf + head->e_shoff);
    struct sim_symbol found = {.name = name, .size = symbol->st_size};
    int type = ELF64_ST_TYPE(symbol->st_info);
    if (type == STT_FUNC && (symbol->st_other & ENTRY) && symbol->st_shndx != SHN_UNDEF)
        found.kernel = true;
    else if (type != STT_OBJECT || symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= head->e_shnum)
        return;
    else {
        const Elf64_Shdr *in = &sections[symbol->st_shndx];
        if (in->sh_type == SHT_PROGBITS && in->sh_offset + symbol->st_value + symbol->st_size <= size)
            found.init = elf + in->sh_offset + symbol->st_value;
    }
    add(names, found);
}

static bool read_cubin(struct sim_names *names, const char *elf, size_t size)
{
    const Elf64_Ehdr *head = (const void *)elf;
    if (size < sizeof *head || head->e_shoff == 0 || head->e_shoff + head->e_shnum * sizeof(Elf64_Shdr) > size)
        return false;
    const Elf64_Shdr *sections = (const void *)(elf + head->e_shoff);
    for (unsigned i = 0; i < head->e_shnum; i++) {
        const Elf64_Shdr *s = &sections[i];
        if (s->sh_type != SHT_SYMTAB || s->sh_link >= head->e_shnum || s->sh_offset + s->sh_size > size) continue;
        const Elf64_Shdr *strings = &sections[s->sh_link];
        const Elf64_Sym *symbols = (const void *)(elf + s->sh_offset);
        if (strings->sh_offset + strings->sh_size > size) continue;
        for (size_t k = 0; k < s->sh_size / sizeof *symbols; k++)
            if (symbols[k].st_name < strings->sh_size)
                read_symbol(names, elf, size, &symbols[k], elf + strings->sh_offset + symbols[k].st_name);
    }
    return true;
}

// ---- PTX: ".entry NAME" and ".global .align 4 .b8 NAME[12]"
static char *word_end(char *at)
{
    while (isalnum((unsigned char)*at) || *at == '_' || *at == '$' || *at == '%') at++;
    return at;
}

static size_t type_size(const char *type)
{
    while (*type && !isdigit((unsigned char)*type)) type++;
    long bits = strtol(type, NULL, 10);
    return bits >= 8 ? (size_t)bits / 8 : 1;
}

static void read_variable(struct sim_names *names, char *at)
{
    size_t element = 1;
    while (*at == ' ' || *at == '.') {
        at += strspn(at, " ");
        if (*at != '.') break;
        if (strncmp(at, ".align", 6) == 0)
            at += 6 + strspn(at + 6, " 0123456789");
        else {
            element = type_size(at);
            at = word_end(at + 1);
        }
    }
    char *end = word_end(at), stop = *end;
    if (end == at) return;
    size_t elements = stop == '[' ? strtoul(end + 1, NULL, 10) : 1;
    *end = 0; // the text is ours
    add(names, (struct sim_symbol){.name = at, .size = element * (elements ? elements : 1)});
}

static void read_ptx(struct sim_names *names, char *text)
{
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        char *found = strstr(line, ".entry ");
        if (found && !strstr(line, "//")) {
            char *name = found + 7 + strspn(found + 7, " ");
            *word_end(name) = 0;
            add(names, (struct sim_symbol){.name = name, .kernel = true});
        } else if ((found = strstr(line, ".global ")) || (found = strstr(line, ".const "))) {
            bool at_start = found == line || strncmp(line, ".visible ", 9) == 0 || strncmp(line, ".weak ", 6) == 0 ||
                            strncmp(line, ".extern ", 8) == 0;
            if (at_start) read_variable(names, found + strcspn(found, " "));
        }
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct sim_symbol *)a)->name, ((const struct sim_symbol *)b)->name);
}

void sim_names_read(const struct sim_image *image, struct sim_names *names)
{
    *names = (struct sim_names){.text = sim_image_decode(image)};
    if (!names->text || image->kind > 2) return; // relocatable PTX: its parts lie in several entries
    if (image->kind == 2) {
        names->known = read_cubin(names, names->text, image->size);
    } else {
        read_ptx(names, names->text);
        names->known = true;
    }
    if (names->count) qsort(names->list, names->count, sizeof *names->list, by_name);
}

void sim_names_free(struct sim_names *names)
{
    free(names->list);
    free(names->text);
    *names = (struct sim_names){0};
}

const struct sim_symbol *sim_names_find(const struct sim_names *names, const char *name)
{
    struct sim_symbol key = {.name = name};
    return names->count ? bsearch(&key, names->list, names->count, sizeof key, by_name) : NULL;
}
