// kernel.c - one kernel in one fat binary, registered with the runtime as nvcc's own code does; no compiler of CUDA.
//
// Built once for each kernel: -DLETTER=a -DKERNEL=_Z3k_aPf -DIMAGE='"path of a fat binary"'
// and one of -DOLD_STYLE (cudaLaunchKernel: what nvcc up to 12 makes of <<<>>>), -DNEW_STYLE (__cudaGetKernel and
// __cudaLaunchKernel: nvcc 13), -DPER_THREAD (cudaLaunchKernel_ptsz: -default-stream per-thread).
// The wrapper, its section and the registration functions are those of NVIDIA's fatbinary_section.h and host_runtime.h.
#include "app.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define TEXT_(a)    #a
#define TEXT(a)     TEXT_(a)
#define HOST        JOIN(host_, LETTER)
#define LAUNCH      JOIN(launch_, LETTER)
#define FAT         TEXT(JOIN(fat_, LETTER))

__asm__(".section .nv_fatbin, \"a\"\n"
        ".align 8\n" FAT ":\n"
        ".incbin " TEXT(IMAGE) "\n"
                               ".align 8\n"
                               ".previous\n");
extern const char JOIN(fat_, LETTER)[];

static const struct {
    int magic, version;
    const void *data, *unused;
} wrapper __attribute__((section(".nvFatBinSegment"), used)) = {0x466243b1, 1, JOIN(fat_, LETTER), NULL};

void **__cudaRegisterFatBinary(const void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const void *host, char *device, const char *name, int limit, void *tid,
                            void *bid, dim3 *block, dim3 *grid, int *warp);

// The host function of the kernel: what <<<>>> calls, and what stands in the stack of a launch.
void KERNEL(float *data);
const void *const HOST = (const void *)KERNEL;

static _Thread_local int result;

#if defined(OLD_STYLE) || defined(PER_THREAD)
#ifdef PER_THREAD
#define cudaLaunchKernel cudaLaunchKernel_ptsz
#endif
int cudaLaunchKernel(const void *host, dim3 grid, dim3 block, void **args, size_t shared, stream_t stream);

__attribute__((noinline)) void KERNEL(float *data)
{
    void *args[] = {&data};
    result = cudaLaunchKernel(HOST, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, NULL);
}
#else
int __cudaGetKernel(void **kernel, const void *host);
int __cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **args, size_t shared, stream_t stream);

__attribute__((noinline)) void KERNEL(float *data)
{
    void *args[] = {&data}, *kernel = NULL;
    result = __cudaGetKernel(&kernel, HOST);
    if (!result) result = __cudaLaunchKernel(kernel, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args, 0, NULL);
}
#endif

int LAUNCH(float *data)
{
    KERNEL(data);
    return result;
}

static void **handle;

static void unregister(void) { __cudaUnregisterFatBinary(handle); }

__attribute__((constructor)) static void enroll(void)
{
    handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, HOST, (char *)TEXT(KERNEL), TEXT(KERNEL), -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(handle);
    atexit(unregister);
}
