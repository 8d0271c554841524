// test_report_text.c - what the report says, word for word.
#define _GNU_SOURCE
#include "report_says.h"

// The advice is for wheels of the machine that the report is made on: aarch64 has code for sm_120 later.
#ifdef __aarch64__
#define FIRST_TORCH "2.9.1"
#define NEWEST_CUDA "13.4"
#define NEWEST      "cu134"
#else
#define FIRST_TORCH "2.7.0"
#define NEWEST_CUDA "13.2"
#define NEWEST      "cu132"
#endif

static void a_failed_launch_is_told_with_kernel_library_images_and_need(void **state)
{
    (void)state;
    make_torch_on_5090();
    expect(report(), "nokernel: 1 kernel of 1 has no image for this GPU\n"
                     "\n"
                     "  GPU 0   NVIDIA GeForce RTX 5090, sm_120, driver 580.65 (CUDA 13.0)\n"
                     "\n"
                     "  FAILED  fill_kernel\n"
                     "          cuLaunchKernel returned 209 CUDA_ERROR_NO_BINARY_FOR_GPU, 3 times\n"
                     "    in    torch 2.1.2+cu121   torch/lib/libtorch_cuda.so\n"
                     "    has   sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90, no PTX\n"
                     "    needs sm_120 (or PTX for compute_120 or lower)\n"
                     "    at    launch_fill  libtorch_cuda.so\n"
                     "          at_fill  libtorch_cuda.so\n"
                     "    fix   torch " FIRST_TORCH " or newer from the cu128 index (up to 2.11.0 there) has\n"
                     "          code for sm_120 (not safe: other packages may have to move too)\n"
                     "            ~/v/bin/python3 -m pip install --upgrade \"torch>=" FIRST_TORCH "\" \\\n"
                     "              torchvision --index-url https://download.pytorch.org/whl/cu128\n"
                     "    or    torch 2.15.0, built for CUDA " NEWEST_CUDA ", has code for sm_120: the newest\n"
                     "          known for this driver (not safe: other packages may have to move too)\n"
                     "            ~/v/bin/python3 -m pip install --upgrade \"torch==2.15.0+" NEWEST "\" \\\n"
                     "              torchvision --index-url https://download.pytorch.org/whl/" NEWEST "\n"
                     "\n"
                     "  also in this process, for sm_120\n"
                     "    none  torchvision 0.16.2   torchvision/_C.so: sm_80 sm_86, no PTX\n"
                     "    1 other covers it\n");
}

static void a_healthy_run_is_one_line(void **state)
{
    (void)state;
    small_program(0, 80, "80", 5);
    make_end();
    expect(report(), "nokernel: 1 kernel launched, it had an image for this GPU (sm_80)\n");
}

static void a_run_without_a_launch_is_one_line(void **state)
{
    (void)state;
    small_program(0, 80, "80", 0);
    make_end();
    expect(report(), "nokernel: no kernel was launched\n");
}

static void a_healthy_run_that_ends_badly_says_so_in_the_same_line(void **state)
{
    (void)state;
    small_program(3, 80, "80", 5);
    make_end();
    expect(report(), "nokernel: 1 kernel launched, it had an image for this GPU (sm_80); it ended with 3\n");
}

static void a_killed_run_is_not_called_ended(void **state)
{
    (void)state;
    small_program(-1, 80, "80", 5);
    make_end();
    expect(report(),
           "nokernel: 1 kernel launched, it had an image for this GPU (sm_80); it was killed, or still runs: none was "
           "looked at for an empty body\n");
}

static void another_error_is_never_called_a_missing_image(void **state)
{
    (void)state;
    uint32_t kernel = small_program(1, 80, "80", 5);
    make_failure(
        (struct nk_rec_failure){
            .kind = NK_FAILED_LAUNCH, .result = 719, .kernel = kernel, .pinned = NK_PINNED_SYNCHRONISED},
        "cuLaunchKernel", 1);
    make_end();
    expect(report(), "nokernel: 1 kernel or call failed, not for want of an image\n"
                     "\n"
                     "  GPU 0   sm_80, driver of CUDA 12.4\n"
                     "\n"
                     "  FAILED  work\n"
                     "          cuLaunchKernel was followed by 719 CUDA_ERROR_LAUNCH_FAILED, once\n"
                     "    in    /opt/libk.so\n"
                     "          of no package; build-id 00ff\n");
}

