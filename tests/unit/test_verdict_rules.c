// test_verdict_rules.c - one image on one GPU: the rules as NVIDIA's own tools apply them.
#define _GNU_SOURCE
#include "verdict.h"

#include <stdio.h>

// Every compute capability that nvlink and ptxas 13.0.88 know, and the older ones of the guide.
static const int all[] = {20, 21, 30, 32, 35, 37, 50, 52,  53,  60,  61,  62,  70,  72,
                          75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 107, 110, 120, 121};

// `image` runs as `runs` on exactly the GPUs of `list` ("80 86 89"), of all that are known.
static void runs_exactly_on(const char *image, enum nk_runs runs, const char *list)
{
    char want[512] = " ", number[8];
    strcat(strcat(want, list), " ");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(number, sizeof number, " %d ", all[i]);
        bool expected = strstr(want, number) != NULL;
        if ((judge(image, all[i]).runs == runs) != expected)
            fail_msg("%s %s on sm_%d", image, expected ? "does not run" : "runs", all[i]);
    }
}

#define CUBIN(test, image, list)                                                                                       \
    static void test(void **state)                                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        runs_exactly_on(image, NK_RUNS_NATIVE, list);                                                                  \
    }
#define PTX(test, image, list)                                                                                         \
    static void test(void **state)                                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        runs_exactly_on(image, NK_RUNS_JIT, list);                                                                     \
    }

// What nvlink 13.0.88 accepts (sm_75 on), the programming guide and DEVICE_REQUIREMENT of PyTorch (before).
CUBIN(cubin_20_runs_on_20_and_21, "sm_20", "20 21")
CUBIN(cubin_30_runs_on_30_35_37_but_not_on_tegra_32, "sm_30", "30 35 37")
CUBIN(cubin_32_runs_on_32_alone, "sm_32", "32")
CUBIN(cubin_35_runs_on_35_and_37, "sm_35", "35 37")
CUBIN(cubin_37_runs_on_37_alone, "sm_37", "37")
CUBIN(cubin_50_runs_on_50_and_52_but_not_on_tegra_53, "sm_50", "50 52")
CUBIN(cubin_52_runs_on_52_alone, "sm_52", "52")
CUBIN(cubin_53_runs_on_53_alone, "sm_53", "53")
CUBIN(cubin_60_runs_on_60_and_61_but_not_on_tegra_62, "sm_60", "60 61")
CUBIN(cubin_61_runs_on_61_alone, "sm_61", "61")
CUBIN(cubin_62_runs_on_62_alone, "sm_62", "62")
CUBIN(cubin_70_runs_on_70_and_75_but_not_on_tegra_72, "sm_70", "70 75")
CUBIN(cubin_72_runs_on_72_alone, "sm_72", "72")
CUBIN(cubin_75_runs_on_75_alone, "sm_75", "75")
CUBIN(cubin_80_runs_on_80_86_89_but_not_on_87_and_88, "sm_80", "80 86 89")
CUBIN(cubin_86_runs_on_86_and_89, "sm_86", "86 89")
CUBIN(cubin_87_runs_on_87_alone, "sm_87", "87")
CUBIN(cubin_88_runs_on_88_alone, "sm_88", "88")
CUBIN(cubin_89_runs_on_89_alone, "sm_89", "89")
CUBIN(cubin_90_runs_on_90_alone, "sm_90", "90")
CUBIN(cubin_100_runs_on_100_103_107_but_not_on_tegra_101, "sm_100", "100 103 107")
CUBIN(cubin_101_runs_on_101_and_its_new_name_110, "sm_101", "101 110")
CUBIN(cubin_103_runs_on_103_and_107, "sm_103", "103 107")
CUBIN(cubin_107_runs_on_107_alone, "sm_107", "107")
CUBIN(cubin_110_runs_on_110_and_its_old_name_101, "sm_110", "101 110")
CUBIN(cubin_120_runs_on_120_and_121, "sm_120", "120 121")
CUBIN(cubin_121_runs_on_121_alone, "sm_121", "121")

