// test_ptxas_maker.h - cubins whose beginning alone can be read.
#ifndef NK_TEST_PTXAS_MAKER_H
#define NK_TEST_PTXAS_MAKER_H

#include "test_image_maker.h"

// A cubin as ptxas lays it out: header, .shstrtab at 64, .strtab, .symtab, and nothing that says where they end.
struct layout {
    const char *before; // strings of .strtab that come before the section names, as "#v\0$str\0"
    size_t before_size;
    size_t gap;           // zeros between .shstrtab and .strtab
    const char *sections; // another kernel than the symbols name
};

static inline void make_ptxas(struct nk_buf *out, const struct made_kernel *kernels, const struct layout *layout)
{
    struct nk_buf names = {0};
    nk_buf_add(out, "\177ELF\2\1\1\x33\7\0\0\0\0\0\0\0", 16);
    put(out, 2, 2);
    put(out, 190, 2);
    nk_buf_fill(out, 0, 20);
    put(out, 1u << 20, 8); // section headers: far away
    put(out, 0x500050, 4);
    put(out, 64, 2);
    put(out, 0, 4);
    put(out, 64, 2);
    put(out, 40, 2);
    put(out, 1, 2);
    nk_buf_add(&names, "\0.shstrtab\0.strtab\0.symtab\0", 28);
    for (size_t i = 0; kernels[i].name; i++) {
        const char *name = layout->sections ? layout->sections : kernels[i].name;
        nk_buf_format(&names, ".text.%s", name);
        nk_buf_fill(&names, 0, 1);
        nk_buf_format(&names, ".nv.constant0.%s", name);
        nk_buf_fill(&names, 0, 1);
    }
    nk_buf_add(out, names.data, names.size);
    nk_buf_fill(out, 0, layout->gap);
    size_t strtab = out->size, offsets[8];
    nk_buf_fill(out, 0, 1);
    nk_buf_add(out, layout->before, layout->before_size);
    nk_buf_add(out, names.data + 1, names.size - 1);
    for (size_t i = 0; kernels[i].name; i++) {
        offsets[i] = out->size - strtab;
        nk_buf_add(out, kernels[i].name, strlen(kernels[i].name) + 1);
    }
    pad_to(out, 8);
    nk_buf_fill(out, 0, 24);
    for (int i = 0; i < 3; i++) { // sections, as symbols
        put(out, 0, 4);
        put(out, 3, 1);
        put(out, 0, 1);
        put(out, i + 1, 2);
        nk_buf_fill(out, 0, 16);
    }
    for (size_t i = 0; kernels[i].name; i++) {
        put(out, offsets[i], 4);
        put(out, 0x12, 1);
        put(out, 0x10, 1);
        put(out, 5, 2);
        put(out, 0, 8);
        put(out, kernels[i].size, 8);
    }
    nk_buf_fill(out, 0x55, 5000); // code
    nk_buf_free(&names);
}

#endif
