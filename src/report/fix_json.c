// fix_json.c - the member "advice" of the JSON report.
#include "report/fix_json.h"

static json_t *text_or_null(const struct nk_buf *from)
{
    json_t *text = from->size ? json_string(from->data) : NULL;
    return text ? text : json_null();
}

void nk_fix_json(json_t *list, struct nk_run *run, json_int_t recording, const struct nk_run_gpu *asked,
                 bool full_paths)
{
    struct nk_fix fixes[NK_FIXES_MOST];
    size_t count = nk_fixes(run, asked, full_paths, fixes);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < fixes[i].advice.count; k++) {
            const struct nk_repair *r = &fixes[i].advice.repair[k];
            json_array_append_new(
                list, json_pack("{s:I, s:o, s:o, s:i, s:o, s:o, s:b, s:s, s:o, s:s}", "recording", recording, "for",
                                text_or_null(&fixes[i].name), "gpu", json_sprintf("sm_%u", fixes[i].gpu->r.sm), "rank",
                                (int)k + 1, "text", text_or_null(&r->text), "command", text_or_null(&r->command),
                                "safe", r->safe, "safe_because", nk_text_raw(fixes[i].advice.language, r->safe_because),
                                "evidence", text_or_null(&r->evidence), "language",
                                fixes[i].advice.language == NK_CHINESE ? "zh" : "en"));
        }
    nk_fixes_free(fixes, count);
}
