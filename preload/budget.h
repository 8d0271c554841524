// budget.h - how often something may be done, so that it takes a small part of the time: one percent of what passes.
//
// A reserve lets much be done at once, for programs that are short or pause. What one time costs is measured, on this
// machine and in this program, because nobody knows it: a driver that is slow, or whose lock is taken, makes it rarer.
//
// Times are ticks of the processor's counter, which costs a third of clock_gettime to read; only their ratios matter.
// The counter may differ between processors: then a little too much or too little is allowed, no more.
#ifndef NK_PRELOAD_BUDGET_H
#define NK_PRELOAD_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    NK_BUDGET_SHARE = 100,   // one part in so many
    NK_BUDGET_RESERVE = 256, // so often at once
    NK_BUDGET_RARE = 16,     // who had so many times the usual pause has a reserve of its own
};

// Zero at first. One budget serves all threads; they write to it only when they spend.
struct nk_budget {
    _Alignas(64) _Atomic uint64_t due; // from then on it may be done,
    _Atomic uint64_t rare;             // and before, when it was not done for so long
    _Atomic uint64_t paid;             // when all that was spent will be paid for by the time that passes
    _Atomic uint64_t usual;            // what one time costs, in 1/16 ticks
};

static inline uint64_t nk_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#endif
}

// It was done, and took from `start` to `end`.
void nk_budget_spend(struct nk_budget *budget, uint64_t start, uint64_t end);

// What nk_budget_allows asks before it is due, of one for which it was not done for long.
bool nk_budget_allows_rare(struct nk_budget *budget, uint64_t now, uint64_t last);
// May it be done now? `last`: when it was done last for the same one (a stream): one for which it is done rarely is not
// to starve beside another for which it is done whenever it may be.
static inline bool nk_budget_allows(struct nk_budget *budget, uint64_t now, uint64_t last)
{
    if (now >= atomic_load_explicit(&budget->due, memory_order_relaxed)) return true;
    // `last` may be of a processor whose counter is ahead: the other function knows.
    return now - last > atomic_load_explicit(&budget->rare, memory_order_relaxed) &&
           nk_budget_allows_rare(budget, now, last);
}

#endif
