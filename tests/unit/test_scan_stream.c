// test_scan_stream.c - a file that passes by says the same as one that lies in memory.
#include "test_image_maker.h"

#include "scan/crew.h"
#include "scan/read.h"
#include "scan/stream.h"
#include "scan/sum.h"

#include <stdio.h>

static const struct nk_scan_how how = {.kernels = true, .verify = true, .all = true};

struct source {
    struct nk_bytes bytes;
    size_t at, step; // step: most bytes a call gives
    size_t fails_at; // 0: never
};

static int64_t give(void *user, void *into, size_t size, struct nk_err *err)
{
    struct source *source = user;
    size_t left = source->bytes.size - source->at;
    if (source->fails_at && source->at >= source->fails_at) return nk_fail(err, NK_ERR_BAD_INPUT, "the stream is bad");
    if (size > source->step) size = source->step;
    if (size > left) size = left;
    memcpy(into, source->bytes.data + source->at, size);
    source->at += size;
    return (int64_t)size;
}

// Everything about the boxes of a library, by offset.
static void describe(const struct nk_scan_library *library, struct nk_buf *out)
{
    nk_buf_clear(out);
    nk_buf_text(out, "");
    for (uint64_t next = 0, at; next != UINT64_MAX; next = at) {
        at = UINT64_MAX;
        for (size_t i = 0; i < library->box_count; i++) {
            const struct nk_scan_box *box = &library->boxes[i];
            if (box->offset > next && box->offset < at) at = box->offset;
            if (box->offset != next) continue;
            nk_buf_format(out, "%llu %u/%u %s images %zu kernels %zu", (unsigned long long)box->offset, box->kind,
                          box->flags, nk_scan_text(library, box->section), box->images, box->kernels);
            for (size_t k = 0; k < box->kernels; k++)
                nk_buf_format(out, " %s", nk_scan_text(library, library->kernels[box->first_kernel + k].name));
            for (size_t k = 0; k < box->images; k++) {
                const struct nk_image *image = &library->images[box->first_image + k];
                nk_buf_format(out, " sm_%d/%u holds %u", image->arch, image->flags, image->kernels);
            }
            nk_buf_text(out, "\n");
        }
    }
}

static void container(struct nk_buf *buf, const char *kernel, bool relocatable)
{
    struct nk_buf cubin = {0}, ptx = {0};
    size_t at = begin_container(buf);
    for (uint16_t sm = 70; sm <= 90; sm = (uint16_t)(sm + 10)) {
        struct made_cubin made = {.sm = sm, .relocatable = relocatable, .kernels = {{.name = kernel, .size = 4096}}};
        make_cubin(&cubin, &made);
        make_entry(buf, &(struct made_entry){.kind = 2, .arch = sm, .codec = MAKE_LZ4, .payload = view_of(&cubin)});
        nk_buf_clear(&cubin);
    }
    nk_buf_format(&ptx, ".version 7.0\n.target sm_90\n.address_size 64\n.visible .entry %s()\n{\nret;\n}\n", kernel);
    nk_buf_format(&ptx, ".visible .entry %s_of_ptx()\n{\nret;\n}\n", kernel);
    make_entry(buf, &(struct made_entry){.kind = 1, .arch = 90, .codec = MAKE_LZ4, .payload = view_of(&ptx)});
    end_container(buf, at);
    nk_buf_free(&ptx);
    nk_buf_free(&cubin);
}

// Containers in three sections, a bare cubin, and `gap` zeros between them.
static struct nk_buf library_with(size_t gap)
{
    struct nk_buf fatbin = {0}, rdc = {0}, data = {0}, buf = {0};
    container(&fatbin, "first", false);
    container(&fatbin, "second", false);
    container(&rdc, "linked", true);
    nk_buf_fill(&data, 0, gap);
    nk_buf_text(&data, "odd");
    container(&data, "third", false);
    make_cubin(&data, &(struct made_cubin){.sm = 80, .kernels = {{.name = "bare", .size = 64}}});
    nk_buf_fill(&data, 0, 100);
    make_elf(&buf, &(struct made_elf){.type = 3,
                                      .machine = 62,
                                      .sections = {{".nv_fatbin", 1, fatbin.data, fatbin.size, 0, 0, 0, 2},
                                                   {"__nv_relfatbin", 1, rdc.data, rdc.size, 0, 0, 0, 2},
                                                   {".data", 1, data.data, data.size, 0, 0, 0, 3}}});
    nk_buf_free(&fatbin);
    nk_buf_free(&rdc);
    nk_buf_free(&data);
    return buf;
}

static void assert_same(const struct nk_buf *file, size_t step)
{
    struct nk_buf expected = {0}, got = {0};
    struct nk_scan_library *whole = nk_scan_library_new("x"), *passed = nk_scan_library_new("x");
    struct source source = {.bytes = view_of(file), .step = step};
    assert_int_equal(nk_scan_bytes(whole, view_of(file), &how, NULL), 0);
    assert_int_equal(nk_scan_stream(passed, give, &source, &how, NULL, NULL), 0);
    describe(whole, &expected);
    describe(passed, &got);
    assert_string_equal(got.data, expected.data);
    assert_int_equal(passed->size, file->size);
    nk_buf_free(&expected);
    nk_buf_free(&got);
    nk_scan_library_free(whole);
    nk_scan_library_free(passed);
}

