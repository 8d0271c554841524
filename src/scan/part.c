// part.c - what was found in a part of an archive: putting parts together, handing over the whole.
#include "scan/part.h"

#include <stdlib.h>

static void add_said(struct nk_scan *to, struct nk_scan *from)
{
    for (size_t i = 0; i < from->problem_count; i++)
        nk_scan_problem_add(to, from->problems[i].path, from->problems[i].text);
    to->others += from->others;
    to->links += from->links;
    to->failed |= from->failed;
    nk_scan_free(from);
}

// As an item of `scan`.
static void add_libraries(struct nk_scan *scan, struct nk_scan_item *to, struct nk_scan_item *from)
{
    for (size_t i = 0; i < from->count; i++) nk_scan_item_add(scan, to, from->libraries[i]);
    free(from->libraries);
    *from = (struct nk_scan_item){0};
}

void nk_part_add(struct nk_part *part, struct nk_part *more)
{
    add_libraries(&part->said, &part->libraries, &more->libraries);
    add_said(&part->said, &more->said);
    nk_members_add(&part->members, &more->members);
    part->out += more->out;
    *more = (struct nk_part){0};
}

void nk_part_free(struct nk_part *part)
{
    for (size_t i = 0; i < part->libraries.count; i++) nk_scan_library_free(part->libraries.libraries[i]);
    free(part->libraries.libraries);
    nk_scan_free(&part->said);
    nk_members_free(&part->members);
    *part = (struct nk_part){0};
}

void nk_part_hand_over(struct nk_part *part, struct nk_scan *scan, const char *path)
{
    struct nk_package package;
    nk_members_package(&part->members, &package);
    for (size_t i = 0; i < part->libraries.count; i++) part->libraries.libraries[i]->package = package;
    struct nk_scan_item *item = part->libraries.count ? nk_scan_item_get(scan, path, &package) : NULL;
    if (item) item->archive = true;
    add_libraries(scan, item, &part->libraries);
    add_said(scan, &part->said);
    nk_part_free(part);
}
