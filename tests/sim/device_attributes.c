// device_attributes.c - cuDeviceGetAttribute's numbers. The limits of a compute capability are those of the table in
// NVIDIA's CUDA C++ Programming Guide; counts and clocks are those of the product that settings.c names, or near them.
#include "sim.h"

#include <stdlib.h>
#include <string.h>

// What is the same on every GPU. Index: CUdevice_attribute.
static const int common[] = {
    [1] = 1024,   [2] = 1024,       [3] = 1024,    [4] = 64,          [5] = 2147483647, [6] = 65535,    [7] = 65535,
    [8] = 49152,  [9] = 65536,      [10] = 32,     [11] = 2147483647, [12] = 65536,     [13] = 1500000, [14] = 512,
    [15] = 1,     [19] = 1,         [21] = 131072, [22] = 131072,     [23] = 65536,     [24] = 16384,   [25] = 16384,
    [26] = 16384, [27] = 32768,     [28] = 32768,  [29] = 2048,       [30] = 512,       [31] = 1,       [36] = 5000000,
    [37] = 384,   [40] = 3,         [41] = 1,      [42] = 32768,      [43] = 2048,      [44] = 1,       [45] = 32768,
    [46] = 32768, [47] = 8192,      [48] = 8192,   [49] = 32768,      [51] = 32,        [52] = 32768,   [53] = 32768,
    [54] = 2046,  [55] = 32768,     [56] = 131072, [57] = 65536,      [58] = 16384,     [59] = 16384,   [60] = 16384,
    [61] = 32768, [62] = 2048,      [63] = 32768,  [64] = 32768,      [65] = 2048,      [66] = 32768,   [67] = 32768,
    [68] = 2046,  [69] = 268435456, [70] = 131072, [71] = 65000,      [72] = 2097120,   [73] = 32768,   [74] = 32768,
    [77] = 32768, [78] = 1,         [79] = 1,      [80] = 1,          [82] = 65536,     [83] = 1,       [87] = 64,
    [89] = 1,     [90] = 1,         [91] = 1,      [95] = 1,          [99] = 1,         [102] = 1,      [103] = 1,
    [111] = 1024, [112] = 1,        [113] = 1,     [114] = 1,         [115] = 1,        [119] = 1,      [121] = 1,
    [122] = 1,    [123] = 1,        [125] = 1,     [129] = 1,         [131] = -1,       [134] = -1,
};

// What a compute capability brings: the last row that is not above the GPU's. Shared memory in KiB.
static const struct row {
    int sm, multiprocessors, threads, blocks, shared_sm, shared_optin, l2_mib;
} rows[] = {
    {10, 15, 2048, 16, 48, 48, 1},     {50, 5, 2048, 32, 64, 48, 2},        {52, 24, 2048, 32, 96, 48, 3},
    {53, 2, 2048, 32, 64, 48, 1},      {60, 56, 2048, 32, 64, 48, 4},       {61, 28, 2048, 32, 96, 48, 3},
    {62, 2, 2048, 32, 64, 48, 1},      {70, 80, 2048, 32, 96, 96, 6},       {72, 8, 2048, 32, 96, 96, 1},
    {75, 40, 1024, 16, 64, 64, 4},     {80, 108, 2048, 32, 164, 163, 40},   {86, 82, 1536, 16, 100, 99, 6},
    {87, 16, 1536, 16, 164, 163, 4},   {88, 16, 1536, 24, 100, 99, 4},      {89, 128, 1536, 24, 100, 99, 72},
    {90, 132, 2048, 32, 228, 227, 50}, {100, 148, 2048, 32, 228, 227, 126}, {110, 20, 1536, 24, 228, 227, 32},
    {120, 170, 1536, 24, 100, 99, 96}, {121, 48, 1536, 24, 100, 99, 24},
};

// SIM_ATTRIBUTES=16=108,39=2048: numbers that are wanted instead, on every GPU.
static bool wanted(int attribute, int *value)
{
    for (const char *at = sim_set.attributes; at && *at; at += strcspn(at, ","), at += *at == ',') {
        char *end;
        if (strtol(at, &end, 10) != attribute || *end != '=') continue;
        *value = (int)strtol(end + 1, NULL, 10);
        return true;
    }
    return false;
}

int sim_device_attribute(const struct sim_device *device, int attribute)
{
    int value;
    if (wanted(attribute, &value)) return value;
    const struct row *row = rows;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].sm <= device->sm) row = &rows[i];
    int sm = device->sm;
    switch (attribute) {
    case 16:
        return row->multiprocessors;
    case NK_ATTR_INTEGRATED:
        return device->tegra || sm == 121;
    case NK_ATTR_PCI_BUS:
        return device->physical + 1;
    case NK_ATTR_PCI_DEVICE:
        return 0;
    case 38:
        return row->l2_mib << 20;
    case 39:
        return row->threads;
    case NK_ATTR_PCI_DOMAIN:
        return 0;
    case NK_ATTR_CC_MAJOR:
        return sm / 10;
    case NK_ATTR_CC_MINOR:
        return sm % 10;
    case 81:
        return row->shared_sm << 10;
    case 97:
        return row->shared_optin << 10;
    case 106:
        return row->blocks;
    case 108:
        return sm >= 80 ? (row->l2_mib << 20) / 4 * 3 : 0;
    case 109:
        return sm >= 80 ? 134213632 : 0;
    case 120:
    case 127:
        return sm >= 90; // clusters, tensor maps
    case 126:
        return sm >= 90 ? 4 : 1;
    default:
        break;
    }
    return attribute < (int)(sizeof common / sizeof *common) ? common[attribute] : 0;
}
