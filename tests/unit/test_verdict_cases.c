// test_verdict_cases.c - what people met: published reports, and pairs that a widely used checker gets wrong.
#define _GNU_SOURCE
#include "verdict.h"

#define T(test)    cmocka_unit_test(test)
#define TEST(test) static void test(void **state)
#define CLAIM(test, ...)                                                                                               \
    TEST(test)                                                                                                         \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        __VA_ARGS__;                                                                                                   \
    }

// The architecture lists of PyTorch's own wheels.
#define TORCH_CU121 "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90"
#define TORCH_CU128 "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120 compute_120@8.7"

static struct nk_verdict with_driver(const char *words, int sm, int driver)
{
    return judge_on(words, NULL, (struct nk_target){.sm = sm, .driver = driver});
}

// ---- a checker that compares architecture lists as numbers fails on these
CLAIM(a_list_with_86_covers_89, NATIVE(judge("sm_75 sm_80 sm_86 sm_90 sm_100 sm_120", 89), SAME_MAJOR))
CLAIM(a_list_with_80_covers_86, NATIVE(judge("sm_80", 86), SAME_MAJOR))
CLAIM(a_list_with_120_covers_121, NATIVE(judge("sm_120", 121), SAME_MAJOR))
CLAIM(a_list_with_120f_covers_121, NATIVE(judge("sm_120f", 121), IN_FAMILY))
CLAIM(a_list_with_100f_covers_103, NATIVE(judge("sm_100f", 103), IN_FAMILY))
CLAIM(ptx_for_100a_does_not_cover_120, NONE(judge("compute_100a", 120), ARCH_SPECIFIC))
CLAIM(a_list_with_80_and_86_does_not_cover_orin, NONE(judge("sm_80 sm_86", 87), TEGRA))
CLAIM(ptx_for_80_covers_orin, JIT(judge("sm_80 sm_86 compute_80", 87)))

// ---- rules that projects wrote down after they were bitten
TEST(desktop_code_does_not_run_on_the_tegra_of_its_generation)
{
    (void)state;
    NONE(judge("sm_50 sm_52", 53), TEGRA);
    NONE(judge("sm_60 sm_61", 62), TEGRA);
    NONE(judge("sm_70", 72), TEGRA);
    NONE(judge("sm_80 sm_86", 87), TEGRA);
    NONE(judge("sm_100", 101), TEGRA);
}

CLAIM(code_for_101_runs_on_thor_under_its_new_name, NATIVE(judge("sm_101", 110), RENAMED))
CLAIM(a_100a_kernel_does_not_run_on_an_rtx_50, NONE(judge("sm_100a", 120), ARCH_SPECIFIC))
CLAIM(a_101a_kernel_does_not_run_on_an_rtx_50, NONE(judge("sm_101a", 120), ARCH_SPECIFIC))
CLAIM(ptx_newer_than_the_driver_is_refused_though_the_runtime_starts,
      NONE(with_driver("compute_80@7.8", 80, 11070), PTX_TOO_NEW_ISA))
CLAIM(a_zstd_library_is_unreadable_before_driver_550_though_the_sm_is_inside,
      NONE(with_driver("sm_80/zstd sm_90/zstd", 80, 12020), CODEC_NEWER_THAN_DRIVER))
CLAIM(a_device_link_for_the_default_75_alone_does_not_run_on_90, NONE(judge("sm_75", 90), NO_IMAGE))

