// settings.c - the environment that steers the simulated driver. README.md lists every setting.
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct sim_settings sim_set;

static const struct {
    const char *word;
    unsigned place;
} places[] = {
    {"load", AT_LOAD},
    {"module", AT_MODULE},
    {"get", AT_GET},
    {"modget", AT_MODGET},
    {"function", AT_FUNCTION},
    {"attribute", AT_ATTRIBUTE},
    {"occupancy", AT_OCCUPANCY},
    {"global", AT_GLOBAL},
    {"launch", AT_LAUNCH},
    {"all", 511},
};

static const struct {
    int sm;
    const char *name;
} products[] = {
    {35, "Tesla K40m"},
    {37, "Tesla K80"},
    {50, "GeForce GTX 750 Ti"},
    {52, "GeForce GTX TITAN X"},
    {53, "NVIDIA Tegra X1"},
    {60, "Tesla P100-PCIE-16GB"},
    {61, "NVIDIA GeForce GTX 1080 Ti"},
    {62, "NVIDIA Tegra X2"},
    {70, "Tesla V100-SXM2-16GB"},
    {72, "Xavier"},
    {75, "Tesla T4"},
    {80, "NVIDIA A100-SXM4-40GB"},
    {86, "NVIDIA GeForce RTX 3090"},
    {87, "Orin"},
    {89, "NVIDIA GeForce RTX 4090"},
    {90, "NVIDIA H100 80GB HBM3"},
    {100, "NVIDIA B200"},
    {103, "NVIDIA B300 SXM6 AC"},
    {110, "NVIDIA Thor"},
    {120, "NVIDIA GeForce RTX 5090"},
    {121, "NVIDIA GB10"},
};

bool sim_listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at && *at; at += strcspn(at, ",")) {
        at += strspn(at, ", ");
        if (strcspn(at, ",") == length && strncmp(at, word, length) == 0) return true;
    }
    return false;
}

static unsigned read_places(const char *text)
{
    if (!text || !*text) return AT_MODULE | AT_FUNCTION | AT_ATTRIBUTE | AT_OCCUPANCY | AT_GLOBAL | AT_LAUNCH;
    unsigned mask = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (sim_listed(text, places[i].word)) mask |= places[i].place;
    if (mask == 0) fprintf(stderr, "sim: SIM_NO_IMAGE_AT=%s names no place that is known\n", text);
    return mask;
}

// SIM_SM=120 or 80,37: one number a GPU. An empty text is a machine without GPUs.
static void read_gpus(const char *text)
{
    if (!text) text = "120";
    while (*text && sim_set.gpus < SIM_MAX_GPUS) {
        char *end;
        long sm = strtol(text, &end, 10);
        if (end == text || sm < 10 || sm > 999) break;
        sim_set.sm[sim_set.gpus++] = (int)sm;
        text = end + strcspn(end, ",");
        text += *text == ',';
    }
}

// SIM_NAME is one name for all GPUs, or a list split by '|'.
static void name_gpus(const char *text)
{
    for (int i = 0; i < sim_set.gpus; i++) {
        const char *name = NULL;
        for (size_t k = 0; k < sizeof products / sizeof *products; k++)
            if (products[k].sm == sim_set.sm[i]) name = products[k].name;
        if (text && *text)
            snprintf(sim_set.names[i], sizeof sim_set.names[i], "%.*s", (int)strcspn(text, "|"), text);
        else if (name)
            snprintf(sim_set.names[i], sizeof sim_set.names[i], "%s", name);
        else
            snprintf(sim_set.names[i], sizeof sim_set.names[i], "NVIDIA simulated sm_%d", sim_set.sm[i]);
        if (text && strchr(text, '|')) text = strchr(text, '|') + 1;
    }
}

static bool is_on(const char *name)
{
    const char *text = getenv(name);
    return text && *text && strcmp(text, "0") != 0;
}

void sim_settings_read_env(void)
{
    const char *loading = getenv("CUDA_MODULE_LOADING");
    // LAZY is the default on Linux since 12.2; before 11.7 there was only EAGER.
    sim_set.eager = loading ? strcasecmp(loading, "EAGER") == 0 : sim_set.driver < 12020;
    sim_set.force_ptx_jit = is_on("CUDA_FORCE_PTX_JIT");
    sim_set.disable_ptx_jit = is_on("CUDA_DISABLE_PTX_JIT");
}

static void boot(void)
{
    const char *driver = getenv("SIM_DRIVER"), *memory = getenv("SIM_MEM_MB");
    sim_set.driver = driver && *driver ? atoi(driver) : 13000;
    sim_set.memory = (size_t)(memory && *memory ? atoll(memory) : 8192) << 20;
    sim_set.places = read_places(getenv("SIM_NO_IMAGE_AT"));
    const char *kernel_ms = getenv("SIM_KERNEL_MS");
    sim_set.kernel_ns = kernel_ms ? strtoull(kernel_ms, NULL, 10) * 1000000u : 0;
    sim_set.attributes = getenv("SIM_ATTRIBUTES");
    sim_set.lacks = getenv("SIM_LACKS");
    sim_set.fail = getenv("SIM_FAIL");
    sim_set.slow = getenv("SIM_SLOW");
    sim_set.log = getenv("SIM_LOG");
    sim_set.strict_capture = sim_listed(getenv("SIM_CAPTURE"), "strict");
    sim_set.distinct = sim_listed(getenv("SIM_ADDRESSES"), "distinct");
    read_gpus(getenv("SIM_SM"));
    name_gpus(getenv("SIM_NAME"));
    sim_settings_read_env();
    sim_call_setup();
    atomic_fetch_and(&sim_gate, ~GATE_BOOT);
}

void sim_boot(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, boot);
}
