// nvml.c - a small libnvidia-ml.so.1: enough for PyTorch's allocator and NCCL's start. It reads SIM_SM, SIM_NAME,
// SIM_DRIVER and SIM_MEM_MB as the driver does. Like the real one it knows nothing of CUDA_VISIBLE_DEVICES.
//
// Functions that are not here are missing from the library: callers look them up by name and cope.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NVML(name, ...)                                                                                                \
    __attribute__((visibility("default"))) int name(__VA_ARGS__);                                                      \
    __attribute__((visibility("default"))) int name(__VA_ARGS__)

enum { OK = 0, BAD_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, MAX = 16 };

static int sm[MAX], count = -1;

static void boot(void)
{
    const char *text = getenv("SIM_SM");
    if (count >= 0) return;
    count = 0;
    for (text = text ? text : "120"; *text && count < MAX; text += *text == ',') {
        char *end;
        sm[count] = (int)strtol(text, &end, 10);
        if (end == text) break;
        count++;
        text = end + strcspn(end, ",");
    }
}

// A device's handle is its number plus one.
static int number(const void *device)
{
    uintptr_t value = (uintptr_t)device;
    return value >= 1 && value <= (uintptr_t)count ? (int)value - 1 : -1;
}
#define NEED_DEVICE(i, device)                                                                                         \
    int i = number(device);                                                                                            \
    if (i < 0) return BAD_ARGUMENT

static int driver(void)
{
    const char *text = getenv("SIM_DRIVER");
    return text && *text ? atoi(text) : 13000;
}

static int put_text(char *out, unsigned room, const char *text)
{
    if (!out || room <= strlen(text)) return TOO_SMALL;
    memcpy(out, text, strlen(text) + 1);
    return OK;
}

NVML(nvmlInit_v2, void) { return boot(), OK; }
NVML(nvmlInit, void) { return boot(), OK; }
NVML(nvmlInitWithFlags, unsigned flags) { return (void)flags, boot(), OK; }
NVML(nvmlShutdown, void) { return OK; }
__attribute__((visibility("default"))) const char *nvmlErrorString(int code);
__attribute__((visibility("default"))) const char *nvmlErrorString(int code)
{
    return code == OK ? "Success" : "Not Supported";
}

NVML(nvmlSystemGetDriverVersion, char *out, unsigned room)
{
    int version = driver();
    return put_text(out, room,
                    version >= 13000   ? "580.65.06"
                    : version >= 12040 ? "550.54.14"
                    : version >= 12000 ? "525.60.13"
                                       : "520.61.05");
}
NVML(nvmlSystemGetNVMLVersion, char *out, unsigned room) { return put_text(out, room, "13.580.65.06"); }
NVML(nvmlSystemGetCudaDriverVersion, int *out)
{
    *out = driver();
    return OK;
}
NVML(nvmlSystemGetCudaDriverVersion_v2, int *out)
{
    *out = driver();
    return OK;
}

NVML(nvmlDeviceGetCount_v2, unsigned *out)
{
    boot();
    *out = (unsigned)count;
    return OK;
}
NVML(nvmlDeviceGetCount, unsigned *out) { return nvmlDeviceGetCount_v2(out); }

NVML(nvmlDeviceGetHandleByIndex_v2, unsigned index, void **device)
{
    boot();
    if (index >= (unsigned)count) return BAD_ARGUMENT;
    *device = (void *)(uintptr_t)(index + 1);
    return OK;
}
NVML(nvmlDeviceGetHandleByIndex, unsigned index, void **device) { return nvmlDeviceGetHandleByIndex_v2(index, device); }

NVML(nvmlDeviceGetHandleByPciBusId_v2, const char *text, void **device)
{
    unsigned domain, bus;
    boot();
    if (sscanf(text, "%x:%x", &domain, &bus) != 2 || bus < 1 || bus > (unsigned)count) return NOT_FOUND;
    *device = (void *)(uintptr_t)bus;
    return OK;
}
NVML(nvmlDeviceGetHandleByPciBusId, const char *text, void **device)
{
    return nvmlDeviceGetHandleByPciBusId_v2(text, device);
}

static void uuid_text(int i, char out[48])
{
    int at = sprintf(out, "GPU-");
    for (int k = 0; k < 16; k++)
        at += sprintf(out + at, "%s%02x", k == 4 || k == 6 || k == 8 || k == 10 ? "-" : "",
                      (unsigned char)(0x11 * (i + 1) + k));
}

NVML(nvmlDeviceGetUUID, void *device, char *out, unsigned room)
{
    char text[48];
    NEED_DEVICE(i, device);
    uuid_text(i, text);
    return put_text(out, room, text);
}
NVML(nvmlDeviceGetHandleByUUID, const char *wanted, void **device)
{
    boot();
    for (int i = 0; i < count; i++) {
        char text[48];
        uuid_text(i, text);
        if (strcmp(text, wanted) != 0) continue;
        *device = (void *)(uintptr_t)(i + 1);
        return OK;
    }
    return NOT_FOUND;
}

NVML(nvmlDeviceGetIndex, void *device, unsigned *out)
{
    NEED_DEVICE(i, device);
    *out = (unsigned)i;
    return OK;
}
NVML(nvmlDeviceGetMinorNumber, void *device, unsigned *out) { return nvmlDeviceGetIndex(device, out); }