// ---- pytorch/pytorch#167244, #180101: a build for CUDA 12.4 or older on an RTX 50
CLAIM(torch_for_cuda_12_1_has_no_image_for_an_rtx_5090, NONE(judge(TORCH_CU121, 120), NO_IMAGE))
CLAIM(a_newer_driver_does_not_help_torch_for_cuda_12_1, NONE(with_driver(TORCH_CU121, 120, 13000), NO_IMAGE))
// ---- turboderp-org/exllamav2#786: PTX for 12.0 is no help for a GTX 1080 Ti
CLAIM(ptx_for_120_does_not_count_on_a_gtx_1080, NONE(judge(TORCH_CU128, 61), PTX_HIGHER_THAN_GPU))
CLAIM(torch_for_cuda_12_6_still_runs_on_a_gtx_1080, NATIVE(judge(TORCH_CU121, 61), SAME_MAJOR))
// ---- Kaggle/kaggle-cli#1151
CLAIM(torch_for_cuda_12_8_does_not_run_on_a_p100, NONE(judge(TORCH_CU128, 60), PTX_HIGHER_THAN_GPU))
// ---- unslothai/unsloth#5876: two GPUs, one of them too old
CLAIM(of_a_v100_and_a_b200_the_v100_has_no_image, NONE(judge(TORCH_CU128, 70), PTX_HIGHER_THAN_GPU))
CLAIM(of_a_v100_and_a_b200_the_b200_has_one, NATIVE(judge(TORCH_CU128, 100), EXACT))
// ---- ollama/ollama#12341
CLAIM(a_library_for_86_alone_does_not_run_on_a_p2000, NONE(judge("sm_86", 61), NO_IMAGE))
// ---- NVIDIA/apex#1051
CLAIM(code_for_75_never_runs_on_86, NONE(judge("sm_75", 86), NO_IMAGE))
// ---- open-mmlab/mmdetection#2108: do not blame an image that serves
CLAIM(code_for_70_with_ptx_serves_a_t4, NATIVE(judge("sm_60 sm_61 sm_70 compute_70", 75), SAME_MAJOR))
// ---- Dao-AILab/flash-attention#1146
CLAIM(code_for_80_does_not_run_on_orin, NONE(judge("sm_80", 87), TEGRA))
CLAIM(code_for_87_runs_on_orin, NATIVE(judge("sm_87", 87), EXACT))
// ---- facebookresearch/xformers#1251: one kernel is for 90a only, others have 120
CLAIM(a_kernel_for_90a_only_does_not_run_on_an_rtx_5090, NONE(judge("sm_90a", 120), ARCH_SPECIFIC))
CLAIM(another_kernel_of_that_library_runs_there, NATIVE(judge("sm_90a sm_120", 120), EXACT))
// ---- FlashML-org/FreeToken#73
CLAIM(a_cache_from_80_on_with_ptx_for_120_does_not_run_on_an_rtx_2060,
      NONE(judge("sm_80 sm_86 sm_89 sm_90 sm_120 compute_120@9.0", 75), PTX_HIGHER_THAN_GPU))
// ---- leejet/stable-diffusion.cpp#1061, btxchain/btx#186
CLAIM(an_archive_with_100a_120_120a_does_not_run_on_an_rtx_3090, NONE(judge("sm_100a sm_120 sm_120a", 86), NO_IMAGE))
// ---- dusty-nv/jetson-containers#7: code for the machine that built the image
CLAIM(code_for_xavier_does_not_run_on_a_nano, NONE(judge("sm_72", 53), NO_IMAGE))
CLAIM(code_for_xavier_does_not_run_on_a_tx2, NONE(judge("sm_72", 62), NO_IMAGE))
// ---- charmplusplus/charm#3954: the default of CUDA 13 on an A100
CLAIM(the_default_of_cuda_13_is_compiled_on_an_a100, JIT(with_driver("sm_75 compute_75@9.0", 80, 13000)))
CLAIM(the_default_of_cuda_13_is_refused_by_an_older_driver,
      NONE(with_driver("sm_75 compute_75@9.0", 80, 12080), PTX_TOO_NEW_ISA))
// ---- ggml-org/llama.cpp#6529: it runs, slowly and without what newer GPUs can
CLAIM(the_default_of_cuda_12_is_compiled_on_an_rtx_3090, JIT(judge("sm_52 compute_52", 86)))
// ---- Avarok-Cybersecurity/dgx-vllm#9
CLAIM(code_for_120a_does_not_run_on_a_gb10, NONE(judge("sm_120a", 121), ARCH_SPECIFIC))
CLAIM(code_for_121a_runs_on_a_gb10, NATIVE(judge("sm_121a", 121), EXACT))
CLAIM(code_for_120f_runs_on_a_gb10, NATIVE(judge("sm_120f", 121), IN_FAMILY))
// ---- ggml-org/llama.cpp#1648: nvcc 11.8 with driver 515
CLAIM(ptx_7_8_is_refused_by_driver_515, NONE(with_driver("compute_80@7.8", 86, 11070), PTX_TOO_NEW_ISA))
CLAIM(ptx_7_8_is_compiled_by_driver_520, JIT(with_driver("compute_80@7.8", 86, 11080)))
// ---- numba/numba#8961: ptxas of driver 525 says "Unsupported .version 8.1; current version is '8.0'"
CLAIM(ptx_8_1_is_refused_by_driver_525, NONE(with_driver("compute_86@8.1", 86, 12000), PTX_TOO_NEW_ISA))
// ---- NVIDIA/numba-cuda#163, googlecolab/colabtools#5667
CLAIM(ptx_8_7_is_refused_by_driver_550, NONE(with_driver("compute_86@8.7", 86, 12040), PTX_TOO_NEW_ISA))
// ---- laugh12321/TensorRT-YOLO#74
CLAIM(code_for_89_does_not_run_on_86, NONE(judge("sm_89", 86), NO_IMAGE))
// ---- tensorflow/tensorflow#99592: the header says 90, the PTX says sm_90a
CLAIM(ptx_that_calls_itself_90a_is_not_compiled_on_an_rtx_50, NONE(judge("compute_90a@8.5/lied", 120), ARCH_SPECIFIC))
// ---- hao-ai-lab/FastVideo#1507: bodies for 90a, empty stubs elsewhere
CLAIM(a_kernel_with_an_empty_stub_for_120a_is_hollow_there,
      assert_verdict(judge_on("sm_90a sm_120a", "ph", (struct nk_target){.sm = 120}), NK_RUNS_HOLLOW, NK_REASON_HOLLOW))
