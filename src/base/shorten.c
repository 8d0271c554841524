// shorten.c - makes the name of a kernel fit a line: leaves out step by step what tells kernels apart least.
#define _GNU_SOURCE
#include "base/shorten.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

// What is left out, in this order, until the line fits.
enum rank {
    KEPT,
    ANONYMOUS, // "(anonymous namespace)::" of the function
    RUNS,      // two and more numbers or types of numbers in a row, inside an argument
    LAYOUT,    // arguments that say how data lies in memory
    TRAILING,  // the function's own literals after its last named argument
    WRAPPERS,  // of a lambda inside f<Functor>, all but Functor
    SCOPE,     // the namespaces of the function
    SINGLES,   // single ones inside an argument
    CURT,      // all but the number of lambdas
    MARKS,     // the "..." for each that was left out: one at the end of the function's list stands for all
    LITERALS,  // the function's own literals
    NAMED,     // all else, but one argument of the function
    LAST,      // that one
};

enum { RECOGNISED = 24 }; // columns from the "<" on in which a part of an argument still says something

// ---- writing

static bool shown(const struct nk_node *node) { return node->hidden <= 0; }

// The argument that stands for a lambda's function, or -1.
static int stand_in(const struct nk_tree *tree, const struct nk_node *node)
{
    if (!node->lambda) return -1;
    for (int i = node->first; i >= 0; i = tree->nodes[i].after)
        if (tree->nodes[i].named && shown(&tree->nodes[i])) return i;
    return -1;
}

static void write_scope(const struct nk_tree *tree, struct nk_buf *out)
{
    static const char anonymous[] = "(anonymous namespace)::";
    const size_t size = sizeof anonymous - 1;
    struct nk_piece p = tree->scope;
    if (tree->no_scope > 0) return;
    for (size_t i = 0; i < p.size; i++) {
        bool dropped = tree->no_anonymous > 0 && p.size - i >= size && !memcmp(p.text + i, anonymous, size);
        if (dropped)
            i += size - 1;
        else
            nk_buf_add(out, p.text + i, 1);
    }
}

static void write_node(const struct nk_tree *tree, int index, struct nk_buf *out);

// Arguments in a row that are left out are one "..."; where none is shown there is no list, but for the function.
static void write_list(const struct nk_tree *tree, int index, struct nk_buf *out)
{
    const struct nk_node *nodes = tree->nodes;
    bool any = false, marks = tree->no_marks <= 0, begun = false;
    for (int i = nodes[index].first; i >= 0; i = nodes[i].after) any |= shown(&nodes[i]);
    if (nodes[index].first < 0 || (!any && index)) return;
    nk_buf_text(out, "<");
    for (int i = nodes[index].first; i >= 0; i = nodes[i].after) {
        bool follows = i != nodes[index].first && !shown(&nodes[nodes[i].before]);
        if (!shown(&nodes[i]) && (!marks || follows)) continue;
        nk_buf_text(out, begun ? ", " : "");
        begun = true;
        if (shown(&nodes[i]))
            write_node(tree, i, out);
        else
            nk_buf_text(out, "...");
    }
    nk_buf_text(out, index || marks ? ">" : "...>");
}

static void write_node(const struct nk_tree *tree, int index, struct nk_buf *out)
{
    const struct nk_node *node = &tree->nodes[index];
    int inner = node->unwrapped > 0 ? stand_in(tree, node) : -1;
    if (inner >= 0) {
        write_node(tree, inner, out);
        return;
    }
    const char *texts = tree->texts.data ? tree->texts.data : "";
    nk_buf_add(out, texts + node->word, node->word_size);
    write_list(tree, index, out);
    if (node->curt > 0)
        nk_buf_add(out, texts + node->brief, node->brief_size);
    else
        nk_buf_add(out, texts + node->tail, node->tail_size);
}

void nk_tree_write(const struct nk_tree *tree, struct nk_buf *out)
{
    nk_buf_clear(out);
    write_scope(tree, out);
    write_node(tree, 0, out);
}

// ---- leaving out

// Names of types that hold or find the data of a kernel, whatever it does with them: PyTorch's, CUB's, Thrust's.
static bool is_layout(const struct nk_tree *tree, const struct nk_node *node)
{
    static const char *const words[] = {"array",    "metadata", "calculator", "policy",   "iterator",
                                        "withcast", "without",  "tensorinfo", "accessor", "integral_constant"};
    char word[64];
    size_t size = node->word_size < sizeof word ? node->word_size : sizeof word - 1;
    memcpy(word, tree->texts.data + node->word, size);
    word[size] = 0;
    for (size_t i = 0; !node->lambda && i < sizeof words / sizeof *words; i++)
        if (strcasestr(word, words[i])) return true;
    return false;
}

// The only argument of the function with a name that is still shown: without it nothing would tell what it does.
static bool is_last_named(const struct nk_tree *tree, int index)
{
    bool other = false;
    for (int i = tree->nodes[0].first; i >= 0; i = tree->nodes[i].after)
        other |= i != index && tree->nodes[i].named && shown(&tree->nodes[i]);
    return tree->nodes[index].named && tree->nodes[index].depth == 1 && !other;
}

static bool literal(const struct nk_tree *tree, int index) { return index >= 0 && !tree->nodes[index].named; }

