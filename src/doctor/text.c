// text.c - the doctor on one screen: a table of areas, then the findings.
#define _GNU_SOURCE
#include "doctor/doctor.h"
#include "report/fix.h"
#include "report/page.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 80, AREA = 12, STATUS = 12 };

static const char *text_of(const struct nk_buf *buf) { return buf->data ? buf->data : ""; }

// ---- the table

static void row(struct nk_page *page, const struct nk_doctor *doctor, const struct nk_doctor_row *row)
{
    const size_t room = COLUMNS - 2 - AREA - STATUS;
    const char *status = nk_doctor_status(doctor, row), *rest = text_of(&row->found);
    bool bad = !strcmp(status, "FAILS");
    nk_buf_format(page->out, "  %-*s", AREA, row->area);
    for (bool first = true; first || *rest; first = false) {
        size_t size = nk_page_fit(rest, room);
        if (!first) nk_buf_fill(page->out, ' ', 2 + AREA);
        nk_buf_add(page->out, rest, size);
        if (first) nk_buf_fill(page->out, ' ', size < room ? room - size : 1);
        if (first)
            nk_buf_format(page->out, "%s%s%s", bad && page->colour ? "\033[1;31m" : "", status,
                          bad && page->colour ? "\033[0m" : "");
        nk_buf_text(page->out, "\n");
        rest += size + strspn(rest + size, " ");
    }
}

// ---- findings

static void lines(struct nk_page *page, const char *label, const struct nk_buf *text)
{
    for (const char *at = text_of(text); *at;) {
        size_t size = strcspn(at, "\n");
        struct nk_buf line = {0};
        nk_buf_add(&line, at, size);
        nk_page_prose(page, 4, label, NK_STYLE_STRONG, text_of(&line));
        nk_buf_free(&line);
        label = "";
        at += size + (at[size] == '\n');
    }
}

static void sentence(struct nk_page *page, const char *label, const char *text)
{
    nk_page_prose(page, 4, label, NK_STYLE_STRONG, text);
}

// The repair of the catalogue, then those of the advice.
static void repairs(struct nk_page *page, const struct nk_doctor *doctor, const struct nk_doctor_finding *f)
{
    struct nk_advice all = {.language = doctor->language};
    struct nk_buf none = {0};
    if (f->remedy.size)
        all.repair[all.count++] = (struct nk_repair){.text = f->remedy,
                                                     .command = f->command.size ? f->command : none,
                                                     .safe_because = nk_finding(f->name)->safety};
    for (size_t i = 0; i < f->advice.count && all.count < NK_REPAIRS_MOST; i++)
        all.repair[all.count++] = f->advice.repair[i];
    nk_block_repairs(page, &all, NULL);
}

static void one(struct nk_page *page, const struct nk_doctor *doctor, const struct nk_doctor_finding *f)
{
    const struct nk_finding_text *text = nk_finding(f->name);
    struct nk_buf head = {0};
    nk_page_gap(page);
    nk_buf_format(&head, "%s: %s", f->severity == NK_SEVERITY_FAILURE ? "FAILS" : nk_severity_word(f->severity),
                  text_of(&f->sentence));
    if (f->primary) nk_buf_text(&head, nk_text_raw(doctor->language, NK_TEXT_LIKELY_CAUSE));
    nk_page_prose(page, 2, text->code, f->severity == NK_SEVERITY_FAILURE ? NK_STYLE_BAD : NK_STYLE_STRONG,
                  text_of(&head));
    nk_buf_free(&head);
    lines(page, "seen", &f->evidence);
    sentence(page, "means", text->means[doctor->language]);
    sentence(page, "not", text->not_means[doctor->language]);
    repairs(page, doctor, f);
    sentence(page, "check", text_of(&f->verify));
}

void nk_doctor_write_findings(struct nk_page *page, const struct nk_doctor *doctor)
{
    for (size_t i = 0; i < doctor->finding_count; i++) one(page, doctor, doctor->findings[i]);
}

static void headline(struct nk_page *page, const struct nk_doctor *doctor)
{
    const struct nk_doctor_finding *cause = nk_doctor_cause(doctor);
    struct nk_buf out = {0};
    size_t unchecked = 0;
    char number[24];
    for (size_t i = 0; i < doctor->row_count; i++) unchecked += doctor->rows[i].unchecked;
    nk_buf_text(&out, "nokernel doctor: ");
    snprintf(number, sizeof number, "%zu", unchecked);
    if (cause)
        nk_buf_text(&out, text_of(&cause->sentence));
    else
        nk_text_add(&out, doctor->language,
                    unchecked > 1 ? NK_TEXT_NOTHING_IN
                    : unchecked   ? NK_TEXT_NOTHING_IN_ONE
                                  : NK_TEXT_NOTHING_TO_CHANGE,
                    number, NULL, NULL, NULL);
    nk_page_sentence(page, 0, text_of(&out));
    nk_buf_free(&out);
}

void nk_doctor_write_text(struct nk_buf *out, const struct nk_doctor *doctor, bool colour)
{
    struct nk_page page = {.out = out, .columns = COLUMNS, .colour = colour, .full_paths = doctor->asked.full_paths};
    headline(&page, doctor);
    nk_page_gap(&page);
    nk_buf_format(out, "  %-*s%-*s%s\n", AREA, "area", COLUMNS - 2 - AREA - STATUS, "found", "status");
    for (size_t i = 0; i < doctor->row_count; i++) row(&page, doctor, &doctor->rows[i]);
    nk_doctor_write_findings(&page, doctor);
}