CUBIN(cubin_90a_runs_on_90_alone, "sm_90a", "90")
CUBIN(cubin_100a_runs_on_100_alone, "sm_100a", "100")
CUBIN(cubin_103a_runs_on_103_alone, "sm_103a", "103")
CUBIN(cubin_107a_runs_on_107_alone, "sm_107a", "107")
CUBIN(cubin_110a_runs_on_thor_under_both_names, "sm_110a", "101 110")
CUBIN(cubin_120a_runs_on_120_alone, "sm_120a", "120")
CUBIN(cubin_121a_runs_on_121_alone, "sm_121a", "121")

// Table of family-specific targets in the CUDA 13.4 programming guide.
CUBIN(cubin_100f_runs_on_100_103_107, "sm_100f", "100 103 107")
CUBIN(cubin_101f_runs_on_thor_under_both_names, "sm_101f", "101 110")
CUBIN(cubin_103f_runs_on_103_and_107, "sm_103f", "103 107")
CUBIN(cubin_107f_runs_on_107_alone, "sm_107f", "107")
CUBIN(cubin_110f_runs_on_thor_under_both_names, "sm_110f", "101 110")
CUBIN(cubin_120f_runs_on_120_and_121, "sm_120f", "120 121")
CUBIN(cubin_121f_runs_on_121_alone, "sm_121f", "121")

// What ptxas 13.0.88 accepts: for plain PTX the number alone counts, Tegra included.
PTX(ptx_20_runs_everywhere, "compute_20",
    "20 21 30 32 35 37 50 52 53 60 61 62 70 72 75 80 86 87 88 89 90 100 101 103 107 110 120 121")
PTX(ptx_52_runs_from_52_on, "compute_52", "52 53 60 61 62 70 72 75 80 86 87 88 89 90 100 101 103 107 110 120 121")
PTX(ptx_70_runs_from_70_on, "compute_70", "70 72 75 80 86 87 88 89 90 100 101 103 107 110 120 121")
PTX(ptx_75_runs_from_75_on, "compute_75", "75 80 86 87 88 89 90 100 101 103 107 110 120 121")
PTX(ptx_80_runs_from_80_on_tegra_included, "compute_80", "80 86 87 88 89 90 100 101 103 107 110 120 121")
PTX(ptx_87_of_a_tegra_runs_from_87_on, "compute_87", "87 88 89 90 100 101 103 107 110 120 121")
PTX(ptx_88_runs_from_88_on, "compute_88", "88 89 90 100 101 103 107 110 120 121")
PTX(ptx_90_runs_from_90_on, "compute_90", "90 100 101 103 107 110 120 121")
PTX(ptx_100_runs_from_100_on, "compute_100", "100 101 103 107 110 120 121")
PTX(ptx_103_runs_from_103_on, "compute_103", "103 107 110 120 121")
PTX(ptx_110_runs_on_thor_and_from_120_on, "compute_110", "101 110 120 121")
PTX(ptx_120_runs_from_120_on, "compute_120", "120 121")
PTX(ptx_121_runs_on_121_alone, "compute_121", "121")
PTX(ptx_90a_runs_on_90_alone, "compute_90a", "90")
PTX(ptx_100a_runs_on_100_alone, "compute_100a", "100")
PTX(ptx_120a_runs_on_120_alone, "compute_120a", "120")
PTX(ptx_100f_runs_on_100_103_107, "compute_100f", "100 103 107")
PTX(ptx_103f_runs_on_103_and_107, "compute_103f", "103 107")
PTX(ptx_110f_runs_on_thor_under_both_names, "compute_110f", "101 110")
PTX(ptx_120f_runs_on_120_and_121, "compute_120f", "120 121")
PTX(ptx_121f_runs_on_121_alone, "compute_121f", "121")

#define CLAIM(test, ...)                                                                                               \
    static void test(void **state)                                                                                     \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        __VA_ARGS__;                                                                                                   \
    }

