// test_report_kinds.c - kinds of kernels by their names, and what was tried of them.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "advice/knowledge.h"
#include "recording_maker.h"
#include "report/everywhere.h"
#include "report/exercised.h"
#include "report/sums.h"

static const char *kind(const char *name, const char *library) { return nk_kind_word(nk_kind_of(name, library)); }

#define IS(name, library, expected) assert_string_equal(kind(name, library), expected)

// Names as they stand in the libraries named beside them.
static void real_names_are_told_apart(void **state)
{
    (void)state;
    const char *torch = "/v/site-packages/torch/lib/libtorch_cuda.so";
    IS("_ZN13pytorch_flash16flash_fwd_kernelI23Flash_fwd_kernel_traits", torch, "attention");
    IS("fmha_cutlassF_f16_aligned_64x64_rf_sm80", torch, "attention");
    IS("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEE", torch, "copy and fill");
    IS("_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_18GeluCUDAKernelImpl", torch, "elementwise");
    IS("_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOps", torch, "reduction");
    IS("_ZN2at6native12_GLOBAL__N_126vectorized_layer_norm_kernelIffEEvifPKT", torch, "normalisation");
    IS("_ZN2at6native12_GLOBAL__N_121indexSelectSmallIndexIfljLi2E", torch, "embedding and index");
    IS("_ZN2at6native12_GLOBAL__N_143distribution_elementwise_grid_stride_kernelIfLi4E", torch, "random numbers");
    IS("_ZN14at_cuda_detail3cub28DeviceRadixSortOnesweepKernelI", torch, "sort and scan");
    IS("ncclDevKernel_AllReduce_Sum_f32_RING_LL(", "libnccl.so.2", "communication");
    IS("sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc", "libcudnn_engines_precompiled.so.9",
       "convolution");
    IS("ampere_sgemm_128x64_nn", "libcublasLt.so.12", "matrix product");
    IS("nvjet_hsh_128x128_64x4_2x1_v_bz_NNT", "", "matrix product");
    IS("_Z11kQuantizeBlockwiseIfLi4096ELi4ELi0ELi0EEvPfPT_S0_PhS0_ii", "libbitsandbytes_cuda128.so", "quantisation");
    IS("_Z10regular_fftILj256EL9padding_t1E", "libcufft.so.12", "Fourier transform");
    IS("_Z3k_aPf", "/usr/bin/launches", "other");
    IS("", torch, "other");
    IS("", "libcublas.so.12", "other"); // no name says nothing
}

static void numbers_of_kinds_are_within_bounds_and_words_are_unlike(void **state)
{
    (void)state;
    assert_true(nk_known_kernel_kinds.rows < NK_KINDS);
    assert_string_equal(nk_kind_word(NK_KIND_OTHER), "other");
    for (unsigned i = 0; i < NK_KINDS; i++)
        for (unsigned k = 0; k < i; k++)
            if (nk_kind_word(i) && nk_kind_word(k)) assert_string_not_equal(nk_kind_word(i), nk_kind_word(k));
}

// A word that an earlier one of the same row or an earlier row without a library contains can never count.
static void no_word_of_the_table_is_in_vain(void **state)
{
    (void)state;
    const struct nk_knowledge *t = &nk_known_kernel_kinds;
    for (int row = 1; row < t->rows; row++) {
        assert_true(*nk_known(t, row, NK_WORK_WORDS) || *nk_known(t, row, NK_WORK_LIBRARY));
        char *words = strdup(nk_known(t, row, NK_WORK_WORDS)), *rest = words, *word;
        while (*words && (word = strsep(&rest, ";"))) {
            if (!*word) fail_msg("row %d has an empty word", row);
            unsigned found = nk_kind_of(word, nk_known(t, row, NK_WORK_LIBRARY));
            const char *expected = nk_known(t, row, NK_WORK_KIND);
            if (strcmp(nk_kind_word(found), expected))
                fail_msg("row %d: \"%s\" is %s, not %s", row, word, nk_kind_word(found), expected);
        }
        free(words);
    }
}

static unsigned number(const char *word)
{
    for (unsigned i = 0; i < NK_KINDS; i++)
        if (nk_kind_word(i) && !strcmp(nk_kind_word(i), word)) return i;
    fail_msg("there is no kind %s", word);
    return 0;
}