static void a_refused_query_is_no_failure(void **state)
{
    (void)state;
    uint32_t kernel = small_program(0, 80, "90", 0);
    make_container(1, NK_ORIGIN_LIBRARY, 1, "80"); // the library has kernels for this GPU, too
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_PROBE, .result = 209, .kernel = kernel},
                 "cuKernelGetFunction", 10);
    make_end();
    expect(report(), "nokernel: no kernel was launched; asked and refused, harmless: 1 query\n");
}

static void a_refused_query_of_a_library_with_nothing_for_the_gpu_is_told(void **state)
{
    (void)state;
    uint32_t kernel = small_program(0, 80, "90", 0);
    for (uint32_t gpu = 0; gpu < 2; gpu++)
        make_failure((struct nk_rec_failure){.kind = NK_FAILED_PROBE, .result = 209, .kernel = kernel},
                     "cuKernelGetFunction", 10);
    make_end();
    char *t = report();
    says(t, "nokernel: no launch failed, but queries were refused: their library has no image for this GPU\n");
    says(t, "  ASKED   work\n");
    says(t, "what was made of the refusal may be wrong\n");
    assert_null(strstr(strstr(t, "  ASKED") + 1, "  ASKED")); // one kernel is told once
    free(t);
}

static void a_refused_query_comes_to_the_front_when_its_error_was_read_later(void **state)
{
    (void)state;
    uint32_t kernel = small_program(0, 80, "90", 0);
    uint32_t id =
        make_failure((struct nk_rec_failure){.kind = NK_FAILED_PROBE, .result = 98, .kernel = kernel, .runtime = 1},
                     "cudaFuncGetAttributes", 1);
    struct nk_rec_surfaced s = {.failure = id, .api = text("cudaGetLastError"), .result = 98, .later = 1};
    ADD(SURFACED, s);
    make_end();
    char *t = report();
    says(t, "nokernel: no launch failed, but the program read the error of a refused query\n");
    says(t, "  ASKED   work\n");
    says(t, "cudaFuncGetAttributes returned 98 cudaErrorInvalidDeviceFunction, once\n");
    says(t, "    read  cudaGetLastError, after other work: what stood there had not failed\n");
    free(t);
}

static void refused_queries_come_to_the_front_when_the_program_ends_badly(void **state)
{
    (void)state;
    uint32_t kernel = small_program(1, 80, "90", 0);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_PROBE, .result = 209, .kernel = kernel},
                 "cuKernelGetFunction", 1);
    make_end();
    char *t = report();
    says(t, "nokernel: no launch was seen to fail, but images were refused and the program ended with status 1\n");
    says(t, "  ASKED   work\n");
    says(t, "    needs sm_80");
    free(t);
}

static void start_up_refusals(int32_t status)
{
    small_program(status, 86, "86", 3);
    for (int i = 0; i < 2; i++) {
        uint32_t box = make_container(1, NK_ORIGIN_PRIVATE, 1, "75");
        struct nk_rec_load load = {.container = box, .api = text("cudart slot 6"), .result = 209, .startup = 1};
        ADD(LOAD, load);
    }
    make_end();
}

static void refusals_at_start_up_are_silent_in_a_healthy_run(void **state)
{
    (void)state;
    start_up_refusals(0);
    expect(report(), "nokernel: 1 kernel launched, it had an image for this GPU (sm_86)\n");
}

static void refusals_at_start_up_are_told_when_the_program_ends_badly(void **state)
{
    (void)state;
    start_up_refusals(1);
    char *t = report();
    says(t, "  refused when the program started");
    says(t, "    2 of 3 fat binaries of /opt/libk.so\n");
    keeps_quiet_about(t, "FAILED");
    free(t);
}

