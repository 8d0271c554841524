// junit.c - the findings of a scan as JUnit XML.
#include "base/json_text.h"
#include "scan/json.h"
#include "scan/words.h"

#include <string.h>

// XML 1.0 has no way to write most control characters, nor U+FFFE and U+FFFF; bytes that
// are no UTF-8 become '?', too.
static void escaped(struct nk_buf *out, const struct nk_buf *text)
{
    json_t *utf8 = nk_json_text(text->data ? text->data : "");
    if (!utf8) out->failed = true;
    for (const char *c = utf8 ? json_string_value(utf8) : ""; *c; c++) {
        const char *entity = *c == '&'   ? "&amp;"
                             : *c == '<' ? "&lt;"
                             : *c == '>' ? "&gt;"
                             : *c == '"' ? "&quot;"
                                         : NULL;
        bool bad = (unsigned char)*c < ' ' || !strncmp(c, "\xef\xbf\xbe", 3) || !strncmp(c, "\xef\xbf\xbf", 3);
        if (entity)
            nk_buf_text(out, entity);
        else
            nk_buf_add(out, bad ? "?" : c, 1);
        if (bad && (unsigned char)*c > ' ') c += 2;
    }
    json_decref(utf8);
}

// `<failure type="none" message="...">...</failure>`: Jenkins shows the message, GitLab the text. Empties the text.
static void outcome(struct nk_buf *out, const char *element, const char *type, struct nk_buf *text)
{
    nk_buf_format(out, ">\n      <%s type=\"%s\" message=\"", element, type);
    escaped(out, text);
    nk_buf_text(out, "\">");
    escaped(out, text);
    nk_buf_format(out, "</%s>\n    </testcase>\n", element);
    nk_buf_free(text);
}

// What nobody asked about is no case: it would count as passed.
static size_t cases_of(const struct nk_scan_item *item, const struct nk_scan_show *show,
                       const struct nk_scan_findings *findings)
{
    return item->count * ((findings->judged ? show->gpus->count : 0) + findings->expected);
}

// Findings about this library and GPU (NULL: what is expected).
static void failures(struct nk_buf *out, const struct nk_scan_findings *findings, const struct nk_scan_library *library,
                     const struct nk_scan_gpu *gpu)
{
    struct nk_buf all = {0};
    const char *type = NULL;
    // A case may hold one failure element; its text has a line a finding.
    for (size_t i = 0; i < findings->count; i++) {
        const struct nk_scan_finding *f = &findings->finding[i];
        if (f->library != library || f->gpu != gpu) continue;
        if (type) nk_buf_text(&all, "; ");
        if (!type) type = nk_scan_rule_word(f->rule);
        nk_buf_text(&all, f->text);
    }
    if (!type) {
        nk_buf_text(out, "/>\n");
        return;
    }
    outcome(out, "failure", type, &all);
}

static void test_case(struct nk_buf *out, const struct nk_scan_findings *findings,
                      const struct nk_scan_library *library, const struct nk_scan_gpu *gpu,
                      const struct nk_scan_show *show)
{
    struct nk_buf name = {0};
    nk_scan_shown(&name, library->path, show->full_paths);
    nk_buf_text(out, "    <testcase classname=\"");
    escaped(out, &name);
    nk_buf_free(&name);
    nk_buf_format(out, "\" name=\"%s\" time=\"0\"", gpu ? gpu->text : "expected images");
    failures(out, findings, library, gpu);
}

static size_t failed_cases(const struct nk_scan_item *item, const struct nk_scan_findings *findings)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++) {
        const struct nk_scan_finding *f = &findings->finding[i], *before = i ? f - 1 : NULL;
        // Findings of one case stand together.
        bool same = before && before->library == f->library && before->gpu == f->gpu;
        count += f->item == item && !same;
    }
    return count;
}

static void suite(struct nk_buf *out, const struct nk_scan_item *item, const struct nk_scan_show *show,
                  const struct nk_scan_findings *findings)
{
    struct nk_buf name = {0};
    nk_scan_title(&name, item, show->full_paths);
    nk_buf_text(out, "  <testsuite name=\"");
    escaped(out, &name);
    nk_buf_free(&name);
    nk_buf_format(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"0\" time=\"0\">\n",
                  cases_of(item, show, findings), failed_cases(item, findings));
    for (size_t i = 0; i < item->count; i++) {
        for (size_t g = 0; findings->judged && g < show->gpus->count; g++)
            test_case(out, findings, item->libraries[i], &show->gpus->gpu[g], show);
        if (findings->expected) test_case(out, findings, item->libraries[i], NULL, show);
    }
    nk_buf_text(out, "  </testsuite>\n");
}

// What could not be read: a suite of errors.
static void unread(struct nk_buf *out, const struct nk_scan *scan, const struct nk_scan_show *show)
{
    if (!scan->problem_count) return;
    nk_buf_format(
        out, "  <testsuite name=\"not read\" tests=\"%zu\" failures=\"0\" errors=\"%zu\" skipped=\"0\" time=\"0\">\n",
        scan->problem_count, scan->problem_count);
    for (size_t i = 0; i < scan->problem_count; i++) {
        struct nk_buf path = {0}, text = {0};
        nk_scan_shown(&path, scan->problems[i].path, show->full_paths);
        nk_buf_text(&text, scan->problems[i].text);
        nk_buf_text(out, "    <testcase classname=\"");
        escaped(out, &path);
        nk_buf_text(out, "\" name=\"read\" time=\"0\"");
        outcome(out, "error", "unreadable", &text);
        nk_buf_free(&path);
    }
    nk_buf_text(out, "  </testsuite>\n");
}

void nk_scan_write_junit(struct nk_buf *out, const struct nk_scan *scan, const struct nk_scan_show *show,
                         const struct nk_scan_findings *findings)
{
    size_t tests = scan->problem_count, failed = 0;
    for (size_t i = 0; i < scan->count; i++) {
        tests += cases_of(scan->items[i], show, findings);
        failed += failed_cases(scan->items[i], findings);
    }
    nk_buf_format(out,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"nokernel scan\" tests=\"%zu\" "
                  "failures=\"%zu\" errors=\"%zu\" time=\"0\">\n",
                  tests, failed, scan->problem_count);
    for (size_t i = 0; i < scan->count; i++) suite(out, scan->items[i], show, findings);
    unread(out, scan, show);
    nk_buf_text(out, "</testsuites>\n");
}
