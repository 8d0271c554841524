// test_base_demangle.c - kernel names for people.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/demangle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEST(name) static void name(void **state)
#define T(name)    cmocka_unit_test(name)

#define FILL "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_"
#define FILL_NAME                                                                                                      \
    "at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >"

static void whole_is(const char *mangled, const char *expected)
{
    struct nk_buf out = {0};
    nk_demangle(mangled, &out);
    assert_string_equal(out.data, expected);
    nk_buf_free(&out);
}

static void short_is(const char *mangled, size_t columns, const char *expected)
{
    struct nk_buf out = {0};
    nk_demangle_short(mangled, columns, &out);
    assert_string_equal(out.data, expected);
    nk_buf_free(&out);
}

// At every width the line fits, and is not empty.
static void fits_everywhere(const char *mangled)
{
    for (size_t columns = 16; columns < 300; columns++) {
        struct nk_buf out = {0};
        nk_demangle_short(mangled, columns, &out);
        assert_false(out.failed);
        assert_in_range(out.size, 1, columns);
        nk_buf_free(&out);
    }
}

// "_Z1f" + head x n + middle + tail x n.
static char *repeated(const char *start, const char *head, size_t n, const char *middle, const char *tail)
{
    struct nk_buf out = {0};
    nk_buf_text(&out, start);
    for (size_t i = 0; i < n; i++) nk_buf_text(&out, head);
    nk_buf_text(&out, middle);
    for (size_t i = 0; i < n; i++) nk_buf_text(&out, tail);
    assert_false(out.failed);
    return out.data;
}

TEST(a_mangled_name_is_shown_whole)
{
    (void)state;
    whole_is(FILL, "void " FILL_NAME "(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)");
}

TEST(a_c_name_is_left_as_it_is)
{
    (void)state;
    whole_is("saxpy", "saxpy");
}

// The demangler of libstdc++ reads types too: "f" is float.
TEST(a_name_that_spells_a_type_is_left_as_it_is)
{
    (void)state;
    whole_is("f", "f");
}

TEST(a_broken_mangled_name_is_left_as_it_is)
{
    (void)state;
    whole_is("_ZN2at6nat", "_ZN2at6nat");
}

TEST(an_empty_name_stays_empty)
{
    (void)state;
    whole_is("", "");
}

TEST(the_hash_of_a_static_kernel_is_tidied_away)
{
    (void)state;
    whole_is("_ZN33_GLOBAL__N__93cf26a8_5_k3_cu_gvar6k_anonEPi", "(anonymous namespace)::k_anon(int*)");
}

TEST(the_hash_of_a_static_kernel_of_relocatable_code_is_tidied_away)
{
    (void)state;
    whole_is("__nv_static_30__5f6b1c2d_4_k_cu__Z6k_statPi", "k_stat(int*)");
}

TEST(what_is_added_follows_what_was_there)
{
    (void)state;
    struct nk_buf out = {0};
    nk_buf_text(&out, "in ");
    nk_demangle_short("_Z6k_statPi", 60, &out);
    assert_string_equal(out.data, "in k_stat");
    nk_buf_free(&out);
}

TEST(a_short_name_has_no_result_and_no_parameters)
{
    (void)state;
    short_is(FILL, 200, "at::native::vectorized_elementwise_kernel<4, FillFunctor<float>, array<char*, 1ul>>");
}

TEST(how_data_lies_is_left_out_before_the_functor)
{
    (void)state;
    short_is(FILL, 70, "at::native::vectorized_elementwise_kernel<4, FillFunctor<float>, ...>");
}

TEST(namespaces_are_left_out_before_the_type_of_a_functor)
{
    (void)state;
    short_is(FILL, 60, "vectorized_elementwise_kernel<4, FillFunctor<float>, array>");
}

TEST(marks_are_left_out_before_the_functor)
{
    (void)state;
    short_is(FILL, 48, "vectorized_elementwise_kernel<4, FillFunctor...>");
}

TEST(the_function_is_kept_when_no_argument_fits)
{
    (void)state;
    short_is(FILL, 35, "vectorized_elementwise_kernel<...>");
}

TEST(a_functor_inside_wrappers_is_shown)
{
    (void)state;
    short_is("_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_15gpu_kernel_implINS0_13BUnaryFunctorIfffNS0_15binary_"
             "internal10MulFunctorIfEEEEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_",
             70, "elementwise_kernel<128, 2, BUnaryFunctor<..., MulFunctor<float>>>");
}