static void unnamed_failures_of_one_library_are_told_together(void **state)
{
    (void)state;
    small_program(1, 120, "80", 0);
    for (int i = 0; i < 3; i++) {
        static const char *const own[] = {"x", "y", "z"};
        uint32_t box = make_container(1, NK_ORIGIN_LIBRARY, 1, "80"), names[2] = {text("common"), text(own[i])};
        struct nk_rec_names record = {box, i < 2 ? 2 : 1, 2, 0};
        nk_writer_add(&maker, NK_REC_NAMES, &record, sizeof record, i < 2 ? names : names + 1, record.n * 4);
        make_failure((struct nk_rec_failure){.kind = NK_FAILED_LOOKUP, .result = 209, .container = box},
                     "cuLibraryGetModule", 2);
    }
    make_end();
    char *t = report();
    says(t, "nokernel: 3 fat binaries in use have no image for this GPU\n");
    says(t, "  FAILED  a kernel of libk.so (the driver was not told which one)\n"
            "          cuLibraryGetModule returned 209 CUDA_ERROR_NO_BINARY_FOR_GPU, 6 times,\n"
            "          for 3 fat binaries\n"
            "  one of  common, which 2 of the 3 hold; the others hold z and 1 more\n"
            "    in    /opt/libk.so\n");
    free(t);
}

static void the_host_function_in_the_stack_names_the_kernel(void **state)
{
    (void)state;
    small_program(1, 120, "80", 0);
    uint32_t box = make_container(1, NK_ORIGIN_LIBRARY, 1, "80"), names[2] = {text("first"), text("second")};
    struct nk_rec_names record = {box, 2, 2, 0};
    nk_writer_add(&maker, NK_REC_NAMES, &record, sizeof record, names, sizeof names);
    uint32_t stack = make_stack(1, "second", 1, "caller");
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LOOKUP, .result = 209, .container = box, .stack = stack},
                 "cuLibraryGetModule", 1);
    make_end();
    char *t = report();
    says(t, "  FAILED  second\n");
    says(t, "    name  known from the host function in the native stack\n");
    free(t);
}

static void a_module_that_was_loaded_from_memory_is_told_by_who_loaded_it(void **state)
{
    (void)state;
    small_program(1, 120, "80", 0);
    struct nk_rec_image image = {.kind = NK_KIND_CUBIN, .arch = 90, .kernels = 1, .flags = NK_IMAGE_BARE};
    struct nk_rec_container c = {
        .id = ++made_containers, .loader = 1, .origin = NK_ORIGIN_MODULE, .count = 1, .n_images = 1};
    nk_writer_add(&maker, NK_REC_CONTAINER, &c, sizeof c, &image, sizeof image);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LOAD, .result = 209, .container = c.id, .library = 1},
                 "cuModuleLoadData", 1);
    make_end();
    char *t = report();
    says(t, "nokernel: 1 module that was loaded has no image for this GPU\n");
    says(t, "  FAILED  a module that libk.so loaded\n"
            "          cuModuleLoadData returned 209 CUDA_ERROR_NO_BINARY_FOR_GPU, once\n"
            "    in    memory, not a file; loaded by /opt/libk.so\n"
            "    has   sm_90, no PTX\n");
    free(t);
}

static void an_error_that_nobody_read_makes_the_results_wrong(void **state)
{
    (void)state;
    uint32_t kernel = small_program(0, 120, "80", 1);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LAUNCH, .result = 209, .kernel = kernel, .runtime = 1},
                 "cudaLaunchKernel", 1);
    make_end();
    char *t = report();
    says(t, "  end     The program never read this error and ended with 0: its results are\n          wrong.\n");
    free(t);
}

static void behind_a_hidden_runtime_it_only_asks_to_check_the_results(void **state)
{
    (void)state;
    uint32_t kernel = small_program(0, 120, "80", 1);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LAUNCH, .result = 209, .kernel = kernel}, "cuLaunchKernel",
                 1);
    make_end();
    char *t = report();
    says(t, "  end     The program went on and ended with 0: check its results.\n");
    free(t);
}