// A literal of the function that no named argument follows, though one precedes it.
static bool trailing(const struct nk_tree *tree, int index)
{
    int i = index;
    while (literal(tree, i)) i = tree->nodes[i].after;
    if (i >= 0) return false;
    while (literal(tree, index)) index = tree->nodes[index].before;
    return index >= 0;
}

static enum rank rank_of(const struct nk_tree *tree, int index)
{
    const struct nk_node *node = &tree->nodes[index];
    if (!index) return KEPT;
    if (node->named) return is_layout(tree, node) ? LAYOUT : NAMED;
    if (node->depth == 1) return trailing(tree, index) ? TRAILING : LITERALS;
    return literal(tree, node->before) || literal(tree, node->after) ? RUNS : SINGLES;
}

// Marks with `step` what the rank leaves out at a node; of a run all. False when there is nothing.
static bool leave_out(struct nk_tree *tree, int index, enum rank rank, int step)
{
    struct nk_node *node = &tree->nodes[index];
    if (rank == WRAPPERS) {
        bool can = !node->unwrapped && index && stand_in(tree, node) >= 0;
        if (can) node->unwrapped = step;
        return can;
    }
    if (rank == CURT) {
        bool can = !node->curt && node->tail_size > node->brief_size;
        if (can) node->curt = step;
        return can;
    }
    if (node->hidden || rank_of(tree, index) != (rank == LAST ? NAMED : rank) ||
        (rank != LAST && is_last_named(tree, index)))
        return false;
    node->hidden = step;
    for (int i = node->before; rank == RUNS && literal(tree, i); i = tree->nodes[i].before)
        tree->nodes[i].hidden = step;
    return true;
}

struct fitting {
    struct nk_tree *tree;
    struct nk_buf *line;
    size_t columns;
    int steps;
};

static bool fits(struct fitting *f)
{
    nk_tree_write(f->tree, f->line);
    return f->line->size <= f->columns;
}

// One rank, the deepest first and from the right. True when the line fits.
static bool reduce(struct fitting *f, enum rank rank)
{
    struct nk_tree *tree = f->tree;
    int *of_all = rank == ANONYMOUS ? &tree->no_anonymous : rank == SCOPE ? &tree->no_scope : &tree->no_marks;
    if (rank == ANONYMOUS || rank == SCOPE || rank == MARKS) {
        *of_all = ++f->steps;
        return fits(f);
    }
    int deepest = 0;
    for (int i = 0; i < tree->count; i++) deepest = tree->nodes[i].depth > deepest ? tree->nodes[i].depth : deepest;
    for (int depth = deepest; depth >= 0; depth--)
        for (int i = tree->count - 1; i >= 0; i--)
            if (tree->nodes[i].depth == depth && leave_out(tree, i, rank, f->steps + 1)) {
                f->steps++;
                if (fits(f)) return true;
            }
    return false;
}

// Turns the marks of a step into others.
static void mark(struct nk_tree *tree, int from, int to)
{
    if (tree->no_anonymous == from) tree->no_anonymous = to;
    if (tree->no_scope == from) tree->no_scope = to;
    if (tree->no_marks == from) tree->no_marks = to;
    for (int i = 0; i < tree->count; i++) {
        struct nk_node *node = &tree->nodes[i];
        if (node->hidden == from) node->hidden = to;
        if (node->unwrapped == from) node->unwrapped = to;
        if (node->curt == from) node->curt = to;
    }
}

// A later step may have made room for what an earlier one took: it comes back, the most telling first.
static void restore(struct fitting *f)
{
    for (int step = f->steps - 1; step > 0; step--) {
        mark(f->tree, step, -step);
        if (!fits(f)) mark(f->tree, -step, step);
    }
    fits(f);
}

// The beginning of a line that is too long all the same.
static void cut(struct nk_buf *line, size_t columns, const char *end)
{
    struct nk_buf whole = *line;
    *line = (struct nk_buf){0};
    nk_buf_add(line, whole.data, columns - strlen(end));
    nk_buf_text(line, end);
    nk_buf_free(&whole);
}

// The last argument with a name is cut where enough of it fits to be recognised, else left out.
static void shorten_last(struct fitting *f)
{
    const char *list = f->line->failed ? NULL : memmem(f->line->data, f->line->size, "<", 1);
    size_t before = list ? (size_t)(list - f->line->data) : f->columns;
    if (before + RECOGNISED <= f->columns)
        cut(f->line, f->columns, "...>");
    else if (!reduce(f, LAST) && !f->line->failed)
        cut(f->line, f->columns, "...");
}

void nk_shorten(const char *text, size_t columns, struct nk_buf *out)
{
    struct nk_tree *tree = nk_got(malloc(sizeof *tree));
    struct nk_buf line = {0};
    struct fitting f = {tree, &line, columns, 0};
    if (!tree) {
        out->failed = true;
        return;
    }
    nk_tree_parse(tree, nk_scan_function(text));
    bool good = fits(&f);
    for (enum rank rank = ANONYMOUS; !good && rank < LAST; rank++) good = reduce(&f, rank);
    if (good && f.steps) restore(&f);
    if (!good) shorten_last(&f);
    // Nothing could be read: the text itself.
    if (!line.size) nk_buf_text(&line, text);
    if (line.size > columns && !line.failed) cut(&line, columns, "...");
    if (line.failed || tree->texts.failed) out->failed = true;
    if (!out->failed) nk_buf_add(out, line.data ? line.data : "", line.size);
    nk_buf_free(&line);
    nk_buf_free(&tree->texts);
    free(tree);
}
