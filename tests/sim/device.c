// device.c - the GPUs: how many the process sees, and what they say about themselves.
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int sim_device_count;
struct sim_device sim_devices[SIM_MAX_GPUS];

static void identify(int physical, unsigned char uuid[16])
{
    for (int i = 0; i < 16; i++) uuid[i] = (unsigned char)(0x11 * (physical + 1) + i);
}

static void uuid_text(const unsigned char u[16], char text[48])
{
    snprintf(text, 48, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2],
             u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

// One element of CUDA_VISIBLE_DEVICES: a number or the beginning of a UUID. -1: it names no GPU.
static int visible(const char *text, size_t length)
{
    if (length > 4 && strncasecmp(text, "GPU-", 4) == 0) {
        int found = -1;
        for (int i = 0; i < sim_set.gpus; i++) {
            unsigned char uuid[16];
            char full[48];
            identify(i, uuid);
            uuid_text(uuid, full);
            if (length <= strlen(full) && strncasecmp(full, text, length) == 0) found = i;
        }
        return found;
    }
    char *end;
    long number = strtol(text, &end, 10);
    return end == text || number < 0 || number >= sim_set.gpus ? -1 : (int)number;
}

// NVIDIA's rule: the list ends at the first element that names no GPU; an element that comes twice empties it.
static int select_gpus(const char *list, int order[SIM_MAX_GPUS])
{
    int count = 0;
    if (!list) {
        for (; count < sim_set.gpus; count++) order[count] = count;
        return count;
    }
    while (*list && count < SIM_MAX_GPUS) {
        list += strspn(list, " ");
        size_t length = strcspn(list, ", ");
        int gpu = length ? visible(list, length) : -1;
        if (gpu < 0) break;
        for (int i = 0; i < count; i++)
            if (order[i] == gpu) return 0;
        order[count++] = gpu;
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return count;
}

static bool is_tegra(int sm)
{
    return sm == 32 || sm == 53 || sm == 62 || sm == 72 || sm == 87 || sm == 101 || sm == 110;
}

int sim_devices_find(void)
{
    int order[SIM_MAX_GPUS];
    sim_device_count = select_gpus(getenv("CUDA_VISIBLE_DEVICES"), order);
    for (int i = 0; i < sim_device_count; i++) {
        struct sim_device *device = &sim_devices[i];
        device->ordinal = i;
        device->physical = order[i];
        device->sm = sim_set.sm[order[i]];
        device->tegra = is_tegra(device->sm);
        device->name = sim_set.names[order[i]];
        identify(order[i], device->uuid);
    }
    return sim_device_count ? OK : NO_DEVICE;
}

struct sim_device *sim_device(int ordinal)
{
    return ordinal >= 0 && ordinal < sim_device_count ? &sim_devices[ordinal] : NULL;
}

API(cuDeviceGet, int *, device, int, ordinal)
{
    if (!device) return BAD_VALUE;
    if (!sim_device(ordinal)) return BAD_DEVICE;
    *device = ordinal;
    return OK;
}

API(cuDeviceGetCount, int *, count)
{
    if (!count) return BAD_VALUE;
    *count = sim_device_count;
    return OK;
}

API(cuDeviceGetName, char *, name, int, room, int, device)
{
    if (!name || room <= 0) return BAD_VALUE;
    if (!sim_device(device)) return BAD_DEVICE;
    snprintf(name, (size_t)room, "%s", sim_device(device)->name);
    return OK;
}

API(cuDeviceGetUuid, unsigned char *, uuid, int, device)
{
    if (!uuid) return BAD_VALUE;
    if (!sim_device(device)) return BAD_DEVICE;
    memcpy(uuid, sim_device(device)->uuid, 16);
    return OK;
}
API_ALSO(cuDeviceGetUuid_v2, cuDeviceGetUuid, unsigned char *, uuid, int, device)

API(cuDeviceGetLuid, char *, luid, unsigned *, mask, int, device)
{
    if (!luid || !mask) return BAD_VALUE;
    if (!sim_device(device)) return BAD_DEVICE;
    return NOT_SUPPORTED; // as on Linux
}

API(cuDeviceTotalMem_v2, size_t *, bytes, int, device)
{
    if (!bytes) return BAD_VALUE;
    if (!sim_device(device)) return BAD_DEVICE;
    *bytes = sim_set.memory;
    return OK;
}

API(cuDeviceGetAttribute, int *, value, int, attribute, int, device)
{
    if (!value || attribute < 1 || attribute > 1000) return BAD_VALUE;
    if (!sim_device(device)) return BAD_DEVICE;
    *value = sim_device_attribute(sim_device(device), attribute);
    return OK;
}

API(cuDeviceComputeCapability, int *, major, int *, minor, int, device)
{
    if (!major || !minor) return BAD_VALUE;
    if (!sim_device(device)) return BAD_DEVICE;
    *major = sim_device(device)->sm / 10;
    *minor = sim_device(device)->sm % 10;
    return OK;
}

struct properties { // CUdevprop
    int threads_per_block, block[3], grid[3], shared, constant, warp, pitch, registers, clock, texture_alignment;
};

API(cuDeviceGetProperties, struct properties *, out, int, device)
{
    const struct sim_device *d = sim_device(device);
    if (!out) return BAD_VALUE;
    if (!d) return BAD_DEVICE;
    int *field = (int *)out;
    for (int i = 0; i < 14; i++) field[i] = sim_device_attribute(d, i + 1); // attributes 1 to 14 are in this order
    return OK;
}

API(cuDeviceGetPCIBusId, char *, text, int, room, int, device)
{
    if (!text || room <= 0) return BAD_VALUE;
    if (!sim_device(device)) return BAD_DEVICE;
    snprintf(text, (size_t)room, "0000:%02x:00.0", sim_device_attribute(sim_device(device), NK_ATTR_PCI_BUS));
    return OK;
}

API(cuDeviceGetByPCIBusId, int *, device, const char *, text)
{
    unsigned domain, bus, slot;
    if (!device || !text) return BAD_VALUE;
    if (sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
        if (sscanf(text, "%x:%x", &bus, &slot) != 2) return BAD_VALUE;
    }
    for (int i = 0; i < sim_device_count; i++) {
        if (sim_device_attribute(&sim_devices[i], NK_ATTR_PCI_BUS) != (int)bus) continue;
        *device = i;
        return OK;
    }
    return BAD_DEVICE;
}

API(cuDeviceGetTexture1DLinearMaxWidth, size_t *, width, int, format, unsigned, channels, int, device)
{
    (void)format, (void)channels;
    if (!width) return BAD_VALUE;
    if (!sim_device(device)) return BAD_DEVICE;
    *width = (size_t)1 << 28;
    return OK;
}

API(cuDeviceGetExecAffinitySupport, int *, value, int, type, int, device)
{
    (void)type;
    if (!value) return BAD_VALUE;
    if (!sim_device(device)) return BAD_DEVICE;
    *value = 0;
    return OK;
}

API(cuDeviceCanAccessPeer, int *, can, int, device, int, peer)
{
    if (!can) return BAD_VALUE;
    if (!sim_device(device) || !sim_device(peer)) return BAD_DEVICE;
    *can = device != peer;
    return OK;
}

API(cuDeviceGetP2PAttribute, int *, value, int, attribute, int, source, int, target)
{
    if (!value || attribute < 1) return BAD_VALUE;
    if (!sim_device(source) || !sim_device(target) || source == target) return BAD_DEVICE;
    *value = attribute == 2; // access: yes; rank, native atomics, arrays: 0
    return OK;
}
