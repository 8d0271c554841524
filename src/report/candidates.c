// candidates.c - which kernel it may have been, where the driver was not told a name.
//
// A template library that is compiled into many fat binaries registers one and the same kernel from each (CUB does so
// with an empty kernel that it asks for its architecture), and a runtime that is asked for that kernel tries them all.
// So a name that most of the refused fat binaries share is the likely one; what the rest hold was asked for by itself.
#include "report/candidates.h"
#include "base/table.h"
#include "report/words.h"

#include <stdint.h>

enum { MOST_NAMES = 3, MOST_BOXES = 10 };

static bool holds(const struct nk_run_container *c, uint32_t name)
{
    for (uint32_t i = 0; i < c->names_count; i++)
        if (c->names[i] == name) return true;
    return false;
}

// The name that most containers hold, and in *times how many do. 0 when none is held by more than half of them.
static uint32_t shared(const struct nk_run_container *const *boxes, size_t count, size_t *times)
{
    struct nk_table seen = {0};
    uint32_t best = 0;
    *times = count / 2;
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < boxes[i]->names_count; k++) {
            uint32_t name = boxes[i]->names[k];
            uintptr_t n = (uintptr_t)nk_table_get(&seen, name) + 1;
            nk_table_put(&seen, name, (void *)n);
            if (n > *times) {
                *times = n;
                best = name;
            }
        }
    nk_table_free(&seen);
    return best;
}

// Up to three names of the containers that do not hold `without` (0: of all), and how many more there are.
static void list(struct nk_page *page, struct nk_run *run, const struct nk_run_container *const *boxes, size_t count,
                 uint32_t without, struct nk_buf *line)
{
    uint32_t ids[MOST_NAMES] = {0};
    size_t shown = 0, total = 0;
    for (size_t i = 0; i < count; i++) {
        if (without && holds(boxes[i], without)) continue;
        total += boxes[i]->names_total;
        for (uint32_t k = 0; k < boxes[i]->names_count && shown < MOST_NAMES; k++) {
            uint32_t id = boxes[i]->names[k];
            bool again = false;
            for (size_t n = 0; n < shown; n++) again |= ids[n] == id;
            if (again) continue;
            if (shown) nk_buf_text(line, ", ");
            nk_words_kernel(line, nk_run_text(run, id), nk_page_room(page) - 20);
            ids[shown++] = id;
        }
    }
    if (shown && total > shown) nk_buf_format(line, " and %zu more", total - shown);
}

void nk_row_candidates(struct nk_page *page, struct nk_run *run, const struct nk_run_container *const *boxes,
                       size_t count)
{
    struct nk_buf line = {0}, rest = {0};
    size_t times;
    uint32_t most = count > 1 ? shared(boxes, count, &times) : 0;
    if (most) {
        nk_words_kernel(&line, nk_run_text(run, most), nk_page_room(page) - 10);
        if (times == count)
            nk_buf_format(&line, ", which all %zu hold", count);
        else
            nk_buf_format(&line, ", which %zu of the %zu hold", times, count);
        list(page, run, boxes, count, most, &rest);
        if (rest.size) nk_buf_format(&line, "; the others hold %s", rest.data);
    } else if (count <= MOST_BOXES) {
        list(page, run, boxes, count, 0, &line);
    }
    nk_page_buf(page, 2, "one of", NK_STYLE_PLAIN, &line);
    nk_buf_free(&line);
    nk_buf_free(&rest);
}