static void a_stream_says_the_same_as_the_whole_file(void **state)
{
    (void)state;
    struct nk_buf file = library_with(1000);
    assert_same(&file, SIZE_MAX);
    assert_same(&file, 7);
    nk_buf_free(&file);
}

static void a_stream_larger_than_its_window_says_the_same(void **state)
{
    (void)state;
    struct nk_buf file = library_with(20u << 20);
    assert_same(&file, 1u << 16);
    nk_buf_free(&file);
}

// ---- by a crew

struct crewed {
    const struct nk_buf *file;
    struct nk_scan_library *library;
    int jobs;
};

static void *next_job(void *user)
{
    struct crewed *crewed = user;
    return crewed->jobs-- > 0 ? crewed : NULL;
}

static void read_by_crew(void *user, void *job, const struct nk_worker *worker)
{
    struct crewed *crewed = job;
    struct source source = {.bytes = view_of(crewed->file), .step = 100000};
    struct nk_ahead *ahead = nk_ahead_start(worker, &(struct nk_stream){give, NULL, &source});
    (void)user;
    assert_int_equal(nk_scan_stream(crewed->library, nk_ahead_read, ahead, &how, worker, NULL), 0);
    nk_ahead_stop(ahead);
}

static void take_nothing(void *user, void *job) { (void)user, (void)job; }

static void a_stream_that_a_crew_reads_says_the_same_in_the_same_order(void **state)
{
    (void)state;
    struct nk_buf data = {0}, file = {0};
    for (int i = 0; i < 500; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        container(&data, name, false);
    }
    make_elf(&file, &(struct made_elf){
                        .type = 3, .machine = 62, .sections = {{".nv_fatbin", 1, data.data, data.size, 0, 0, 0, 2}}});
    struct nk_scan_library *alone = nk_scan_library_new("x");
    struct source source = {.bytes = view_of(&file), .step = 100000};
    assert_int_equal(nk_scan_stream(alone, give, &source, &how, NULL, NULL), 0);
    assert_int_equal(alone->kernel_count, 1000);
    for (int threads = 1; threads < 5; threads++) {
        struct crewed crewed = {&file, nk_scan_library_new("x"), 1};
        assert_int_equal(
            nk_crew_run(&(struct nk_crew_jobs){next_job, read_by_crew, take_nothing, &crewed}, threads, NULL), 0);
        assert_int_equal(crewed.library->box_count, alone->box_count);
        assert_int_equal(crewed.library->texts.size, alone->texts.size);
        assert_memory_equal(crewed.library->texts.data, alone->texts.data, alone->texts.size);
        for (size_t i = 0; i < alone->box_count; i++) {
            assert_int_equal(crewed.library->boxes[i].offset, alone->boxes[i].offset);
            assert_int_equal(crewed.library->boxes[i].first_kernel, alone->boxes[i].first_kernel);
        }
        nk_scan_library_free(crewed.library);
    }
    nk_scan_library_free(alone);
    nk_buf_free(&data);
    nk_buf_free(&file);
}

static void a_container_at_every_place_of_a_window_is_found(void **state)
{
    (void)state;
    for (size_t before = (1u << 20) - 70; before < (1u << 20) + 70; before++) {
        struct nk_buf file = {0};
        nk_buf_fill(&file, 0, before);
        container(&file, "k", false);
        assert_same(&file, 4096);
        nk_buf_free(&file);
    }
}

static void a_stream_that_breaks_keeps_what_came_before_and_says_why(void **state)
{
    (void)state;
    struct nk_buf file = library_with(8u << 20);
    struct nk_scan_library *library = nk_scan_library_new("x");
    struct source source = {.bytes = view_of(&file), .step = 65536, .fails_at = 4u << 20};
    struct nk_err err = {0};
    assert_int_equal(nk_scan_stream(library, give, &source, &how, NULL, &err), -1);
    assert_says(&err, "the stream is bad");
    assert_true(library->box_count >= 2);
    nk_scan_library_free(library);
    nk_buf_free(&file);
}

static void pass_by(struct nk_bytes bytes)
{
    struct nk_scan_library *library = nk_scan_library_new("x");
    struct source source = {.bytes = bytes, .step = SIZE_MAX};
    nk_scan_stream(library, give, &source, &how, NULL, NULL);
    assert_false(library->failed);
    nk_scan_library_free(library);
}

static void no_cut_and_no_wrong_bit_is_too_much(void **state)
{
    (void)state;
    struct nk_buf file = {0}, cubin = {0};
    size_t at = begin_container(&file);
    make_cubin(&cubin, &(struct made_cubin){.sm = 80, .kernels = {{.name = "k", .size = 64}}});
    make_entry(&file, &(struct made_entry){.kind = 2, .arch = 80, .payload = view_of(&cubin)});
    end_container(&file, at);
    for_all_cuts(&file, pass_by);
    for_all_flips(&file, pass_by);
    nk_buf_free(&file);
    nk_buf_free(&cubin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_says_the_same_as_the_whole_file),
        cmocka_unit_test(a_stream_larger_than_its_window_says_the_same),
        cmocka_unit_test(a_stream_that_a_crew_reads_says_the_same_in_the_same_order),
        cmocka_unit_test(a_container_at_every_place_of_a_window_is_found),
        cmocka_unit_test(a_stream_that_breaks_keeps_what_came_before_and_says_why),
        cmocka_unit_test(no_cut_and_no_wrong_bit_is_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
