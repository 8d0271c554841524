// test_advice_explain.c - which words are known, and what is said about them.
#define _GNU_SOURCE
#include "advice.h"
#include "advice/explain.h"
#include "driver/results.h"
#include "verdict/arch.h"

static const char *language = "en";

// "title\nkey: text\n..." of a word; "" when it is not known.
static const char *explain(const char *word)
{
    static struct nk_buf all;
    struct nk_explained e;
    nk_buf_clear(&all);
    nk_buf_text(&all, "");
    setenv("NOKERNEL_LANG", language, 1);
    if (nk_explain(word, &e)) {
        nk_buf_format(&all, "%s\n", e.title.data);
        for (size_t i = 0; i < e.count; i++) nk_buf_format(&all, "%s: %s\n", e.row[i].key, e.row[i].text.data);
    }
    nk_explained_free(&e);
    return all.data;
}

static void tells(const char *word, const char *part)
{
    const char *all = explain(word);
    if (!strstr(all, part)) fail_msg("%s\nexpected: %s\nin: %s", word, part, all);
}

static void an_error_is_known_by_number_and_by_both_names(void **state)
{
    (void)state;
    static const char *const words[] = {"209", "cudaErrorNoKernelImageForDevice", "CUDA_ERROR_NO_BINARY_FOR_GPU"};
    for (size_t i = 0; i < COUNT(words); i++) {
        tells(words[i], "209 cudaErrorNoKernelImageForDevice, CUDA_ERROR_NO_BINARY_FOR_GPU\n");
        tells(words[i], "means: no image of the kernel fits this GPU");
        tells(words[i], "does_not_mean: ");
    }
}

static void an_error_is_known_by_the_message_that_programs_print(void **state)
{
    (void)state;
    tells("RuntimeError: CUDA error: no kernel image is available for execution on the device", "209 cuda");
    tells("CUDA error: invalid device function", "98 cuda");
    tells("the provided PTX was compiled with an unsupported toolchain.", "222 cuda");
    tells("Search for `cudaErrorNoKernelImageForDevice' in the manual", "209 cuda");
}

static void what_stops_a_program_before_any_kernel_is_known_too(void **state)
{
    (void)state;
    tells("ImportError: libcuda.so.1: cannot open shared object file: No such file or directory", "no NVIDIA driver");
    tells("ImportError: libcudart.so.12: cannot open shared object file: No such file or directory", "found nowhere");
    tells("RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
          "older than this torch's CUDA");
    tells("RuntimeError: Found no NVIDIA driver on your system. Please check", "torch found no NVIDIA driver");
    tells("AssertionError: Torch not compiled with CUDA enabled", "a build for the CPU");
    tells("RuntimeError: operator torchvision::nms does not exist", "torchvision does not belong to this torch");
    tells("flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi",
          "another version");
    tells("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH", "cuDNN refuses this GPU");
    tells("Found Tesla P100 which is too old to be supported by the triton GPU compiler", "Triton does not compile");
    tells("OSError: CUDA_HOME environment variable is not set. Please set it", "no CUDA toolkit is found");
    tells("Failed to initialize NVML: Driver/library version mismatch", "of two versions");
    tells("The detected CUDA version (11.8) mismatches the version that was used to compile PyTorch (12.4).",
          "CUDA_HOME");
}

static void the_number_in_a_message_is_enough(void **state)
{
    (void)state;
    tells("CUDA error 209 at kernel.cu:3", "209 cuda");
    tells("CUDA driver error: 222", "222 cuda");
    tells("Cuda failure 98", "98 cuda");
    tells("CUDA runtime error code=700", "700 cuda");
    if (*explain("CUDA error 12345") || *explain("exit code 1") || *explain("CUDA errors"))
        fail_msg("a number that is no result");
}

static void every_result_is_known(void **state)
{
    (void)state;
    for (int code = 0; code < 1000; code++) {
        char word[16];
        snprintf(word, sizeof word, "%d", code);
        if (nk_result_find(code) && !*explain(word)) fail_msg("%d", code);
    }
}

static void codes_of_old_runtimes_point_to_those_of_today(void **state)
{
    (void)state;
    tells("48", "today 209");
    tells("8", "today 98");
}

static void every_architecture_runs_its_own_code_and_names_its_toolkits(void **state)
{
    (void)state;
    for (int sm = 0; (sm = nk_arch_next(sm));) {
        char word[NK_NAME_TEXT], runs[NK_NAME_TEXT + 16];
        const char *list = strstr(explain(nk_name_sm(word, sm)), "runs_on: ");
        if (!list || !strstr(list, word)) fail_msg("%s", word);
        snprintf(runs, sizeof runs, "PTX for compute_%d or lower", sm);
        tells(word, runs);
    }
}

