// knowledge.c - reading the embedded tables, versions, and lists of architectures.
#include "advice/knowledge.h"
#include "verdict/arch.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *nk_known(const struct nk_knowledge *table, int row, int column)
{
    return table->cells[row * table->columns + column];
}

int nk_known_row(const struct nk_knowledge *table, int column, const char *value)
{
    for (int row = 1; row < table->rows; row++)
        if (!strcmp(nk_known(table, row, column), value)) return row;
    return 0;
}

// What stands behind the numbers of a release: a "dev", "rc" or other pre-release counts as below it.
static int stage(const char *text) { return *text && *text != '+' && strncmp(text, ".post", 5) ? -1 : 0; }

int nk_version_compare(const char *a, const char *b)
{
    for (;;) {
        bool more_a = isdigit((unsigned char)*a), more_b = isdigit((unsigned char)*b);
        if (!more_a && !more_b) return stage(a) - stage(b);
        char *end_a = (char *)(size_t)a, *end_b = (char *)(size_t)b;
        unsigned long x = more_a ? strtoul(a, &end_a, 10) : 0, y = more_b ? strtoul(b, &end_b, 10) : 0;
        if (x != y) return x < y ? -1 : 1;
        a = end_a + (*end_a == '.' && isdigit((unsigned char)end_a[1]));
        b = end_b + (*end_b == '.' && isdigit((unsigned char)end_b[1]));
    }
}

bool nk_version_within(const char *version, const char *minor)
{
    size_t size = strlen(minor);
    if (strncmp(version, minor, size) || (version[size] && version[size] != '.' && version[size] != '+')) return false;
    return version[strspn(version, "0123456789.")] == 0 || version[strspn(version, "0123456789.")] == '+';
}

int nk_version_cuda(const char *text)
{
    int major, minor = 0;
    if (!strncmp(text, "cu", 2) && strlen(text) >= 4) {
        int all = atoi(text + 2); // the last digit is the minor number
        return all / 10 * 1000 + all % 10 * 10;
    }
    return sscanf(text, "%d.%d", &major, &minor) >= 1 && isdigit((unsigned char)*text) ? major * 1000 + minor * 10 : 0;
}

// The PTX ISA that a toolkit writes, as 87; 0 when it is not known.
static int isa_of(int cuda)
{
    for (int row = 1; row < nk_known_cuda_versions.rows; row++)
        if (nk_version_cuda(nk_known(&nk_known_cuda_versions, row, NK_CUDA_CUDA)) == cuda)
            return nk_version_cuda(nk_known(&nk_known_cuda_versions, row, NK_CUDA_ISA)) / 10 / 100 * 10 +
                   nk_version_cuda(nk_known(&nk_known_cuda_versions, row, NK_CUDA_ISA)) / 10 % 100;
    return 0;
}

static size_t add(struct nk_image *images, size_t count, size_t most, const char *list, int isa)
{
    for (; *list && count < most; count++) {
        char *end;
        long arch = strtol(list, &end, 10);
        images[count] = (struct nk_image){.kind = isa < 0 ? NK_KIND_CUBIN : NK_KIND_PTX,
                                          .arch = (uint16_t)arch,
                                          .suffix = *end == 'a' || *end == 'f' ? (uint8_t)*end : 0,
                                          .isa_major = (uint8_t)(isa > 0 ? isa / 10 : 1),
                                          .isa_minor = (uint8_t)(isa > 0 ? isa % 10 : 0),
                                          .kernels = UINT32_MAX};
        list = end + strcspn(end, ";");
        list += *list == ';';
    }
    return count;
}

struct nk_verdict nk_known_runs(const char *sass, const char *ptx, int cuda, const struct nk_target *target)
{
    struct nk_image images[48];
    size_t count = add(images, 0, 24, sass, -1);
    if (*ptx) count = add(images, count, 48, ptx, isa_of(cuda));
    if (!count) return (struct nk_verdict){.runs = NK_RUNS_UNKNOWN, .image = -1};
    return nk_judge(images, count, NULL, target);
}
