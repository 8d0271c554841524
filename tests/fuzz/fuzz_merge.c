// fuzz_merge.c - any bytes as JSON for a merge: a sentence, or a merge that is the same when it is merged again.
#include "fuzz.h"

#include "merge/read.h"
#include "merge/show.h"

#include <stdlib.h>

static void take(struct nk_merge *merge, struct nk_bytes text)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct nk_merge_in in = {merge, &lock, false};
    struct nk_err err = {0};
    int foreign;
    if (nk_merge_json(&in, text, "x", &foreign, &err) < 0 && !*err.text) abort();
    if (in.failed) abort();
}

// Every format of it; the JSON is left in `json`.
static void show(const struct nk_merge *merge, struct nk_buf *json)
{
    static const struct nk_merge_filter all;
    struct nk_merge_show how = {.columns = 60, .colour = true, .all = true};
    struct nk_merge_view view;
    struct nk_buf out = {0};
    if (nk_merge_view(&view, merge, &all)) abort();
    nk_merge_write_text(&out, &view, &how);
    nk_merge_write_markdown(&out, &view, &how);
    nk_merge_write_csv(&out, &view);
    nk_merge_write_json(json, &view);
    if (out.failed || json->failed) abort();
    nk_merge_view_free(&view);
    nk_buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nk_merge once = {0}, again = {0};
    struct nk_buf json = {0}, second = {0};
    take(&once, nk_bytes(data, size));
    show(&once, &json);
    take(&again, nk_bytes(json.data, json.size));
    show(&again, &second);
    if (json.size != second.size || memcmp(json.data, second.data, json.size)) abort();
    nk_merge_free(&once);
    nk_merge_free(&again);
    nk_buf_free(&json);
    nk_buf_free(&second);
    return 0;
}