static void an_architecture_says_what_runs_where(void **state)
{
    (void)state;
    tells("sm_120", "gpus: GeForce RTX 5090");
    tells("sm_120", "runs_on: sm_120\nsm_121\n");
    tells("sm_120", "made_by: CUDA 12.8 or newer");
    tells("sm_120", "cu128 (x86_64): 2.7.0 to 2.11.0");
    tells("sm_120", "torch_pypi: its own builds from 2.8.0");
    tells("sm_70", "made_by: CUDA 9.0 to 12.9");
    tells("sm_70", "cu128 (x86_64): 2.8.0 to 2.10.0"); // 2.7 for CUDA 12.8 was without it
    tells("sm_87", "runs_on: sm_87\ngpu_runs: sm_87\n");
    tells("sm_87", "no official wheel has code for it");
}

static void suffixes_and_ptx_are_told_apart(void **state)
{
    (void)state;
    tells("compute_90a", "PTX for exactly compute capability 9.0");
    tells("compute_90a", "runs_on: sm_90\n");
    tells("compute_90", "runs_on: sm_90\nsm_100\n");
    tells("sm_100f", "runs_on: sm_100\nsm_103\n");
    tells("sm_100f", "made_by: CUDA 12.9 or newer");
    tells("sm_90a", "made_by: CUDA 12.0 or newer");
    tells("sm_80a", "no such variant");
    tells("12.0", "sm_120: compute capability 12.0");
}

static void a_gpu_is_known_by_name(void **state)
{
    (void)state;
    tells("RTX 5090", "sm_120:");
    tells("rtx 3090", "sm_86:");
    tells("H100", "sm_90:");
    tells("NVIDIA GB10 (DGX Spark)", "sm_121:");
    tells("DGX Spark", "sm_121:");
    tells("TITAN V", "sm_70:");
}

static void a_word_of_the_names_of_many_gpus_is_none(void **state)
{
    (void)state;
    static const char *const words[] = {"RTX", "GeForce", "Quadro", "NVIDIA", "Jetson"};
    for (size_t i = 0; i < COUNT(words); i++)
        if (*explain(words[i])) fail_msg("%s: %s", words[i], explain(words[i]));
}

static void a_compilers_message_names_the_toolkits_that_know_its_architecture(void **state)
{
    (void)state;
    tells("ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'", "ptxas does not know sm_121a");
    tells("ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'", "CUDA 12.9 or newer");
    tells("ptxas fatal   : Value 'sm_70' is not defined for option 'gpu-name'", "CUDA 9.0 to 12.9");
    tells("ptxas fatal   : Value 'sm_90a' is not defined for option 'gpu-name'", "CUDA 12.0 or newer"); // not 11.8
    tells("nvcc fatal   : Unsupported gpu architecture 'compute_120'", "CUDA 12.8 or newer");
    tells("a text about sm_120 that nobody has written yet", "sm_120: compute capability 12.0");
}

// Every row is found by its own words, between others and in other letters, and no placeholder stays.
static void every_message_of_the_table_is_known_and_filled_in(void **state)
{
    (void)state;
    for (int row = 1; row < nk_known_messages.rows; row++) {
        char message[256] = "RuntimeError: ", title[256];
        for (const char *at = nk_known(&nk_known_messages, row, NK_MESSAGE_TEXT); *at; at++)
            snprintf(message + strlen(message), sizeof message - strlen(message), *at == '*' ? "8.1; " : "%c", *at);
        strcat(message, " 8.0 on a GPU with compute capability 8.6");
        const char *code = nk_known(&nk_known_messages, row, NK_MESSAGE_CODE);
        const struct nk_result *result = *code ? nk_result_find(atoi(code)) : NULL;
        if (*code && !result) fail_msg("row %d: result %s", row, code);
        snprintf(title, sizeof title, "%s %s", code, result ? result->runtime_name : "");
        if (*code)
            tells(message, title);
        else
            tells(message, "does_not_mean: ");
        if (strpbrk(explain(message), "{}")) fail_msg("%s\n%s", message, explain(message));
    }
}

static void an_architecture_is_read_in_all_the_ways_that_messages_write_it(void **state)
{
    (void)state;
    static const char *const ways[] = {
        "sm_86", "CC 8.6", "SM 86", "SM86", "compute capability 8.6", "compute capability 86", "cuda capability 8.6"};
    for (size_t i = 0; i < COUNT(ways); i++) {
        char message[128];
        snprintf(message, sizeof message, "%s: Unsupported gpu architecture", ways[i]);
        tells(message, "nvcc does not know sm_86");
    }
    tells("no device code compatible with CUDA arch 520: has no device code compatible with cuda arch 520",
          "for sm_52");
}

static void the_linkers_message_says_which_driver_reads_such_ptx(void **state)
{
    (void)state;
    const char *message =
        "ptxas application ptx input, line 9; fatal : Unsupported .version 8.1; current version is '8.0'";
    tells(message, "a driver for CUDA 12.1 (530 or newer)");
    tells(message, "no newer than CUDA 12.0");
    message = "Unsupported .version 8.7; current version is '8.5'"; // two toolkits write 8.5
    tells(message, "CUDA 12.8 (570 or newer)");
    tells(message, "no newer than CUDA 12.6");
}

