// hollow.c - kernels that were launched, raised no error, and did nothing: the body was compiled away for this GPU.
//
// No call of the driver ever says so; only the images do. The images of a container are read once, when the program
// gives the container back or when the process ends, and only where kernels of it were launched: first the image that
// the driver uses, and the others only for kernels whose body in it is so small that it may be empty. All of it is
// bounded: somebody waits for the end of that process.
#define _GNU_SOURCE
#include "core.h"

#include "contents.h"
#include "image/holdings.h"
#include "verdict/judge.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_KERNELS = 256 };
static const uint64_t most_time = 200000000, most_bytes = 64 << 20; // nanoseconds; bytes decoded
static uint64_t spent_time, spent_bytes;
static uint32_t looked_at, left_out;

// The launched kernels of one container that are still to be looked at.
struct look {
    struct nk_kernel *kernel[MOST_KERNELS];
    int image[MOST_KERNELS];  // that the driver uses for it, -1 none
    bool small[MOST_KERNELS]; // its body there may be empty
    uint32_t n;
};

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool over(void) { return looked_at >= MOST_KERNELS || spent_time > most_time || spent_bytes > most_bytes; }

static int image_of(const struct nk_container *container, uint32_t gpu)
{
    struct nk_target target = nk_core_target(gpu);
    if (!target.sm) return -1;
    struct nk_verdict v = nk_judge(container->images, container->n_images, NULL, &target);
    return v.runs == NK_RUNS_NATIVE || v.runs == NK_RUNS_JIT ? v.image : -1;
}

static void choose(struct nk_container *container, struct look *look)
{
    for (struct nk_kernel *k = container->kernels; k; k = k->next) {
        uint64_t *launches = atomic_load(&k->launches);
        if (k->looked_at || k->holds_done || !launches || !*launches) continue;
        if (over() || look->n == MOST_KERNELS) {
            left_out++;
            continue;
        }
        look->kernel[look->n] = k;
        look->image[look->n] = image_of(container, k->gpu);
        if (look->image[look->n++] >= 0) looked_at++;
        k->looked_at = true;
    }
}

struct compared {
    struct look *look;
    int image;
    bool ptx;
};

static int compare(const struct nk_kernel_view *seen, void *user)
{
    struct compared *with = user;
    for (uint32_t i = 0; i < with->look->n; i++) {
        const char *name = with->look->kernel[i]->name;
        if (with->look->image[i] != with->image || !nk_bytes_equal(seen->name, nk_bytes(name, strlen(name)))) continue;
        with->look->small[i] = with->ptx ? seen->bare_return : seen->body && seen->body <= NK_HOLLOW_BODY;
    }
    return 0;
}

// Decodes the images that the driver uses. Returns what decoding all images of the container would cost.
static uint64_t find_small(struct nk_bytes bytes, struct look *look)
{
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    struct nk_unpacked memory = {0};
    uint64_t all = 0;
    if (nk_fatbin_begin(&walk, bytes, NULL)) return 0;
    while (nk_fatbin_next(&walk, &entry, NULL) == 1) {
        struct compared with = {look, (int)entry.index, entry.image.kind != NK_KIND_CUBIN};
        uint64_t cost = entry.image.codec == NK_CODEC_NONE ? 0 : entry.unpacked;
        bool wanted = false;
        for (uint32_t i = 0; i < look->n; i++) wanted |= look->image[i] == with.image;
        all += cost;
        if (!wanted || spent_bytes + cost > most_bytes) continue;
        spent_bytes += cost;
        nk_image_kernels(&entry, &memory, most_bytes, compare, &with, NULL);
    }
    nk_unpack_free(&memory);
    return all;
}

// Written only for a kernel that is hollow in the image that is used: all others are as the container says.
static void add_holds(struct nk_kernel *kernel, int image, struct nk_bytes bytes, size_t n_images)
{
    unsigned char *holds = nk_got(malloc(n_images));
    if (holds && !nk_container_holds(bytes, kernel->name, holds, n_images, NULL) && holds[image] == NK_KERNEL_HOLLOW) {
        struct nk_rec_holds record = {.kernel = kernel->id, .n = (uint32_t)n_images};
        nk_writer_add(&nk_core.writer, NK_REC_HOLDS, &record, sizeof record, holds, n_images);
        kernel->holds_done = true;
    }
    free(holds);
}

static void look_into(struct nk_container *container, struct look *look)
{
    struct nk_contents contents;
    uint64_t start = now();
    if (nk_contents_open(container, &contents)) return;
    uint64_t all = find_small(contents.bytes, look);
    for (uint32_t i = 0; i < look->n; i++) {
        if (!look->small[i]) continue;
        if (spent_bytes + all > most_bytes || spent_time + (now() - start) > most_time) {
            left_out++;
            continue;
        }
        spent_bytes += all;
        add_holds(look->kernel[i], look->image[i], contents.bytes, container->n_images);
    }
    nk_contents_close(&contents);
    spent_time += now() - start;
}

void nk_core_hollow(struct nk_container *container)
{
    // An image alone has nothing that its bodies could be compared with.
    if (!container->kernels || container->n_images < 2 || !container->lives) return;
    struct look *look = nk_got(calloc(1, sizeof *look));
    if (look) choose(container, look);
    if (look && look->n) look_into(container, look);
    free(look);
}

void nk_core_hollow_rest(void)
{
    size_t cursor = 0;
    struct nk_container *container;
    while ((container = nk_container_next(&cursor))) nk_core_hollow(container);
    if (!left_out) return;
    struct nk_buf text = {0};
    nk_buf_format(&text,
                  "%u of the launched kernels were not looked at for an empty body: at most %u, and %llu MB of images, "
                  "are",
                  left_out, MOST_KERNELS, (unsigned long long)(most_bytes >> 20));
    if (text.data) nk_core_note(text.data);
    nk_buf_free(&text);
}

void nk_core_hollow_forget(void)
{
    spent_time = spent_bytes = 0;
    looked_at = left_out = 0;
}
