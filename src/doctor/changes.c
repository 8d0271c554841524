// changes.c - what changed since an environment worked, as text and as JSON.
#include "doctor/saved.h"
#include "base/json_text.h"
#include "report/fix.h"
#include "report/page.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char *or_nothing(const char *text) { return *text ? text : "nothing"; }

static void one(struct nk_page *page, const struct nk_doctor_change *c)
{
    struct nk_buf line = {0};
    nk_buf_format(&line, "%s%s%s -> %s", c->name, *c->name ? "  " : "", or_nothing(c->then), or_nothing(c->now));
    if (line.data) nk_page_row(page, 2, c->area, NK_STYLE_STRONG, line.data);
    nk_buf_free(&line);
}

static void way_back(struct nk_page *page, const struct nk_doctor *doctor, const struct nk_doctor_changes *changes)
{
    for (size_t i = 0; i < changes->back_count; i++) {
        const struct nk_doctor_back *back = &changes->back[i];
        struct nk_advice advice = {.language = doctor->language, .count = 1};
        struct nk_repair *repair = &advice.repair[0];
        repair->safe_because = back->safety;
        nk_text_add(&repair->text, doctor->language, back->text, back->value, NULL, NULL, NULL);
        if (*back->command) nk_buf_text(&repair->command, back->command);
        nk_page_gap(page);
        nk_block_repairs(page, &advice, NULL);
        nk_advice_free(&advice);
    }
}

void nk_doctor_changes_text(struct nk_buf *out, const struct nk_doctor *doctor, const struct nk_doctor_changes *changes,
                            const char *path)
{
    struct nk_page page = {.out = out, .columns = 80, .full_paths = doctor->asked.full_paths};
    struct nk_buf head = {0};
    char number[24], libraries[24];
    snprintf(number, sizeof number, "%zu", changes->count ? changes->count : changes->packages);
    snprintf(libraries, sizeof libraries, "%zu", changes->libraries);
    nk_buf_text(&head, "nokernel doctor: ");
    nk_text_add(&head, doctor->language,
                changes->count > 1 ? NK_TEXT_CHANGES_SINCE
                : changes->count   ? NK_TEXT_CHANGE_SINCE
                                   : NK_TEXT_UNCHANGED_SINCE,
                changes->saved, path, number, libraries);
    if (head.data) nk_page_sentence(&page, 0, head.data);
    nk_buf_free(&head);
    if (changes->count) nk_page_gap(&page);
    for (size_t i = 0; i < changes->count; i++) one(&page, &changes->change[i]);
    way_back(&page, doctor, changes);
}

void nk_doctor_changes_json(struct nk_buf *out, const struct nk_doctor *doctor, const struct nk_doctor_changes *changes)
{
    json_t *list = json_array(), *commands = json_array();
    for (size_t i = 0; i < changes->count; i++) {
        const struct nk_doctor_change *c = &changes->change[i];
        json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o}", "area", c->area, "name", nk_json_text(c->name),
                                              "then", nk_json_text(c->then), "now", nk_json_text(c->now)));
    }
    for (size_t i = 0; i < changes->back_count; i++) {
        const struct nk_doctor_back *back = &changes->back[i];
        struct nk_buf text = {0};
        bool safe = back->safety != NK_TEXT_RISK_MOVES && back->safety != NK_TEXT_RISK_SYSTEM;
        nk_text_add(&text, doctor->language, back->text, back->value, NULL, NULL, NULL);
        json_array_append_new(commands, json_pack("{s:o, s:o, s:b}", "text", nk_json_text(text.data ? text.data : ""),
                                                  "command", nk_json_text(back->command), "safe", safe));
        nk_buf_free(&text);
    }
    json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:o, s:o}", "schema", "nokernel-doctor-compare/1",
                             "language", doctor->language == NK_CHINESE ? "zh" : "en", "version", NK_VERSION, "saved",
                             changes->saved, "packages", (int)changes->packages, "libraries", (int)changes->libraries,
                             "changes", list, "back", commands);
    nk_json_write_document(out, root);
}
