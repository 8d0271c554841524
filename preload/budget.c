// budget.c - how often something may be done, so that it takes a small part of the time.
//
// `paid` runs ahead of the clock by what was spent times NK_BUDGET_SHARE; the reserve is how far it may be ahead.
#include "budget.h"

// What one time costs, paid for: the pause between two when nothing is in reserve.
static uint64_t pause_of(uint64_t usual) { return usual / 16 * NK_BUDGET_SHARE; }

bool nk_budget_allows_rare(struct nk_budget *budget, uint64_t now, uint64_t last)
{
    uint64_t paid = atomic_load_explicit(&budget->paid, memory_order_relaxed);
    uint64_t reserve = pause_of(atomic_load_explicit(&budget->usual, memory_order_relaxed)) * NK_BUDGET_RESERVE;
    if (paid <= now + 2 * reserve) return now > last;
    if (paid - now > 4 * reserve) {
        // Further ahead than spending leads: this processor's counter is another one.
        atomic_store_explicit(&budget->paid, now + reserve, memory_order_relaxed);
        atomic_store_explicit(&budget->due, now, memory_order_relaxed);
    }
    return false;
}

void nk_budget_spend(struct nk_budget *budget, uint64_t start, uint64_t end)
{
    uint64_t cost = end > start ? end - start : 0;
    uint64_t usual = atomic_load_explicit(&budget->usual, memory_order_relaxed);
    uint64_t paid = atomic_load_explicit(&budget->paid, memory_order_relaxed), next;
    // A thread that is interrupted meanwhile, or a full queue, is no cost of what is done.
    if (usual && cost > usual / 4) cost = usual / 4;
    usual = usual ? usual + cost - usual / 16 : cost * 16;
    do next = (paid > start ? paid : start) + cost * NK_BUDGET_SHARE;
    while (
        !atomic_compare_exchange_weak_explicit(&budget->paid, &paid, next, memory_order_relaxed, memory_order_relaxed));
    uint64_t pause = pause_of(usual), reserve = pause * NK_BUDGET_RESERVE;
    atomic_store_explicit(&budget->usual, usual, memory_order_relaxed);
    atomic_store_explicit(&budget->rare, pause * NK_BUDGET_RARE, memory_order_relaxed);
    atomic_store_explicit(&budget->due, next > reserve ? next - reserve : 0, memory_order_relaxed);
}