static void every_reason_is_known_by_its_key(void **state)
{
    (void)state;
    for (int r = 1; r < NK_REASON_COUNT; r++) {
        tells(nk_reason_key((enum nk_reason)r), nk_reason_sentence((enum nk_reason)r));
        // What keeps a kernel from running has a remedy.
        if (r >= NK_REASON_KERNEL_NOT_IN_IMAGE) tells(nk_reason_key((enum nk_reason)r), "do: ");
    }
    tells("arch-specific", "result: 209 CUDA_ERROR_NO_BINARY_FOR_GPU is expected");
}

static bool is_wide(const char *text)
{
    for (; *text; text++)
        if (*text & 0x80) return true;
    return false;
}

static bool is_prose(const char *key)
{
    static const char *const keys[] = {"means", "does_not_mean", "do", "verdict", "result"};
    for (size_t i = 0; i < COUNT(keys); i++)
        if (!strcmp(key, keys[i])) return true;
    return false;
}

// Every word that is known, and every message of the table, with its title.
static void all_that_explain_advises_is_said_in_the_language_of_the_reader(void **state)
{
    (void)state;
    size_t rows = 0;
    for (int zh = 0; zh < 2; zh++) {
        setenv("NOKERNEL_LANG", zh ? "zh" : "en", 1);
        const char *word;
        for (size_t i = 0; (word = nk_explain_word(i)); i++) {
            struct nk_explained e;
            char copy[128];
            snprintf(copy, sizeof copy, "%s", word);
            nk_explain(copy, &e);
            for (size_t r = 0; r < e.count; r++) {
                if (!is_prose(e.row[r].key)) continue;
                rows++;
                if (is_wide(e.row[r].text.data) != zh) fail_msg("%s, %s: %s", copy, e.row[r].key, e.row[r].text.data);
            }
            nk_explained_free(&e);
        }
    }
    assert_in_range(rows, 500, 5000);
}

static void a_message_in_chinese_is_filled_in_like_the_english_one(void **state)
{
    (void)state;
    language = "zh";
    tells("ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'", "ptxas 不支持 sm_121a\n");
    tells("ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'", "CUDA 工具包（12.9 或更新版本）");
    tells("Unsupported .version 8.7; current version is '8.5'", "（570 或更新），或用不高于 CUDA 12.6 的工具包");
    tells("209", "means: 没有适用于此 GPU 的核函数映像");
    tells("no-image", "means: 没有此 GPU 的映像\nverdict: 核函数不能运行\n");
    every_message_of_the_table_is_known_and_filled_in(NULL);
    language = "en";
}

static void what_is_nothing_is_not_explained(void **state)
{
    (void)state;
    static const char *const words[] = {"", "hello", "sm_", "sm_999", "99999", "-1", "cuda", "no kernel"};
    for (size_t i = 0; i < COUNT(words); i++) assert_string_equal(explain(words[i]), "");
}

static void the_words_for_suggestions_are_known_words(void **state)
{
    (void)state;
    size_t i = 0;
    for (const char *word; (word = nk_explain_word(i)); i++) {
        char copy[128];
        snprintf(copy, sizeof copy, "%s", word);
        if (!*explain(copy)) fail_msg("%s", copy);
    }
    assert_in_range(i, 150, 900);
}

int main(void)
{
#define T(name) cmocka_unit_test(name)
    const struct CMUnitTest tests[] = {
        T(an_error_is_known_by_number_and_by_both_names),
        T(an_error_is_known_by_the_message_that_programs_print),
        T(what_stops_a_program_before_any_kernel_is_known_too),
        T(the_number_in_a_message_is_enough),
        T(every_result_is_known),
        T(codes_of_old_runtimes_point_to_those_of_today),
        T(every_architecture_runs_its_own_code_and_names_its_toolkits),
        T(an_architecture_says_what_runs_where),
        T(suffixes_and_ptx_are_told_apart),
        T(a_gpu_is_known_by_name),
        T(a_word_of_the_names_of_many_gpus_is_none),
        T(a_compilers_message_names_the_toolkits_that_know_its_architecture),
        T(every_message_of_the_table_is_known_and_filled_in),
        T(an_architecture_is_read_in_all_the_ways_that_messages_write_it),
        T(the_linkers_message_says_which_driver_reads_such_ptx),
        T(every_reason_is_known_by_its_key),
        T(all_that_explain_advises_is_said_in_the_language_of_the_reader),
        T(a_message_in_chinese_is_filled_in_like_the_english_one),
        T(what_is_nothing_is_not_explained),
        T(the_words_for_suggestions_are_known_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
