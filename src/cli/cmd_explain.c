// cmd_explain.c - `nokernel explain`: what an error, an architecture or a reason means.
#define _GNU_SOURCE
#include "base/json_text.h"
#include "advice/explain.h"
#include "cli/command.h"
#include "report/page.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int explain_main(int argc, char **argv);

const struct nk_command nk_cmd_explain = {
    .name = "explain",
    .summary = "what an error, an architecture or a reason of a report means",
    .help = "Usage: nokernel explain [--json] WORD ...\n"
            "\n"
            "WORD is one of\n"
            "  209, cudaErrorNoKernelImageForDevice, CUDA_ERROR_NO_BINARY_FOR_GPU   an error\n"
            "  \"no kernel image is available ...\"                                   a message\n"
            "  sm_120, compute_90a, 12.0                                            an architecture\n"
            "  \"RTX 5090\"                                                           a GPU\n"
            "  arch-specific                                                        a reason of a report\n"
            "  D602, findings                                                       a finding of doctor, all of them\n"
            "Several words are several questions, unless they are a GPU or a message only together; quotes make that\n"
            "certain.\n"
            "\n"
            "Options\n"
            "  --json   as JSON (schema nokernel-explain/1: an array `explained`)\n"
            "  --help   this text\n"
            "\n"
            "Exit status: 0 explained; 1 the output could not be written; 2 wrong usage, or a word that is not\n"
            "known (named on stderr, with the nearest one; the others are explained).\n",
    .main = explain_main,
};

static int unknown(const char *word)
{
    enum { MOST = 1000 };
    char *words[MOST + 1] = {NULL};
    const char *next;
    size_t count = 0;
    // The words that are made on the fly share their memory.
    while (count < MOST && (next = nk_explain_word(count)) && (words[count] = strdup(next))) count++;
    // A whole message is like no word: whoever pasted it is told where else to look.
    bool message = strchr(word, ' ');
    const char *near = strlen(word) > 3 && !message ? nk_cli_nearest(word, (const char *const *)words) : NULL;
    struct nk_buf hint = {0};
    if (near) nk_buf_format(&hint, " (did you mean %s?)", near);
    if (message)
        nk_buf_text(&hint, "; nokernel doctor looks at the machine, nokernel run -- PROGRAM at what fails in it");
    int code =
        nk_cli_fail(NK_EXIT_USAGE, "explain: \"%s\" is no error, message, architecture, GPU or reason that is known%s",
                    word, hint.data ? hint.data : "");
    nk_buf_free(&hint);
    while (count) free(words[--count]);
    return code;
}

enum { COLUMNS = 80, MOST_ITEMS = 8 };

// A list in a row of text: GPUs are many.
static void joined(struct nk_buf *out, const struct nk_explain_row *row)
{
    size_t shown = 0, left = 0;
    bool cut = !strcmp(row->key, "gpus");
    for (const char *at = row->text.data; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        if (cut && shown == MOST_ITEMS) {
            left++;
            continue;
        }
        nk_buf_format(out, "%s%.*s", shown++ ? (strchr(at, ':') ? "; " : ", ") : "", (int)strcspn(at, "\n"), at);
    }
    if (left) nk_buf_format(out, " and %zu more (--json lists them)", left);
}

static void one_a_line(struct nk_page *page, const struct nk_explain_row *row)
{
    for (const char *at = row->text.data; at && *at;) {
        size_t size = strcspn(at, "\n");
        struct nk_buf code = {0}, line = {0};
        nk_buf_add(&code, at, strcspn(at, " "));
        nk_buf_add(&line, at + code.size + 1, size > code.size ? size - code.size - 1 : 0);
        if (code.data && line.data) nk_page_prose(page, 2, code.data, NK_STYLE_STRONG, line.data);
        nk_buf_free(&code);
        nk_buf_free(&line);
        at += size + (at[size] == '\n');
    }
}

static void text(const struct nk_explained *e, struct nk_buf *out, bool gap)
{
    struct nk_page page = {.out = out, .columns = COLUMNS, .colour = nk_cli_colour(STDOUT_FILENO)};
    if (gap) nk_page_gap(&page);
    nk_page_sentence(&page, 0, e->title.data ? e->title.data : "");
    for (size_t i = 0; i < e->count; i++) {
        struct nk_buf line = {0};
        const struct nk_explain_row *row = &e->row[i];
        if (!strcmp(row->key, "findings")) {
            one_a_line(&page, row);
            continue;
        }
        row->list ? joined(&line, row) : nk_buf_text(&line, row->text.data);
        nk_page_prose(&page, 2, row->label, NK_STYLE_STRONG, line.data ? line.data : "");
        nk_buf_free(&line);
    }
}

static json_t *list(const struct nk_buf *from)
{
    json_t *array = json_array();
    for (const char *at = from->data; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        json_array_append_new(array, json_stringn(at, strcspn(at, "\n")));
    return array;
}

static json_t *json(const struct nk_explained *e, const char *word)
{
    json_t *object = json_pack("{s:s?, s:s, s:s}", "word", word, "kind", e->kind, "title", e->title.data);
    for (size_t i = 0; object && i < e->count; i++)
        json_object_set_new(object, e->row[i].key,
                            e->row[i].list ? list(&e->row[i].text) : json_string(e->row[i].text.data));
    return object;
}

// "RTX 5090" and messages that stand without quotes, where a word of them says nothing by itself. Joined.
static bool is_unquoted(int argc, char **argv, struct nk_buf *joined)
{
    bool apart = true;
    for (int i = 1; i < argc; i++) {
        struct nk_explained explained;
        if (strchr(argv[i], ' ')) return false;
        apart = nk_explain(argv[i], &explained) && apart;
        nk_explained_free(&explained);
        nk_buf_format(joined, "%s%s", i > 1 ? " " : "", argv[i]);
    }
    return !apart && joined->data && nk_explain_is_one(joined->data);
}

static int explain_main(int argc, char **argv)
{
    bool as_json = false;
    const struct nk_option options[] = {{"--json", NULL, &as_json}, {0}};
    int code = nk_cli_options(&argc, argv, options, false, &nk_cmd_explain);
    if (code) return code < 0 ? NK_EXIT_OK : code;
    if (argc < 2)
        return nk_cli_fail(NK_EXIT_USAGE, "explain: a word was expected: 209, sm_120, arch-specific, ...; nokernel "
                                          "explain --help tells more");
    struct nk_buf out = {0}, joined = {0};
    json_t *all = json_array();
    if (argc > 2 && is_unquoted(argc, argv, &joined)) {
        argc = 2;
        argv[1] = joined.data;
    }
    for (int i = 1; i < argc; i++) {
        struct nk_explained explained;
        if (!nk_explain(argv[i], &explained))
            code = unknown(argv[i]);
        else if (as_json)
            json_array_append_new(all, json(&explained, argv[i]));
        else
            text(&explained, &out, out.size);
        nk_explained_free(&explained);
    }
    if (as_json)
        nk_json_write_document(&out, json_pack("{s:s, s:s, s:O}", "schema", "nokernel-explain/1", "language",
                                               nk_text_language() == NK_CHINESE ? "zh" : "en", "explained", all));
    json_decref(all);
    int written = nk_cli_write(STDOUT_FILENO, &out);
    nk_buf_free(&out);
    nk_buf_free(&joined);
    return written ? written : code;
}