TEST(a_wrapper_is_shown_where_there_is_room)
{
    (void)state;
    short_is("_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_15gpu_kernel_implINS0_15CUDAFunctor_addIfEEEEvRNS_"
             "18TensorIteratorBaseERKT_EUliE_EEviT1_",
             100, "at::native::elementwise_kernel<128, 2, gpu_kernel_impl<CUDAFunctor_add<float>>::lambda(int)>");
}

TEST(lambdas_of_a_function_are_told_apart)
{
    (void)state;
    short_is("_ZN2at6native29vectorized_elementwise_kernelILi4EZNS0_51_GLOBAL__N__7b48bba2_12_PowKernel_cu_e5d96c45_"
             "5803729pow_tensor_scalar_kernel_implIffEEvRNS_18TensorIteratorBaseET0_EUlfE0_St5arrayIPcLm2EELb0EEEviS6_"
             "T1_",
             70, "vectorized_elementwise_kernel<4, pow_tensor_scalar_kernel_impl#2, ...>");
}

TEST(of_lambdas_inside_each_other_the_function_and_the_innermost_are_shown)
{
    (void)state;
    short_is(
        "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_15exp_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE_"
        "clEvENKUlvE0_clEvEUlfE_St5arrayIPcLm2EEEEviT0_T1_",
        90, "at::native::vectorized_elementwise_kernel<4, exp_kernel_cuda::lambda(float), array>");
}

TEST(the_operation_of_a_kernel_over_lists_of_tensors_is_shown)
{
    (void)state;
    short_is("_ZN2at6native54_GLOBAL__N__ae7e1889_21_ForeachPointwiseOp_cu_ef478fac25multi_tensor_apply_kernelINS1_"
             "18TensorListMetadataILi3EEENS1_24PointwiseOpScalarFunctorIfLi3ELi3ELi0EEEJSt10multipliesIfEfEEEvT_T0_"
             "DpT1_",
             70, "multi_tensor_apply_kernel<PointwiseOpScalarFunctor, multiplies...>");
}

TEST(a_last_argument_that_is_too_long_is_cut)
{
    (void)state;
    short_is("_ZN7cutlass6KernelI58cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x128_32x3_tEEvv", 60,
             "Kernel<cutlass_80_tensorop_f16_s16816gemm_relu_f16_256x1...>");
}

TEST(a_function_longer_than_the_line_is_cut)
{
    (void)state;
    short_is("a_kernel_whose_name_is_longer_than_the_line", 20, "a_kernel_whose_na...");
}

TEST(the_function_of_a_lambda_is_shown_for_it)
{
    (void)state;
    short_is(
        "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_14func_wrapper_tIfZNS0_11sum_functorIfffEclERNS_"
        "14TensorIteratorEEUlffE_EEjfLi4EEEEEvT1_",
        70, "reduce_kernel<512, 1, ReduceOp<float, func_wrapper_t<sum_functor>>...>");
}

TEST(an_anonymous_namespace_is_not_taken_for_parameters)
{
    (void)state;
    short_is("_ZN2at12_GLOBAL__N_14fillIiEEvPT_", 60, "at::(anonymous namespace)::fill<int>");
}

TEST(an_operator_of_angle_brackets_is_no_list)
{
    (void)state;
    short_is("_ZN1AltIiEEbS_", 60, "A::operator< <int>");
}

TEST(a_comparison_inside_an_argument_is_no_list)
{
    (void)state;
    short_is("_Z1fIXgtLi3ELi2EEEvv", 60, "f<((3)>(2))>");
}

TEST(a_member_of_a_template_keeps_its_class)
{
    (void)state;
    short_is("_ZNK1AIiE3fooILi3EEEvv", 60, "A<int>::foo<3>");
}

TEST(a_name_too_long_for_the_demangler_is_outlined)
{
    (void)state;
    char *name = repeated("_ZN7cutlass13device_kernelIN5flash12FlashAttnFwdINS_1AEEELb1EEEv", "P", 2000, "i", "");
    short_is(name, 80, "cutlass::device_kernel<FlashAttnFwd<A>, 1>");
    free(name);
}

TEST(an_outline_reads_literals_and_types)
{
    (void)state;
    char *name = repeated("_ZN2at4fillILi4ELb1ELin3EfSt6vectorIjEEEv", "P", 2000, "i", "");
    short_is(name, 80, "at::fill<4, 1, -3, float, vector<unsigned int>>");
    free(name);
}

TEST(an_outline_reads_on_behind_what_was_named_before)
{
    (void)state;
    char *name =
        repeated("_ZN7cutlass6KernelINS_4gemm4GemmIJNS_4TileELNS_4KindE2EPfS1_EEES3_Li7EEEv", "P", 2000, "i", "");
    short_is(name, 80, "cutlass::Kernel<Gemm<Tile, 2, float*, ...>, ..., 7>");
    free(name);
}

