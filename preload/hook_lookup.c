// hook_lookup.c - every way to look a CUDA function up: dlsym, cuGetProcAddress, cuGetExportTable.
//
// The real resolver is asked first; only the pointer that it returned is swapped for ours. So versions, flags, _v2 and
// _ptsz need no code here, and a program never sees a function that its driver lacks.
// Always built without sanitizers (see resolve.c). Nothing here allocates or takes a lock before a name has matched.
#define _GNU_SOURCE
#include "dso.h"
#include "entries.h"
#include "passed.h"
#include "process.h"
#include "resolve.h"
#include "slots.h"

#include <dlfcn.h>
#include <string.h>

// ---- dlsym

// Returned instead of a function: dlsym answers NULL, and dlerror is already set.
#define ABSENT ((void *)-1)

// cuInit, cuLaunchKernel: driver names begin with "cu" and a capital. "cudnnCreate" and "cublasCreate" do not.
static bool is_driver_name(const char *name)
{
    return name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

static bool is_runtime_name(const char *name)
{
    if (name[0] == '_' && name[1] == '_') name += 2;
    return name[0] == 'c' && name[1] == 'u' && name[2] == 'd' && name[3] == 'a';
}

// A search through the global scope would find our exports and make a program without CUDA believe in a driver.
static void *choose_global(const char *name, const void *caller)
{
    enum nk_entry_id id = nk_entry_named(name);
    if (id == NK_ENTRY_COUNT || !nk_wrapper[id]) return NULL;
    void *real = nk_resolve_global(name, caller);
    if (!real) return ABSENT;
    nk_resolve_driver();
    return nk_swap(real, name, 0, false);
}

// Our wrapper, or what counts the calls of a function that we do not know, or the real function.
static void *swapped(void *real, const char *name, int version, bool per_thread)
{
    void *ours = nk_swap(real, name, version, per_thread);
    return ours == real ? nk_passed(real, name) : ours;
}

static void *choose_next(const char *name)
{
    enum nk_entry_id id = nk_entry_named(name);
    if (id == NK_ENTRY_COUNT || !nk_wrapper[id] || nk_entries[id].lib != NK_DRIVER || nk_resolve_driver()) return NULL;
    return nk_real_dlsym(RTLD_NEXT, name) ? NULL : ABSENT;
}

static void *choose_driver(void *handle, const char *name, const void *caller)
{
    void *real = nk_real_dlsym(handle, name);
    if (!real) return ABSENT;
    if (nk_is_ours(real)) return choose_global(name, caller); // dlopen(NULL): the global scope under another name
    // What each runtime asks for first: the names of 11.3 and newer, and of those before.
    if (!strncmp(name, "cuGetProcAddress", 16) || !strcmp(name, "cuInit")) nk_process_watch_again();
    return nk_resolve_driver() ? swapped(real, name, 0, false) : real;
}

// Called from the assembly below.
__attribute__((used, visibility("hidden"))) void *nk_dlsym_choose(void *handle, const char *name, const void *caller);

// What dlsym shall answer: a function, ABSENT, or NULL for "jump to the real dlsym with the same arguments".
void *nk_dlsym_choose(void *handle, const char *name, const void *caller)
{
    if (!nk_real_dlsym) nk_resolve_dlsym();
    if (!name) return NULL;
    bool driver = is_driver_name(name);
    if (!driver && !is_runtime_name(name)) return NULL;
    if (handle == RTLD_NEXT) return choose_next(name);
    if (handle == RTLD_DEFAULT) return choose_global(name, caller);
    return driver ? choose_driver(handle, name, caller) : NULL;
}

// dlsym itself must not call the real dlsym but jump to it: glibc reads the return address to learn whose RTLD_NEXT is
// meant. So it is written in assembly: save the arguments, choose, then return the choice or jump.
NK_EXPORT void *dlsym(void *restrict handle, const char *restrict name);
#if defined(__x86_64__)
__asm__(".text\n.globl dlsym\n.type dlsym, @function\ndlsym:\n"
        "  endbr64\n"
        "  mov (%rsp), %rdx\n" // the caller
        "  push %rdi\n  push %rsi\n  sub $8, %rsp\n"
        "  call nk_dlsym_choose\n"
        "  add $8, %rsp\n  pop %rsi\n  pop %rdi\n"
        "  test %rax, %rax\n  jz 1f\n"
        "  cmp $-1, %rax\n  jne 2f\n"
        "  xor %eax, %eax\n"
        "2: ret\n"
        "1: jmp *nk_real_dlsym(%rip)\n"
        ".size dlsym, .-dlsym\n.hidden nk_real_dlsym\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl dlsym\n.type dlsym, %function\ndlsym:\n"
        "  bti c\n"
        "  stp x29, x30, [sp, #-32]!\n  mov x29, sp\n  stp x0, x1, [sp, #16]\n"
        "  mov x2, x30\n"
        "  bl nk_dlsym_choose\n"
        "  mov x9, x0\n  ldp x0, x1, [sp, #16]\n  ldp x29, x30, [sp], #32\n"
        "  cbz x9, 1f\n"
        "  cmn x9, #1\n  csel x0, xzr, x9, eq\n  ret\n"
        "1: adrp x16, nk_real_dlsym\n  ldr x16, [x16, :lo12:nk_real_dlsym]\n  br x16\n"
        ".size dlsym, .-dlsym\n.hidden nk_real_dlsym\n");
#else
#error "dlsym needs a trampoline for this processor"
#endif

// ---- cuGetProcAddress: asked for through dlsym and through itself

enum { PER_THREAD_DEFAULT_STREAM = 2 }; // CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM

static void swap_answer(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
    if (!symbol || !pfn || !*pfn || !is_driver_name(symbol)) return;
    nk_resolve_driver();
    *pfn = swapped(*pfn, symbol, version, (flags & PER_THREAD_DEFAULT_STREAM) != 0);
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
    CUresult r = nk_real.cuGetProcAddress(symbol, pfn, version, flags);
    if (r == NK_CUDA_SUCCESS) swap_answer(symbol, pfn, version, flags);
    return r;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags, int *status)
{
    CUresult r = nk_real.cuGetProcAddress_v2(symbol, pfn, version, flags, status);
    if (r == NK_CUDA_SUCCESS) swap_answer(symbol, pfn, version, flags);
    return r;
}

// ---- the private table through which 11.x runtimes load

CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
    CUresult r = nk_real.cuGetExportTable(table, id);
    if (r == NK_CUDA_SUCCESS && table && *table && id) nk_slots_watch(*table, id);
    return r;
}