CLAIM(a_kernel_with_an_empty_stub_for_120a_is_whole_on_90,
      NATIVE(judge_on("sm_90a sm_120a", "ph", (struct nk_target){.sm = 90}), EXACT))
// ---- cuDNN 9 for CUDA 13 carries PTX 9.1, its driver may be 580
CLAIM(ptx_9_1_is_refused_by_driver_580, NONE(with_driver("compute_121@9.1", 121, 13000), PTX_TOO_NEW_ISA))

static const struct CMUnitTest tests[] = {
    T(a_list_with_86_covers_89),
    T(a_list_with_80_covers_86),
    T(a_list_with_120_covers_121),
    T(a_list_with_120f_covers_121),
    T(a_list_with_100f_covers_103),
    T(ptx_for_100a_does_not_cover_120),
    T(a_list_with_80_and_86_does_not_cover_orin),
    T(ptx_for_80_covers_orin),
    T(desktop_code_does_not_run_on_the_tegra_of_its_generation),
    T(code_for_101_runs_on_thor_under_its_new_name),
    T(a_100a_kernel_does_not_run_on_an_rtx_50),
    T(a_101a_kernel_does_not_run_on_an_rtx_50),
    T(ptx_newer_than_the_driver_is_refused_though_the_runtime_starts),
    T(a_zstd_library_is_unreadable_before_driver_550_though_the_sm_is_inside),
    T(a_device_link_for_the_default_75_alone_does_not_run_on_90),
    T(torch_for_cuda_12_1_has_no_image_for_an_rtx_5090),
    T(a_newer_driver_does_not_help_torch_for_cuda_12_1),
    T(ptx_for_120_does_not_count_on_a_gtx_1080),
    T(torch_for_cuda_12_6_still_runs_on_a_gtx_1080),
    T(torch_for_cuda_12_8_does_not_run_on_a_p100),
    T(of_a_v100_and_a_b200_the_v100_has_no_image),
    T(of_a_v100_and_a_b200_the_b200_has_one),
    T(a_library_for_86_alone_does_not_run_on_a_p2000),
    T(code_for_75_never_runs_on_86),
    T(code_for_70_with_ptx_serves_a_t4),
    T(code_for_80_does_not_run_on_orin),
    T(code_for_87_runs_on_orin),
    T(a_kernel_for_90a_only_does_not_run_on_an_rtx_5090),
    T(another_kernel_of_that_library_runs_there),
    T(a_cache_from_80_on_with_ptx_for_120_does_not_run_on_an_rtx_2060),
    T(an_archive_with_100a_120_120a_does_not_run_on_an_rtx_3090),
    T(code_for_xavier_does_not_run_on_a_nano),
    T(code_for_xavier_does_not_run_on_a_tx2),
    T(the_default_of_cuda_13_is_compiled_on_an_a100),
    T(the_default_of_cuda_13_is_refused_by_an_older_driver),
    T(the_default_of_cuda_12_is_compiled_on_an_rtx_3090),
    T(code_for_120a_does_not_run_on_a_gb10),
    T(code_for_121a_runs_on_a_gb10),
    T(code_for_120f_runs_on_a_gb10),
    T(ptx_7_8_is_refused_by_driver_515),
    T(ptx_7_8_is_compiled_by_driver_520),
    T(ptx_8_1_is_refused_by_driver_525),
    T(ptx_8_7_is_refused_by_driver_550),
    T(code_for_89_does_not_run_on_86),
    T(ptx_that_calls_itself_90a_is_not_compiled_on_an_rtx_50),
    T(a_kernel_with_an_empty_stub_for_120a_is_hollow_there),
    T(a_kernel_with_an_empty_stub_for_120a_is_whole_on_90),
    T(ptx_9_1_is_refused_by_driver_580),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
