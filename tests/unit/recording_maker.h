// recording_maker.h - makes recordings for the tests of the report, in a few words each. No test uses all of it.
#ifndef NK_TEST_RECORDING_MAKER_H
#define NK_TEST_RECORDING_MAKER_H

#include "image/image.h"
#include "recording/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char made[256]; // path of the recording that is made
static struct nk_writer maker;
static uint32_t made_libraries, made_containers, made_kernels, made_failures, made_stacks;

static uint32_t text(const char *words) { return nk_writer_text(&maker, words); }

#define ADD(type, record) nk_writer_add(&maker, NK_REC_##type, &(record), sizeof(record), NULL, 0)

static char made_folder[] = "/tmp/nk-report-XXXXXX";
static void remove_folder(void) { rmdir(made_folder); }

static void make_begin(void)
{
    static unsigned number;
    if (!made[0] && (!mkdtemp(made_folder) || atexit(remove_folder))) abort();
    snprintf(made, sizeof made, "%s/%u.nkr", made_folder, ++number);
    made_libraries = made_containers = made_kernels = made_failures = made_stacks = 0;
    if (nk_writer_open(&maker, made, NULL)) abort();
}

__attribute__((unused)) static void make_process(uint64_t pid, const char *program, const char *argument)
{
    uint32_t words[2] = {text(program), text(argument)};
    struct nk_rec_process p = {.pid = pid, .exe = words[0], .sync = text("launch"), .tool = text("0.1.0"), .argc = 2};
    nk_writer_add(&maker, NK_REC_PROCESS, &p, sizeof p, words, sizeof words);
}

static void make_gpu(uint32_t ordinal, uint32_t sm, const char *name)
{
    struct nk_rec_gpu gpu = {.ordinal = ordinal, .sm = sm, .name = text(name)};
    ADD(GPU, gpu);
}

static void make_driver(const char *version, uint32_t cuda)
{
    struct nk_rec_driver driver = {.version = text(version), .cuda = cuda};
    ADD(DRIVER, driver);
}

static uint32_t make_library(const char *path, const char *package, const char *version)
{
    struct nk_rec_library library = {.id = ++made_libraries, .path = text(path), .build_id = text("00ff")};
    ADD(LIBRARY, library);
    struct nk_rec_package owner = {library.id, text(package), text(version), text("pip"), 0, 0};
    if (package) ADD(PACKAGE, owner);
    return library.id;
}

// `images`: "80 90a 90p" = sm_80, sm_90a and PTX for compute_90.
static uint32_t make_container(uint32_t library, enum nk_origin origin, uint32_t alike, const char *images)
{
    struct nk_rec_image list[32] = {0};
    uint32_t count = 0;
    for (const char *at = images; *at && count < 32; count++) {
        char *end;
        struct nk_rec_image *image = &list[count];
        *image = (struct nk_rec_image){.kind = NK_KIND_CUBIN, .kernels = NK_NONE, .size = 1000, .isa_major = 1};
        image->arch = (uint16_t)strtoul(at, &end, 10);
        if (*end == 'a' || *end == 'f') image->suffix = (uint8_t)*end++;
        if (*end == 'p') {
            image->kind = NK_KIND_PTX;
            image->isa_major = 8;
            end++;
        }
        at = end + strspn(end, " ");
    }
    struct nk_rec_container c = {.id = ++made_containers,
                                 .library = library,
                                 .loader = library,
                                 .origin = origin,
                                 .count = alike,
                                 .n_images = count};
    nk_writer_add(&maker, NK_REC_CONTAINER, &c, sizeof c, list, count * sizeof *list);
    return c.id;
}

static uint32_t make_kernel(const char *name, uint32_t container, uint64_t launches)
{
    struct nk_rec_kernel kernel = {.id = ++made_kernels, .name = text(name), .container = container};
    *nk_writer_counter(&maker, &kernel.counter) = launches;
    ADD(KERNEL, kernel);
    return kernel.id;
}

__attribute__((unused)) static void make_holds(uint32_t kernel, const char *each) // "PAHU"
{
    unsigned char bytes[32];
    struct nk_rec_holds holds = {kernel, (uint32_t)strlen(each)};
    for (uint32_t i = 0; i < holds.n; i++) bytes[i] = (unsigned char)(strchr("APHU", each[i]) - "APHU");
    nk_writer_add(&maker, NK_REC_HOLDS, &holds, sizeof holds, bytes, holds.n);
}

__attribute__((unused)) static uint32_t make_stack(uint32_t library, const char *symbol, uint32_t below,
                                                   const char *other)
{
    struct nk_rec_frame frames[2] = {{.library = library, .symbol = text(symbol), .offset = 0x10},
                                     {.library = below, .symbol = text(other), .offset = 0x20}};
    struct nk_rec_stack stack = {++made_stacks, 2};
    nk_writer_add(&maker, NK_REC_STACK, &stack, sizeof stack, frames, sizeof frames);
    return stack.id;
}

// Fill what matters in `f` (kind, result, kernel, container, gpu, ...); id and counter are added.
static uint32_t make_failure(struct nk_rec_failure f, const char *api, uint64_t count)
{
    f.id = ++made_failures;
    f.api = text(api);
    *nk_writer_counter(&maker, &f.counter) = count;
    if (!f.pinned) f.pinned = NK_PINNED_RETURNED;
    ADD(FAILURE, f);
    return f.id;
}

static void make_exit(int32_t status)
{
    struct nk_rec_exit record = {.how = NK_EXIT_EXIT, .status = status};
    ADD(EXIT, record);
}

static void make_end(void) { nk_writer_close(&maker); }

// ---- whole recordings that several tests start from

// A PyTorch of 2024 on a GPU of 2025: one kernel launched in vain, three times.
__attribute__((unused)) static void make_torch_on_5090(void)
{
    make_begin();
    make_process(4711, "/usr/bin/python3", "train.py");
    make_driver("580.65", 13000);
    make_gpu(0, 120, "NVIDIA GeForce RTX 5090");
    uint32_t torch =
        make_library("/home/me/v/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so", "torch", "2.1.2+cu121");
    uint32_t box = make_container(torch, NK_ORIGIN_REGISTERED, 1, "50 60 70 75 80 86 90");
    uint32_t fill = make_kernel("fill_kernel", box, 0);
    uint32_t stack = make_stack(torch, "launch_fill", torch, "at_fill");
    make_failure(
        (struct nk_rec_failure){
            .kind = NK_FAILED_LAUNCH, .result = 209, .kernel = fill, .library = torch, .stack = stack},
        "cuLaunchKernel", 3);
    make_container(torch, NK_ORIGIN_SCANNED, 337, "50 60 70 75 80 86 90");
    uint32_t blas = make_library("/home/me/v/lib/python3.11/site-packages/nvidia/cublas/lib/libcublas.so.12",
                                 "nvidia-cublas-cu12", "12.1.3.1");
    make_container(blas, NK_ORIGIN_SCANNED, 4, "50 90 90p");
    uint32_t vision =
        make_library("/home/me/v/lib/python3.11/site-packages/torchvision/_C.so", "torchvision", "0.16.2");
    make_container(vision, NK_ORIGIN_SCANNED, 2, "80 86");
    make_exit(1);
    make_end();
}

#endif
