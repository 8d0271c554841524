// test_advice_packages.c - versions of other packages, and how things are built for a GPU.
#define _GNU_SOURCE
#include "advice.h"
#include "verdict/arch.h"

static void every_version_that_is_advised_runs_there_with_all_its_parts(void **state)
{
    (void)state;
    size_t commands = 0;
    for (int package = 1; package < nk_known_packages.rows; package++)
        for (int sm = 0; (sm = nk_arch_next(sm));) {
            struct nk_advice_case about = lacking(nk_known(&nk_known_packages, package, NK_PACK_NAME),
                                                  nk_known(&nk_known_packages, package, NK_PACK_VERSION), sm, 13000);
            answer(&about);
            for (size_t i = 0; i < given.count; i++) {
                const char *command = given.repair[i].command.data, *equals = command ? strstr(command, "==") : NULL;
                if (!equals || strstr(command, "--no-binary")) continue; // built, not fetched
                commands++;
                for (int row = 1; row < nk_known_packages.rows; row++) {
                    char wanted[128];
                    const char *version = nk_known(&nk_known_packages, row, NK_PACK_VERSION);
                    snprintf(wanted, sizeof wanted, "\"%s==%s", nk_known(&nk_known_packages, row, NK_PACK_NAME),
                             version);
                    size_t size = strlen(wanted);
                    const char *at = strstr(command, wanted);
                    if (!at || (at[size] != '"' && strncmp(at + size, ".*\"", 3))) continue;
                    enum nk_runs runs =
                        nk_known_runs(nk_known(&nk_known_packages, row, NK_PACK_SASS),
                                      nk_known(&nk_known_packages, row, NK_PACK_PTX),
                                      nk_version_cuda(nk_known(&nk_known_packages, row, NK_PACK_CUDA)), &about.target)
                            .runs;
                    if (runs != NK_RUNS_NATIVE && runs != NK_RUNS_JIT) fail_msg("sm_%d: %s", sm, command);
                }
            }
        }
    assert_true(commands > 100);
}

static void onnxruntime_that_lost_an_architecture_gets_the_last_one_that_had_it(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("onnxruntime-gpu", "1.31.1", 100, 13000);
    says(&about, "onnxruntime-gpu 1.27.0 is the newest known that runs on sm_100");
    says(&about, "/v/bin/python -m pip install \"onnxruntime-gpu==1.27.0\"");
}

static void faiss_for_cuda_12_gives_way_to_the_package_that_has_hopper(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("faiss-gpu-cu12", "1.14.1", 90, 12080);
    says(&about, "faiss-gpu 1.15.1 instead of faiss-gpu-cu12 runs on sm_90");
    says(&about, "pip uninstall -y faiss-gpu-cu12 && /v/bin/python -m pip install \"faiss-gpu==1.15.1\"");
}

static void ctranslate2_for_maxwell_is_an_old_one(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("ctranslate2", "4.8.5", 50, 12040);
    says(&about, "\"ctranslate2==3.24.*\"");
    says(&about, "-DCMAKE_CUDA_ARCHITECTURES=50");
}

static void tensorflow_whose_ptx_is_for_hopper_only_is_never_advised_on_newer_gpus(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("tensorflow", "2.20.0", 120, 13000);
    says(&about, "\"tensorflow==2.21.0\"");
    never_says(&about, "2.19");
}

static void flash_attention_is_built_by_its_own_variable(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("flash-attn", "2.7.4.post1", 120, 13000);
    says(&about, "rebuild flash-attn for sm_120 with the toolkit of CUDA 12.8 or newer");
    says(&about, "FLASH_ATTN_CUDA_ARCHS=\"120\" /v/bin/python -m pip install");
    says(&about, "\"flash-attn==2.7.4.post1\"");
    about.target.sm = 89; // runs code for sm_80
    says(&about, "FLASH_ATTN_CUDA_ARCHS=\"80\"");
    about.target.sm = 87; // runs none of its list
    never_says(&about, "FLASH_ATTN_CUDA_ARCHS");
}

static void flash_attention_3_on_another_gpu_is_to_be_left_alone(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("xformers", "0.0.30", 120, 13000);
    about.library = "/v/lib/python3.11/site-packages/xformers/_C_flashattention3.so";
    about.verdict.reason = NK_REASON_ARCH_SPECIFIC;
    says(&about, "FlashAttention 3 is made for sm_90 only");
    says(&about, "\"xformers==0.0.35\"");
}

static void torchvision_comes_from_the_index_of_its_torch(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torchvision", "0.16.2", 120, 13000);
    about.torch = "2.8.0+cu128";
    says(&about, "--no-deps \"torchvision==0.23.0+cu128\" --index-url https://download.pytorch.org/whl/cu128");
    assert_true(given.repair[0].safe);
    about.torch = "2.8.0+cu126"; // that index has no sm_120
    never_says(&about, "0.23.0");
}

static void bitsandbytes_takes_its_library_by_torchs_cuda(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("bitsandbytes", "0.48.2", 120, 13000);
    about.library = "/v/lib/python3.11/site-packages/bitsandbytes/libbitsandbytes_cuda126.so";
    says(&about, "has another library with code for sm_120, for CUDA 12.8");
}