TEST(an_outline_knows_anonymous_namespaces)
{
    (void)state;
    char *name = repeated("_ZN2at12_GLOBAL__N_14fillEv", "P", 2000, "i", "");
    short_is(name, 80, "at::(anonymous namespace)::fill");
    free(name);
}

TEST(ten_kilobytes_of_pointers_do_no_harm)
{
    (void)state;
    char *name = repeated("_Z1f", "P", 10000, "i", "");
    fits_everywhere(name);
    free(name);
}

TEST(nested_templates_without_end_do_no_harm)
{
    (void)state;
    char *name = repeated("_Z1fI", "N1A1BI", 2000, "i", "EE");
    fits_everywhere(name);
    free(name);
}

TEST(a_name_beyond_every_bound_does_no_harm)
{
    (void)state;
    char *name = repeated("_Z1fI", "N1A1BI", 200000, "", "");
    fits_everywhere(name);
    free(name);
}

TEST(a_length_that_lies_does_no_harm)
{
    (void)state;
    short_is("_Z99999999999999999999999f", 60, "_Z99999999999999999999999f");
}

TEST(brackets_that_do_not_pair_do_no_harm)
{
    (void)state;
    fits_everywhere("))))>>>>]]]]<<<<((((operator<<<<<(((({{{{,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,>");
}

TEST(every_cut_of_a_real_name_does_no_harm)
{
    (void)state;
    char cut[sizeof FILL];
    for (size_t i = 1; i < sizeof cut; i++) {
        memcpy(cut, FILL, i);
        cut[i] = 0;
        struct nk_buf out = {0};
        nk_demangle_short(cut, 40, &out);
        assert_in_range(out.size, 1, 40);
        nk_buf_free(&out);
    }
}

TEST(every_changed_byte_of_a_real_name_does_no_harm)
{
    (void)state;
    char changed[] = FILL;
    for (size_t i = 0; i < sizeof changed - 1; i++)
        for (int byte = 1; byte < 256; byte += 3) {
            changed[i] = (char)byte;
            struct nk_buf out = {0};
            nk_demangle_short(changed, 40, &out);
            assert_in_range(out.size, 1, 40);
            nk_buf_free(&out);
            changed[i] = FILL[i];
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_mangled_name_is_shown_whole),
        T(a_c_name_is_left_as_it_is),
        T(a_name_that_spells_a_type_is_left_as_it_is),
        T(a_broken_mangled_name_is_left_as_it_is),
        T(an_empty_name_stays_empty),
        T(the_hash_of_a_static_kernel_is_tidied_away),
        T(the_hash_of_a_static_kernel_of_relocatable_code_is_tidied_away),
        T(what_is_added_follows_what_was_there),
        T(a_short_name_has_no_result_and_no_parameters),
        T(how_data_lies_is_left_out_before_the_functor),
        T(namespaces_are_left_out_before_the_type_of_a_functor),
        T(marks_are_left_out_before_the_functor),
        T(the_function_is_kept_when_no_argument_fits),
        T(a_functor_inside_wrappers_is_shown),
        T(a_wrapper_is_shown_where_there_is_room),
        T(lambdas_of_a_function_are_told_apart),
        T(of_lambdas_inside_each_other_the_function_and_the_innermost_are_shown),
        T(the_operation_of_a_kernel_over_lists_of_tensors_is_shown),
        T(a_last_argument_that_is_too_long_is_cut),
        T(a_function_longer_than_the_line_is_cut),
        T(the_function_of_a_lambda_is_shown_for_it),
        T(an_anonymous_namespace_is_not_taken_for_parameters),
        T(an_operator_of_angle_brackets_is_no_list),
        T(a_comparison_inside_an_argument_is_no_list),
        T(a_member_of_a_template_keeps_its_class),
        T(a_name_too_long_for_the_demangler_is_outlined),
        T(an_outline_reads_literals_and_types),
        T(an_outline_reads_on_behind_what_was_named_before),
        T(an_outline_knows_anonymous_namespaces),
        T(ten_kilobytes_of_pointers_do_no_harm),
        T(nested_templates_without_end_do_no_harm),
        T(a_name_beyond_every_bound_does_no_harm),
        T(a_length_that_lies_does_no_harm),
        T(brackets_that_do_not_pair_do_no_harm),
        T(every_cut_of_a_real_name_does_no_harm),
        T(every_changed_byte_of_a_real_name_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