static void an_error_that_was_read_and_ignored_is_no_comfort(void **state)
{
    (void)state;
    uint32_t kernel = small_program(0, 120, "80", 1);
    uint32_t id =
        make_failure((struct nk_rec_failure){.kind = NK_FAILED_LAUNCH, .result = 209, .kernel = kernel, .runtime = 1},
                     "cudaLaunchKernel", 1);
    struct nk_rec_surfaced s = {.failure = id, .api = text("cudaGetLastError"), .result = 209};
    ADD(SURFACED, s);
    make_end();
    char *t = report();
    says(t, "  end     The program read the error and ended with 0 all the same: unless it\n"
            "          has another way, its results are wrong.\n");
    keeps_quiet_about(t, "    read ");
    free(t);
}

static void further_kernels_whose_short_names_are_alike_are_counted(void **state)
{
    (void)state;
    small_program(1, 120, "80", 0);
    for (int i = 0; i < 9; i++) {
        uint32_t kernel = make_kernel(i < 5 ? "first" : "alike", make_container(1, NK_ORIGIN_LIBRARY, 1, "80"), 1);
        make_failure((struct nk_rec_failure){.kind = NK_FAILED_LAUNCH, .result = 209, .kernel = kernel},
                     "cuLaunchKernel", 1);
    }
    make_end();
    char *t = report();
    says(t, "  also    alike  (4 kernels)\n");
    free(t);
}

static void a_driver_that_refuses_what_the_rules_allow_is_told(void **state)
{
    (void)state;
    uint32_t kernel = small_program(1, 86, "80", 0);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LAUNCH, .result = 209, .kernel = kernel}, "cuLaunchKernel",
                 1);
    make_end();
    char *t = report();
    says(t, "    but   by the rules that nokernel knows it runs on sm_86");
    free(t);
}

static void a_driver_that_runs_what_the_rules_forbid_is_told(void **state)
{
    (void)state;
    small_program(0, 120, "80", 4);
    make_end();
    char *t = report();
    says(t, "nokernel: no launch failed, but something is doubtful\n");
    says(t, "  DOUBT   work\n          launched 4 times on sm_120 without an error");
    free(t);
}

static void a_kernel_that_is_absent_from_the_fitting_image_has_the_others_listed(void **state)
{
    (void)state;
    uint32_t kernel = small_program(1, 80, "80 90", 0);
    make_holds(kernel, "AP");
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LOOKUP, .result = 500, .kernel = kernel},
                 "cuLibraryGetKernel", 1);
    make_end();
    char *t = report();
    says(t, "nokernel: 1 kernel of 1 has no usable image for this GPU\n");
    says(t, "    has   sm_90, no PTX\n    needs sm_80 (or PTX for compute_80 or lower)\n");
    says(t, "    why   there is an image for this GPU, but this kernel was not compiled into\n          it\n");
    free(t);
}

static void a_name_that_is_nowhere_is_no_missing_image(void **state)
{
    (void)state;
    uint32_t kernel = small_program(0, 80, "80", 0);
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LOOKUP, .result = 500, .kernel = kernel},
                 "cuModuleGetFunction", 1);
    make_end();
    expect(report(), "nokernel: no kernel was launched\n");
}

static void of_several_gpus_the_one_that_lacks_the_image_is_named(void **state)
{
    (void)state;
    uint32_t kernel = small_program(1, 80, "80", 2);
    make_gpu(1, 37, "Tesla K80");
    make_failure((struct nk_rec_failure){.kind = NK_FAILED_LAUNCH, .result = 209, .kernel = kernel, .gpu = 1},
                 "cuLaunchKernel", 1);
    make_end();
    char *t = report();
    says(t, "nokernel: 1 kernel of 1 has no image for GPU 1\n");
    says(t, "  GPU 1   Tesla K80, sm_37");
    says(t, "    on    GPU 1, sm_37\n");
    free(t);
}

