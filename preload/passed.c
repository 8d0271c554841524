// passed.c - functions of the driver that are not in entries.def, though their names say that they load or launch.
//
// A driver newer than this library may have ways to launch that it does not know. Nothing can be said about what went
// through them, but that it happened can: each call is counted, by a stub that needs to know no parameters.
#define _GNU_SOURCE
#include "passed.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 32 };
#if defined(__x86_64__)
enum { STUB = 32 };
#else
enum { STUB = 64 };
#endif

// Used by the assembly below.
__attribute__((visibility("hidden"), used)) void *nk_passed_real[MOST];
__attribute__((visibility("hidden"), used)) uint64_t nk_passed_calls[MOST];
extern const char nk_passed_stubs[] __attribute__((visibility("hidden")));

static char names[MOST][64];
static _Atomic unsigned taken;

#if defined(__x86_64__)
__asm__(".text\n.balign 64\n.hidden nk_passed_stubs\n.globl nk_passed_stubs\nnk_passed_stubs:\n"
        ".set stub, 0\n.rept 32\n"
        "  endbr64\n"
        "  lock incq nk_passed_calls + stub * 8(%rip)\n"
        "  jmp *nk_passed_real + stub * 8(%rip)\n"
        "  .balign 32\n"
        ".set stub, stub + 1\n.endr\n");
#elif defined(__aarch64__)
// x9 to x11 hold no argument (AAPCS64), x16 is the linker's own.
__asm__(".text\n.balign 64\n.hidden nk_passed_stubs\n.globl nk_passed_stubs\nnk_passed_stubs:\n"
        ".set stub, 0\n.rept 32\n"
        "  bti c\n"
        "  adrp x9, nk_passed_calls + stub * 8\n  add x9, x9, :lo12:nk_passed_calls + stub * 8\n"
        "1: ldxr x10, [x9]\n  add x10, x10, #1\n  stxr w11, x10, [x9]\n  cbnz w11, 1b\n"
        "  adrp x16, nk_passed_real + stub * 8\n  ldr x16, [x16, :lo12:nk_passed_real + stub * 8]\n  br x16\n"
        "  .balign 64\n"
        ".set stub, stub + 1\n.endr\n");
#else
#error "passed.c needs stubs for this processor"
#endif

// Loads, launches, and what puts a kernel into a graph; not what only asks, nor functions of the host.
static bool is_wanted(const char *name)
{
    static const char *const words[] = {"Launch", "Load", "KernelNode", "GraphAddNode"};
    static const char *const harmless[] = {"Loading", "HostFunc", "Attribute", "Get", "Enabled"};
    bool wanted = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) wanted |= strstr(name, words[i]) != NULL;
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) wanted &= !strstr(name, harmless[i]);
    return wanted;
}

static void *stub(unsigned i) { return (void *)(uintptr_t)(nk_passed_stubs + (size_t)i * STUB); }

void *nk_passed(void *real, const char *name)
{
    if (!is_wanted(name)) return real;
    for (unsigned i = 0; i < taken && i < MOST; i++)
        if (__atomic_load_n(&nk_passed_real[i], __ATOMIC_ACQUIRE) == real) return stub(i);
    unsigned at = taken++;
    if (at >= MOST) {
        taken = MOST;
        return real;
    }
    snprintf(names[at], sizeof names[at], "%s", name);
    __atomic_store_n(&nk_passed_real[at], real, __ATOMIC_RELEASE);
    return stub(at);
}

void nk_passed_each(void (*each)(const char *name, uint64_t calls))
{
    for (unsigned i = 0; i < taken && i < MOST; i++) {
        uint64_t calls = __atomic_load_n(&nk_passed_calls[i], __ATOMIC_RELAXED);
        if (calls) each(names[i], calls);
    }
}

void nk_passed_forget(void) { memset(nk_passed_calls, 0, sizeof nk_passed_calls); }