static void kernels_are_counted_once_by_how_they_ran(void **state)
{
    (void)state;
    struct nk_run run;
    struct nk_sums sums;
    struct nk_exercised e = {0};
    make_begin();
    make_gpu(0, 90, "");
    uint32_t lib = make_library("/v/site-packages/torch/lib/libtorch_cuda.so", "torch", "2.1");
    uint32_t native = make_container(lib, NK_ORIGIN_LIBRARY, 1, "90"),
             jit = make_container(lib, NK_ORIGIN_LIBRARY, 1, "80p");
    make_kernel("softmax_warp_forward", native, 5);
    make_kernel("softmax_warp_forward", make_container(lib, NK_ORIGIN_LIBRARY, 1, "90"), 2); // the same in another one
    make_kernel("radixSort", jit, 1);
    make_kernel("topk", native, 0);
    make_kernel("whatever", native, 1);
    uint32_t gone = make_kernel("conv2d", make_container(lib, NK_ORIGIN_LIBRARY, 1, "80"), 0);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LAUNCH, .result = 209, .kernel = gone}, "cuLaunchKernel", 3);
    make_exit(0);
    make_end();
    assert_int_equal(nk_run_open(&run, made, NULL), 0);
    nk_sums(&run, &sums);
    nk_exercised_add(&e, &run);
    assert_int_equal(e.library_count, 2);
    nk_exercised_hold(&e, 1, "softmax_warp_forward");
    nk_exercised_hold(&e, 1, "ncclKernel");
    nk_exercised_hold(&e, 1, "ncclKernel");
    nk_exercised_sum(&e);
    const struct nk_exercised_count *softmax = &e.of[number("softmax and loss")],
                                    *sort = &e.of[number("sort and scan")];
    assert_int_equal(softmax->native, 1);
    assert_int_equal(softmax->launches, 7);
    assert_int_equal(softmax->held, 1);
    assert_int_equal(sort->jit, 1);
    assert_int_equal(sort->idle, 1);
    assert_int_equal(e.of[number("convolution")].failed, 1);
    assert_int_equal(e.of[number("communication")].held, 1);
    assert_int_equal(e.of[NK_KIND_OTHER].native, 1);
    assert_int_equal(e.classified, 3); // of four that were launched
    assert_int_equal(e.total.native + e.total.jit + e.total.failed, 4);
    nk_exercised_free(&e);
    nk_run_free(&run);
    unlink(made);
}

static void code_in_memory_says_nothing_about_another_gpu(void **state)
{
    (void)state;
    struct nk_run run;
    struct nk_sums sums;
    struct nk_everywhere e;
    make_begin();
    make_gpu(0, 90, "");
    make_driver("580", 13000);
    make_kernel("file", make_container(make_library("/a.so", NULL, NULL), NK_ORIGIN_LIBRARY, 1, "80 90"), 1);
    make_kernel("memory", make_container(0, NK_ORIGIN_MODULE, 1, "90"), 1);
    make_end();
    assert_int_equal(nk_run_open(&run, made, NULL), 0);
    nk_sums(&run, &sums);
    nk_everywhere_init(&e, 0);
    nk_everywhere_add(&e, &run);
    for (size_t i = 0; i < e.count; i++) {
        const char *word = nk_everywhere_word(&e.gpu[i]);
        if (e.gpu[i].sm == 90) assert_string_equal(word, "native");
        if (e.gpu[i].sm == 86) assert_string_equal(word, "likely");
        if (e.gpu[i].sm == 120) assert_string_equal(word, "missing");
        if (e.gpu[i].sm == 120) assert_string_equal(e.gpu[i].names.data, "file\n");
    }
    nk_everywhere_free(&e);
    nk_run_free(&run);
    unlink(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_names_are_told_apart),
        cmocka_unit_test(numbers_of_kinds_are_within_bounds_and_words_are_unlike),
        cmocka_unit_test(no_word_of_the_table_is_in_vain),
        cmocka_unit_test(kernels_are_counted_once_by_how_they_ran),
        cmocka_unit_test(code_in_memory_says_nothing_about_another_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
