// passed.c - functions of the driver that are not in entries.def, though their names say that they load or launch.
//
// A driver newer than this library may have ways to launch that it does not know. Nothing can be said about what went
// through them, but that it happened can: each call is counted, by a stub that needs to know no parameters.
#define _GNU_SOURCE
#include "passed.h"

#include "wait.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 32, MOST_CAPTURES = 4 };
#if defined(__x86_64__)
enum { STUB = 32 };
#else
enum { STUB = 64 };
#endif

// Used by the assembly below.
__attribute__((visibility("hidden"), used)) void *nk_passed_real[MOST], *nk_passed_captures[MOST_CAPTURES];
__attribute__((visibility("hidden"), used)) uint64_t nk_passed_calls[MOST];
extern const char nk_passed_stubs[] __attribute__((visibility("hidden")));
extern const char nk_passed_capture_stubs[] __attribute__((visibility("hidden")));

static char names[MOST][64];
static _Atomic unsigned taken, captures_taken;

// `count` stubs: each adds one to its counter and jumps to the function at its place among `real`.
#if defined(__x86_64__)
#define STUBS(label, count, counter, real)                                                                             \
    __asm__(".text\n.balign 64\n.hidden " label "\n.globl " label "\n" label ":\n"                                     \
            ".set stub, 0\n.rept " count "\n"                                                                          \
            "  endbr64\n"                                                                                              \
            "  lock incq " counter "(%rip)\n"                                                                          \
            "  jmp *" real " + stub * 8(%rip)\n"                                                                       \
            "  .balign 32\n"                                                                                           \
            ".set stub, stub + 1\n.endr\n")
#elif defined(__aarch64__)
// x9 to x11 hold no argument (AAPCS64), x16 is the linker's own.
#define STUBS(label, count, counter, real)                                                                             \
    __asm__(".text\n.balign 64\n.hidden " label "\n.globl " label "\n" label ":\n"                                     \
            ".set stub, 0\n.rept " count "\n"                                                                          \
            "  bti c\n"                                                                                                \
            "  adrp x9, " counter "\n  add x9, x9, :lo12:" counter "\n"                                                \
            "1: ldxr x10, [x9]\n  add x10, x10, #1\n  stxr w11, x10, [x9]\n  cbnz w11, 1b\n"                           \
            "  adrp x16, " real " + stub * 8\n  ldr x16, [x16, :lo12:" real " + stub * 8]\n  br x16\n"                 \
            "  .balign 64\n"                                                                                           \
            ".set stub, stub + 1\n.endr\n")
#else
#error "passed.c needs stubs for this processor"
#endif
STUBS("nk_passed_stubs", "32", "nk_passed_calls + stub * 8", "nk_passed_real");
STUBS("nk_passed_capture_stubs", "4", "nk_captures", "nk_passed_captures"); // wait.h: nk_captures.unknown

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

// May it begin a capture?
static bool may_capture(const char *name)
{
    static const char *const harmless[] = {"IsCapturing", "GetCapture", "EndCapture", "CaptureDependencies",
                                           "CaptureMode"};
    bool may = strstr(name, "Captur") || strstr(name, "captur");
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) may &= !strstr(name, harmless[i]);
    return may;
}

// The place of a function among those of a kind: that which it has, or a new one; `most` when all are taken.
static unsigned place(void **real, _Atomic unsigned *count, unsigned most, const void *function)
{
    for (unsigned i = 0; i < *count && i < most; i++)
        if (__atomic_load_n(&real[i], __ATOMIC_ACQUIRE) == function) return i;
    unsigned at = (*count)++;
    if (at < most) return at;
    *count = most;
    return most;
}

static void *stub(const char *stubs, unsigned i) { return (void *)(uintptr_t)(stubs + (size_t)i * STUB); }

// Only its call counts: a binding for another language asks for every function that there is.
static void *capture(void *real)
{
    unsigned at = place(nk_passed_captures, &captures_taken, MOST_CAPTURES, real);
    if (at == MOST_CAPTURES) {
        nk_captures.unknown++; // it cannot be watched: taken as called
        return real;
    }
    __atomic_store_n(&nk_passed_captures[at], real, __ATOMIC_RELEASE);
    return stub(nk_passed_capture_stubs, at);
}

void *nk_passed(void *real, const char *name)
{
    if (may_capture(name)) return capture(real);
    if (!is_wanted(name)) return real;
    unsigned at = place(nk_passed_real, &taken, MOST, real);
    if (at == MOST) return real;
    if (__atomic_load_n(&nk_passed_real[at], __ATOMIC_ACQUIRE) != real) {
        snprintf(names[at], sizeof names[at], "%s", name);
        __atomic_store_n(&nk_passed_real[at], real, __ATOMIC_RELEASE);
    }
    return stub(nk_passed_stubs, at);
}

void nk_passed_each(void (*each)(const char *name, uint64_t calls))
{
    for (unsigned i = 0; i < taken && i < MOST; i++) {
        uint64_t calls = __atomic_load_n(&nk_passed_calls[i], __ATOMIC_RELAXED);
        if (calls) each(names[i], calls);
    }
}

void nk_passed_forget(void) { memset(nk_passed_calls, 0, sizeof nk_passed_calls); }