NVML(nvmlDeviceGetName, void *device, char *out, unsigned room)
{
    char text[96];
    const char *name = getenv("SIM_NAME");
    NEED_DEVICE(i, device);
    if (name && *name)
        snprintf(text, sizeof text, "%.*s", (int)strcspn(name, "|"), name);
    else
        snprintf(text, sizeof text, "NVIDIA simulated sm_%d", sm[i]);
    return put_text(out, room, text);
}

NVML(nvmlDeviceGetCudaComputeCapability, void *device, int *major, int *minor)
{
    NEED_DEVICE(i, device);
    *major = sm[i] / 10;
    *minor = sm[i] % 10;
    return OK;
}

struct pci { // nvmlPciInfo_t
    char short_id[16];
    unsigned domain, bus, slot, device_id, subsystem_id;
    char id[32];
};

NVML(nvmlDeviceGetPciInfo_v3, void *device, struct pci *out)
{
    NEED_DEVICE(i, device);
    memset(out, 0, sizeof *out);
    out->bus = (unsigned)i + 1;
    snprintf(out->short_id, sizeof out->short_id, "0000:%02X:00.0", (unsigned char)(i + 1));
    snprintf(out->id, sizeof out->id, "00000000:%02X:00.0", (unsigned char)(i + 1));
    return OK;
}
NVML(nvmlDeviceGetPciInfo_v2, void *device, struct pci *out) { return nvmlDeviceGetPciInfo_v3(device, out); }

NVML(nvmlDeviceGetMemoryInfo, void *device, uint64_t out[3]) // total, free, used
{
    const char *text = getenv("SIM_MEM_MB");
    NEED_DEVICE(i, device);
    (void)i;
    out[0] = out[1] = (uint64_t)(text && *text ? atoll(text) : 8192) << 20;
    out[2] = 0;
    return OK;
}

// Lists of processes: always empty.
#define NO_PROCESSES(name)                                                                                             \
    NVML(name, void *device, unsigned *out, void *list)                                                                \
    {                                                                                                                  \
        NEED_DEVICE(i, device);                                                                                        \
        (void)i, (void)list;                                                                                           \
        *out = 0;                                                                                                      \
        return OK;                                                                                                     \
    }
NO_PROCESSES(nvmlDeviceGetComputeRunningProcesses)
NO_PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2)
NO_PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3)

// Hardware that is not there: NVLink, fabric, MIG.
#define ABSENT(name, ...)                                                                                              \
    NVML(name, __VA_ARGS__) { return NOT_SUPPORTED; }
#pragma GCC diagnostic ignored "-Wunused-parameter"
// The slot of each GPU: PCI Express 4.0 with 16 lanes (16000 MB/s are number 4 of NVML's list). NCCL calls these
// unchecked.
#define SLOT(name, value)                                                                                              \
    NVML(name, void *device, unsigned *out)                                                                            \
    {                                                                                                                  \
        NEED_DEVICE(i, device);                                                                                        \
        (void)i;                                                                                                       \
        *out = value;                                                                                                  \
        return OK;                                                                                                     \
    }
SLOT(nvmlDeviceGetCurrPcieLinkGeneration, 4)
SLOT(nvmlDeviceGetCurrPcieLinkWidth, 16)
SLOT(nvmlDeviceGetPcieLinkMaxSpeed, 4)

// Peers reach each other as cuDeviceCanAccessPeer says: 0 is NVML_P2P_STATUS_OK.
NVML(nvmlDeviceGetP2PStatus, void *a, void *b, int index, int *out)
{
    NEED_DEVICE(from, a);
    NEED_DEVICE(to, b);
    (void)from, (void)to, (void)index;
    *out = 0;
    return OK;
}

ABSENT(nvmlDeviceGetNvLinkState, void *device, unsigned link, int *out)
ABSENT(nvmlDeviceGetNvLinkRemotePciInfo_v2, void *device, unsigned link, void *out)
ABSENT(nvmlDeviceGetNvLinkCapability, void *device, unsigned link, int capability, unsigned *out)
ABSENT(nvmlDeviceGetNvLinkRemoteDeviceType, void *device, unsigned link, int *out)
ABSENT(nvmlDeviceGetGpuFabricInfo, void *device, void *out)
ABSENT(nvmlDeviceGetGpuFabricInfoV, void *device, void *out)
ABSENT(nvmlDeviceGetFieldValues, void *device, int values, void *out)
ABSENT(nvmlDeviceGetPlatformInfo, void *device, void *out)
ABSENT(nvmlDeviceGetPciInfoExt, void *device, void *out)
ABSENT(nvmlSystemGetConfComputeState, void *out)
ABSENT(nvmlSystemGetConfComputeSettings, void *out)
ABSENT(nvmlDeviceSetCpuAffinity, void *device)
ABSENT(nvmlDeviceClearCpuAffinity, void *device)
ABSENT(nvmlDeviceGetMaxMigDeviceCount, void *device, unsigned *out)
ABSENT(nvmlDeviceGetMigMode, void *device, unsigned *current, unsigned *pending)
