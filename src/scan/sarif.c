// sarif.c - the findings of a scan as SARIF 2.1.0.
//
// With what GitHub's code scanning asks for beyond the schema ("SARIF support for code scanning" in its documentation):
// a description and help for each rule, a region for each place, paths relative to the working copy, and fingerprints
// that stay the same from run to run, or it would open every alert anew.
#define _GNU_SOURCE
#include "scan/json.h"
#include "base/json_text.h"
#include "scan/pairs.h"
#include "scan/words.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static json_t *text(const struct nk_buf *from) { return nk_json_text(from->data ? from->data : ""); }

static json_t *message(const char *sentence) { return json_pack("{s:s}", "text", sentence); }

// A path as a URI reference (RFC 3986).
static json_t *uri(const char *path)
{
    struct nk_buf out = {0};
    for (; *path; path++) {
        unsigned char c = (unsigned char)*path;
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._~/+", c);
        if (plain)
            nk_buf_add(&out, path, 1);
        else
            nk_buf_format(&out, "%%%02X", c);
    }
    json_t *value = text(&out);
    nk_buf_free(&out);
    return value;
}

// Relative to the current folder for what lies below it.
static const char *relative(const char *path)
{
    char here[PATH_MAX];
    size_t size = getcwd(here, sizeof here) ? strlen(here) : 0;
    bool below = size > 1 && !strncmp(path, here, size) && path[size] == '/' && path[size + 1];
    return below ? path + size + 1 : path;
}

static json_t *location(const struct nk_scan_finding *f, const struct nk_scan_show *show)
{
    struct nk_buf file = {0};
    nk_scan_shown(&file, relative(f->item->path), show->full_paths);
    // A member of an archive has no file of its own: the archive is the place.
    if (!f->item->archive && strcmp(f->item->path, f->library->path)) nk_buf_format(&file, "/%s", f->library->path);
    json_t *place = json_pack("{s:{s:{s:o},s:{s:i,s:i,s:i,s:i}}}", "physicalLocation", "artifactLocation", "uri",
                              uri(file.data ? file.data : ""), "region", "startLine", 1, "startColumn", 1, "endLine", 1,
                              "endColumn", 1);
    nk_buf_clear(&file);
    nk_scan_shown(&file, f->library->path, show->full_paths);
    json_object_set_new(place, "logicalLocations",
                        json_pack("[{s:o,s:s}]", "fullyQualifiedName", text(&file), "kind", "module"));
    nk_buf_free(&file);
    return json_pack("[o]", place);
}

static const char *level(enum nk_scan_rule rule)
{
    bool error = rule == NK_RULE_NONE || rule == NK_RULE_PARTLY || rule == NK_RULE_EXPECT;
    return error ? "error" : rule == NK_RULE_JIT ? "note" : "warning";
}

// The same for the next version of the package: no version, no count.
static json_t *fingerprint(const struct nk_scan_finding *f, const struct nk_scan_show *show)
{
    struct nk_buf out = {0};
    char *library = nk_scan_plain_path(f->library->path);
    nk_buf_format(&out, "%s:", nk_scan_rule_word(f->rule));
    if (*f->item->package.name)
        nk_buf_text(&out, f->item->package.name);
    else
        nk_scan_shown(&out, relative(f->item->path), show->full_paths);
    nk_buf_text(&out, ":");
    if (library) nk_scan_shown(&out, relative(library), show->full_paths);
    nk_buf_text(&out, ":");
    if (f->gpu)
        nk_buf_text(&out, f->gpu->text);
    else
        nk_buf_add(&out, f->text, strcspn(f->text, ",")); // "sm_90 is expected"
    json_t *value = text(&out);
    nk_buf_free(&out);
    free(library);
    return json_pack("{s:o}", "primaryLocationLineHash", value);
}

static json_t *result(const struct nk_scan_finding *f, const struct nk_scan_show *show)
{
    struct nk_buf sentence = {0};
    nk_scan_title(&sentence, f->item, show->full_paths);
    nk_buf_text(&sentence, ": ");
    nk_scan_shown(&sentence, f->library->path, show->full_paths);
    nk_buf_format(&sentence, "%s%s: %s", f->gpu ? " on " : "", f->gpu ? f->gpu->text : "", f->text);
    json_t *words = text(&sentence);
    nk_buf_free(&sentence);
    return json_pack("{s:s,s:i,s:s,s:{s:o},s:o,s:o}", "ruleId", nk_scan_rule_word(f->rule), "ruleIndex", (int)f->rule,
                     "level", level(f->rule), "message", "text", words, "locations", location(f, show),
                     "partialFingerprints", fingerprint(f, show));
}

static json_t *rules(void)
{
    json_t *list = json_array();
    for (enum nk_scan_rule rule = 0; rule < NK_RULE_COUNT; rule++)
        json_array_append_new(list,
                              json_pack("{s:s,s:o,s:o,s:o,s:{s:s}}", "id", nk_scan_rule_word(rule), "shortDescription",
                                        message(nk_scan_rule_sentence(rule)), "fullDescription",
                                        message(nk_scan_rule_sentence(rule)), "help", message(nk_scan_rule_help(rule)),
                                        "defaultConfiguration", "level", level(rule)));
    return list;
}

// What could not be read.
static json_t *notifications(const struct nk_scan *scan, const struct nk_scan_show *show)
{
    json_t *list = json_array();
    for (size_t i = 0; i < scan->problem_count; i++) {
        struct nk_buf sentence = {0};
        nk_scan_shown(&sentence, scan->problems[i].path, show->full_paths);
        nk_buf_format(&sentence, ": %s", scan->problems[i].text);
        json_array_append_new(list, json_pack("{s:s,s:{s:o}}", "level", "error", "message", "text", text(&sentence)));
        nk_buf_free(&sentence);
    }
    return list;
}

void nk_scan_write_sarif(struct nk_buf *out, const struct nk_scan *scan, const struct nk_scan_show *show,
                         const struct nk_scan_findings *findings)
{
    json_t *results = json_array();
    for (size_t i = 0; i < findings->count; i++) json_array_append_new(results, result(&findings->finding[i], show));
    json_t *tool =
        json_pack("{s:{s:s,s:s,s:o}}", "driver", "name", "nokernel", "version", NK_VERSION, "rules", rules());
    json_t *invocation = json_pack("{s:b,s:o}", "executionSuccessful", !scan->problem_count,
                                   "toolExecutionNotifications", notifications(scan, show));
    json_t *root = json_pack(
        "{s:s,s:s,s:[{s:o,s:[o],s:o,s:s}]}", "$schema",
        "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json", "version",
        "2.1.0", "runs", "tool", tool, "invocations", invocation, "results", results, "columnKind", "utf16CodeUnits");
    nk_json_write_document(out, root);
}