CLAIM(a_cubin_for_the_gpu_itself_is_exact, NATIVE(judge("sm_90", 90), EXACT))
CLAIM(a_cubin_of_a_lower_minor_is_same_major, NATIVE(judge("sm_80", 86), SAME_MAJOR))
CLAIM(a_family_cubin_of_a_lower_minor_is_in_family, NATIVE(judge("sm_100f", 103), IN_FAMILY))
CLAIM(thor_code_under_the_old_name_is_renamed, NATIVE(judge("sm_101", 110), RENAMED))
CLAIM(a_cubin_of_a_higher_minor_is_no_image, NONE(judge("sm_89", 86), NO_IMAGE))
CLAIM(a_cubin_of_another_generation_is_no_image, NONE(judge("sm_90", 120), NO_IMAGE))
CLAIM(a_desktop_cubin_on_orin_is_refused_as_tegra, NONE(judge("sm_86", 87), TEGRA))
CLAIM(an_orin_cubin_on_a_desktop_gpu_is_refused_as_tegra, NONE(judge("sm_87", 89), TEGRA))
CLAIM(an_a_cubin_on_a_neighbour_is_refused_as_arch_specific, NONE(judge("sm_120a", 121), ARCH_SPECIFIC))
CLAIM(a_family_cubin_elsewhere_is_refused_as_family, NONE(judge("sm_100f", 120), FAMILY))
CLAIM(a_family_cubin_on_a_known_stranger_of_its_generation_is_refused_as_family, NONE(judge("sm_100f", 101), FAMILY))
CLAIM(ptx_for_a_newer_gpu_is_refused_as_higher, NONE(judge("compute_120", 61), PTX_HIGHER_THAN_GPU))
CLAIM(lto_ir_alone_is_not_loadable, NONE(judge("lto_90", 90), LTO_ONLY))

CLAIM(an_unknown_gpu_of_a_known_generation_runs_its_plain_cubins, NATIVE(judge("sm_120", 123), SAME_MAJOR))
CLAIM(an_unknown_gpu_is_not_guessed_into_a_family, UNKNOWN(judge("sm_120f", 123), UNKNOWN_FAMILY))
CLAIM(an_unknown_gpu_is_not_guessed_into_a_family_of_ptx, UNKNOWN(judge("compute_120f", 123), UNKNOWN_FAMILY))
CLAIM(a_gpu_of_an_unknown_generation_is_in_no_known_family, NONE(judge("sm_120f", 130), FAMILY))
CLAIM(an_unknown_family_is_not_guessed, UNKNOWN(judge("sm_90f", 91), UNKNOWN_FAMILY))
CLAIM(an_a_cubin_of_an_unknown_gpu_runs_there, NATIVE(judge("sm_135a", 135), EXACT))
CLAIM(a_gpu_of_an_unknown_generation_compiles_plain_ptx, JIT(judge("compute_90", 150)))
CLAIM(without_a_gpu_nothing_is_said, UNKNOWN(judge("sm_90", 0), UNKNOWN_GPU))
CLAIM(an_image_without_architecture_is_unknown,
      UNKNOWN(nk_judge_image(&(struct nk_image){.kind = NK_KIND_CUBIN, .kernels = 1}, &(struct nk_target){.sm = 90}),
              UNKNOWN_ARCH))
CLAIM(an_unknown_suffix_is_unknown,
      UNKNOWN(nk_judge_image(&(struct nk_image){.kind = NK_KIND_PTX, .arch = 90, .suffix = 'z', .kernels = 1},
                             &(struct nk_target){.sm = 90}),
              UNKNOWN_ARCH))
CLAIM(an_unknown_kind_is_unknown, UNKNOWN(judge("kind_16", 90), UNKNOWN_KIND))
CLAIM(a_concatenated_entry_that_was_not_opened_is_unknown, UNKNOWN(judge("kind_256", 90), UNKNOWN_KIND))

#define T(test) cmocka_unit_test(test)