static void an_extension_of_torch_is_rebuilt_with_torchs_variable(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("fused-ssim", "1.0", 86, 12040);
    about.torch = "2.4.1+cu121";
    says(&about, "TORCH_CUDA_ARCH_LIST=\"8.6\" /v/bin/python -m pip install --force-reinstall --no-deps --no-cache-dir "
                 "--no-build-isolation --no-binary fused-ssim \"fused-ssim==1.0\"");
    assert_true(given.repair[0].safe);
}

static void code_of_no_package_is_compiled_with_a_toolkit_that_knows_the_gpu(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("", "", 121, 13000);
    about.library = "/opt/lib/libmine.so";
    says(&about, "CUDA 12.9 or newer");
    says(&about, "nvcc -gencode arch=compute_121,code=sm_121");
    about.target.sm = 61;
    says(&about, "CUDA 8.0 to 12.9");
}

static void a_package_of_which_nothing_is_known_gets_no_invented_version(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("some-package", "1.0", 120, 13000);
    assert_string_equal(answer(&about), "");
}

static void a_package_without_any_published_code_for_the_gpu_is_told_so(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("sglang-kernel", "0.4.10", 70, 13000);
    says(&about, "no published sglang-kernel with code for sm_70 is known");
    never_says(&about, "pip install \"");
}

static void wheels_for_x86_64_are_not_advised_on_another_machine(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("onnxruntime-gpu", "1.31.1", 121, 13000); // GB10
    never_says(&about, "pip install");
    about.target.sm = 100;
    about.machine = "aarch64";
    never_says(&about, "pip install");
}

static void an_environment_of_uv_gets_commands_that_uv_knows(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "2.4.1+cu121", 120, 13000);
    about.installer = "uv";
    says(&about, "uv pip install --upgrade --python /v/bin/python \"torch>=2.7.0\"");
    never_says(&about, " -m pip");
    about = lacking("faiss-gpu-cu12", "1.14.1", 90, 12080);
    about.installer = "uv";
    says(&about, "uv pip uninstall --python /v/bin/python faiss-gpu-cu12 && uv pip install");
}

static void what_conda_installed_leaves_conda_first(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("pytorch", "2.4.1", 120, 13000);
    about.source = "conda";
    about.python = "~/c/envs/e/bin/python3";
    says(&about, "conda remove --prefix ~/c/envs/e pytorch && ~/c/envs/e/bin/python3 -m pip install --upgrade");
    says(&about, "\"torch>=2.7.0\"");
    for (size_t i = 0; i < given.count; i++) assert_false(given.repair[i].safe);
    about.python = ""; // an environment whose place is not known
    says(&about, "conda remove pytorch && python -m pip install");
}

static void what_debian_installed_stays_and_an_environment_beside_it_is_made(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("python3-torch-cuda", "2.6.0+dfsg-7", 120, 13000);
    about.source = "deb";
    about.python = "/usr/bin/python3";
    says(&about, "python3 -m venv ~/nokernel-venv && ~/nokernel-venv/bin/python -m pip install");
    never_says(&about, "/usr/bin/python3 -m pip");
}

static void a_package_that_pypi_has_under_another_owner_is_never_fetched_from_there(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("apex", "0.1", 86, 12040);
    about.torch = "2.4.1+cu121";
    says(&about, "build apex from source for sm_86 with the toolkit of CUDA 11.1 or newer");
    never_says(&about, "\"apex");
}

static void nvidias_own_wheels_have_advice_by_what_they_hold(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("nvidia-cudnn-cu12", "9.14.0.64", 61, 12080);
    says(&about, "nvidia-cudnn-cu12 9.10.2.21 is the newest known that runs on sm_61");
    about = lacking("nvidia-cublas-cu12", "12.1.3.1", 120, 12080);
    says(&about, "nvidia-cublas-cu12 12.9.3.13 runs on sm_120");
    about = lacking("nvidia-cublas", "13.0.2.14", 61, 13000); // there is none of CUDA 13 for it
    never_says(&about, "pip install");
}

int main(void)
{
#define T(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        T(every_version_that_is_advised_runs_there_with_all_its_parts),
        T(wheels_for_x86_64_are_not_advised_on_another_machine),
        T(onnxruntime_that_lost_an_architecture_gets_the_last_one_that_had_it),
        T(faiss_for_cuda_12_gives_way_to_the_package_that_has_hopper),
        T(ctranslate2_for_maxwell_is_an_old_one),
        T(tensorflow_whose_ptx_is_for_hopper_only_is_never_advised_on_newer_gpus),
        T(flash_attention_is_built_by_its_own_variable),
        T(flash_attention_3_on_another_gpu_is_to_be_left_alone),
        T(torchvision_comes_from_the_index_of_its_torch),
        T(bitsandbytes_takes_its_library_by_torchs_cuda),
        T(an_extension_of_torch_is_rebuilt_with_torchs_variable),
        T(code_of_no_package_is_compiled_with_a_toolkit_that_knows_the_gpu),
        T(a_package_of_which_nothing_is_known_gets_no_invented_version),
        T(a_package_without_any_published_code_for_the_gpu_is_told_so),
        T(an_environment_of_uv_gets_commands_that_uv_knows),
        T(what_conda_installed_leaves_conda_first),
        T(what_debian_installed_stays_and_an_environment_beside_it_is_made),
        T(a_package_that_pypi_has_under_another_owner_is_never_fetched_from_there),
        T(nvidias_own_wheels_have_advice_by_what_they_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