static void more_failures_than_a_screen_holds_become_a_list(void **state)
{
    (void)state;
    small_program(1, 120, "80", 0);
    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof name, "kernel%02d", i);
        uint32_t kernel = make_kernel(name, 1, 1);
        make_failure((struct nk_rec_failure){.kind = NK_FAILED_LAUNCH, .result = 209, .kernel = kernel},
                     "cuLaunchKernel", 1);
    }
    make_end();
    char *t = report();
    says(t, "nokernel: 40 kernels of 40 have no image for this GPU\n");
    says(t, "  also    kernel05\n          kernel06\n");
    says(t, "          and 25 more: nokernel report --json lists them all\n");
    free(t);
}

static void another_gpu_can_be_asked_about(void **state)
{
    (void)state;
    small_program(0, 80, "80 90", 5);
    make_end();
    expect(report_with(&(struct nk_text_options){.gpu = 120, .driver = 13000}),
           "nokernel: 1 kernel of 1 would have no usable image on sm_120\n"
           "\n"
           "  GPU     sm_120, driver of CUDA 13.0, asked for: nothing was run on it\n"
           "\n"
           "  MISSING work\n"
           "    in    /opt/libk.so\n"
           "    has   sm_80 sm_90, no PTX\n"
           "    needs sm_120 (or PTX for compute_120 or lower)\n"
           "\n"
           "    fix   for libk.so: compile it for sm_120 with the toolkit of CUDA 12.8 or\n"
           "          newer, in CMake: CMAKE_CUDA_ARCHITECTURES=120 (safe: nothing else is\n"
           "          replaced)\n"
           "            nvcc -gencode arch=compute_120,code=sm_120 ...\n");
}

static void another_gpu_that_lacks_nothing_is_one_line(void **state)
{
    (void)state;
    small_program(0, 80, "80 90p", 5);
    make_end();
    expect(report_with(&(struct nk_text_options){.gpu = 120}),
           "nokernel: 1 kernel would have an image on sm_120; 1 compiled from PTX\n");
}

int main(void)
{
#define T(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        T(a_failed_launch_is_told_with_kernel_library_images_and_need),
        T(a_healthy_run_is_one_line),
        T(a_run_without_a_launch_is_one_line),
        T(a_healthy_run_that_ends_badly_says_so_in_the_same_line),
        T(a_killed_run_is_not_called_ended),
        T(another_error_is_never_called_a_missing_image),
        T(a_refused_query_is_no_failure),
        T(a_refused_query_of_a_library_with_nothing_for_the_gpu_is_told),
        T(a_refused_query_comes_to_the_front_when_its_error_was_read_later),
        T(refused_queries_come_to_the_front_when_the_program_ends_badly),
        T(refusals_at_start_up_are_silent_in_a_healthy_run),
        T(refusals_at_start_up_are_told_when_the_program_ends_badly),
        T(unnamed_failures_of_one_library_are_told_together),
        T(the_host_function_in_the_stack_names_the_kernel),
        T(a_module_that_was_loaded_from_memory_is_told_by_who_loaded_it),
        T(an_error_that_nobody_read_makes_the_results_wrong),
        T(behind_a_hidden_runtime_it_only_asks_to_check_the_results),
        T(an_error_that_was_read_and_ignored_is_no_comfort),
        T(further_kernels_whose_short_names_are_alike_are_counted),
        T(a_driver_that_refuses_what_the_rules_allow_is_told),
        T(a_driver_that_runs_what_the_rules_forbid_is_told),
        T(a_kernel_that_is_absent_from_the_fitting_image_has_the_others_listed),
        T(a_name_that_is_nowhere_is_no_missing_image),
        T(of_several_gpus_the_one_that_lacks_the_image_is_named),
        T(more_failures_than_a_screen_holds_become_a_list),
        T(another_gpu_can_be_asked_about),
        T(another_gpu_that_lacks_nothing_is_one_line),
    };
    setenv("HOME", "/nobody", 1);
    setenv("NOKERNEL_LANG", "en", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
