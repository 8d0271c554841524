// budget.c - how often something may be done, so that it takes a small part of the time.
//
// `paid` runs ahead of the clock by what was spent times NK_BUDGET_SHARE; the reserve is how far it may be ahead.
#include "budget.h"

bool nk_budget_allows(struct nk_budget *budget, uint64_t now, uint64_t last)
{
    uint64_t paid = atomic_load_explicit(&budget->paid, memory_order_relaxed);
    if (paid <= now) return true;
    // What one time costs, paid for: the pause between two when nothing is in reserve.
    uint64_t pause = atomic_load_explicit(&budget->usual, memory_order_relaxed) / 16 * NK_BUDGET_SHARE;
    uint64_t reserve = pause * NK_BUDGET_RESERVE, ahead = paid - now;
    if (ahead <= reserve) return true;
    // Further ahead than spending leads: this processor's counter is another one.
    if (ahead > 4 * reserve) atomic_store_explicit(&budget->paid, now + reserve, memory_order_relaxed);
    return ahead <= 2 * reserve && now > last && now - last > pause * NK_BUDGET_RARE;
}

void nk_budget_spend(struct nk_budget *budget, uint64_t start, uint64_t end)
{
    uint64_t cost = end > start ? end - start : 0;
    uint64_t usual = atomic_load_explicit(&budget->usual, memory_order_relaxed);
    // A thread that is interrupted meanwhile, or a full queue, is no cost of what is done.
    if (usual && cost > usual / 4) cost = usual / 4;
    atomic_store_explicit(&budget->usual, usual ? usual + cost - usual / 16 : cost * 16, memory_order_relaxed);
    uint64_t paid = atomic_load_explicit(&budget->paid, memory_order_relaxed), next;
    do next = (paid > start ? paid : start) + cost * NK_BUDGET_SHARE;
    while (
        !atomic_compare_exchange_weak_explicit(&budget->paid, &paid, next, memory_order_relaxed, memory_order_relaxed));
}