static const struct CMUnitTest tests[] = {
    T(cubin_20_runs_on_20_and_21),
    T(cubin_30_runs_on_30_35_37_but_not_on_tegra_32),
    T(cubin_32_runs_on_32_alone),
    T(cubin_35_runs_on_35_and_37),
    T(cubin_37_runs_on_37_alone),
    T(cubin_50_runs_on_50_and_52_but_not_on_tegra_53),
    T(cubin_52_runs_on_52_alone),
    T(cubin_53_runs_on_53_alone),
    T(cubin_60_runs_on_60_and_61_but_not_on_tegra_62),
    T(cubin_61_runs_on_61_alone),
    T(cubin_62_runs_on_62_alone),
    T(cubin_70_runs_on_70_and_75_but_not_on_tegra_72),
    T(cubin_72_runs_on_72_alone),
    T(cubin_75_runs_on_75_alone),
    T(cubin_80_runs_on_80_86_89_but_not_on_87_and_88),
    T(cubin_86_runs_on_86_and_89),
    T(cubin_87_runs_on_87_alone),
    T(cubin_88_runs_on_88_alone),
    T(cubin_89_runs_on_89_alone),
    T(cubin_90_runs_on_90_alone),
    T(cubin_100_runs_on_100_103_107_but_not_on_tegra_101),
    T(cubin_101_runs_on_101_and_its_new_name_110),
    T(cubin_103_runs_on_103_and_107),
    T(cubin_107_runs_on_107_alone),
    T(cubin_110_runs_on_110_and_its_old_name_101),
    T(cubin_120_runs_on_120_and_121),
    T(cubin_121_runs_on_121_alone),
    T(cubin_90a_runs_on_90_alone),
    T(cubin_100a_runs_on_100_alone),
    T(cubin_103a_runs_on_103_alone),
    T(cubin_107a_runs_on_107_alone),
    T(cubin_110a_runs_on_thor_under_both_names),
    T(cubin_120a_runs_on_120_alone),
    T(cubin_121a_runs_on_121_alone),
    T(cubin_100f_runs_on_100_103_107),
    T(cubin_101f_runs_on_thor_under_both_names),
    T(cubin_103f_runs_on_103_and_107),
    T(cubin_107f_runs_on_107_alone),
    T(cubin_110f_runs_on_thor_under_both_names),
    T(cubin_120f_runs_on_120_and_121),
    T(cubin_121f_runs_on_121_alone),
    T(ptx_20_runs_everywhere),
    T(ptx_52_runs_from_52_on),
    T(ptx_70_runs_from_70_on),
    T(ptx_75_runs_from_75_on),
    T(ptx_80_runs_from_80_on_tegra_included),
    T(ptx_87_of_a_tegra_runs_from_87_on),
    T(ptx_88_runs_from_88_on),
    T(ptx_90_runs_from_90_on),
    T(ptx_100_runs_from_100_on),
    T(ptx_103_runs_from_103_on),
    T(ptx_110_runs_on_thor_and_from_120_on),
    T(ptx_120_runs_from_120_on),
    T(ptx_121_runs_on_121_alone),
    T(ptx_90a_runs_on_90_alone),
    T(ptx_100a_runs_on_100_alone),
    T(ptx_120a_runs_on_120_alone),
    T(ptx_100f_runs_on_100_103_107),
    T(ptx_103f_runs_on_103_and_107),
    T(ptx_110f_runs_on_thor_under_both_names),
    T(ptx_120f_runs_on_120_and_121),
    T(ptx_121f_runs_on_121_alone),
    T(a_cubin_for_the_gpu_itself_is_exact),
    T(a_cubin_of_a_lower_minor_is_same_major),
    T(a_family_cubin_of_a_lower_minor_is_in_family),
    T(thor_code_under_the_old_name_is_renamed),
    T(a_cubin_of_a_higher_minor_is_no_image),
    T(a_cubin_of_another_generation_is_no_image),
    T(a_desktop_cubin_on_orin_is_refused_as_tegra),
    T(an_orin_cubin_on_a_desktop_gpu_is_refused_as_tegra),
    T(an_a_cubin_on_a_neighbour_is_refused_as_arch_specific),
    T(a_family_cubin_elsewhere_is_refused_as_family),
    T(a_family_cubin_on_a_known_stranger_of_its_generation_is_refused_as_family),
    T(ptx_for_a_newer_gpu_is_refused_as_higher),
    T(lto_ir_alone_is_not_loadable),
    T(an_unknown_gpu_of_a_known_generation_runs_its_plain_cubins),
    T(an_unknown_gpu_is_not_guessed_into_a_family),
    T(an_unknown_gpu_is_not_guessed_into_a_family_of_ptx),
    T(a_gpu_of_an_unknown_generation_is_in_no_known_family),
    T(an_unknown_family_is_not_guessed),
    T(an_a_cubin_of_an_unknown_gpu_runs_there),
    T(a_gpu_of_an_unknown_generation_compiles_plain_ptx),
    T(without_a_gpu_nothing_is_said),
    T(an_image_without_architecture_is_unknown),
    T(an_unknown_suffix_is_unknown),
    T(an_unknown_kind_is_unknown),
    T(a_concatenated_entry_that_was_not_opened_is_unknown),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
