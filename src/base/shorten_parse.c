// shorten_parse.c - takes a demangled name apart: its brackets, and its template arguments as a tree.
#define _GNU_SOURCE
#include "base/shorten.h"

#include <ctype.h>
#include <string.h>

enum {
    BRACKETS = sizeof((struct nk_scan *)0)->open,
    DEEPEST = 12, // arguments inside arguments that are taken apart
};

// ---- brackets

static void enter(struct nk_scan *s, char bracket)
{
    if (s->depth < BRACKETS) s->open[s->depth] = bracket;
    s->depth++;
}

static void leave(struct nk_scan *s, char bracket)
{
    int depth = s->depth < BRACKETS ? s->depth : BRACKETS;
    if (bracket == '<') {
        if (s->depth && (s->depth > BRACKETS || s->open[depth - 1] == '<')) s->depth--;
        return;
    }
    while (depth > 0 && s->open[depth - 1] != bracket) depth--;
    if (s->depth > BRACKETS)
        s->depth--;
    else if (depth > 0)
        s->depth = depth - 1;
}

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

// Length of the word "operator" and what belongs to it, 0 when there is none at i.
static size_t operator_size(const struct nk_scan *s, size_t i)
{
    static const char word[] = "operator";
    const size_t size = sizeof word - 1;
    if (s->size - i <= size || memcmp(s->text + i, word, size)) return 0;
    if (i && in_word(s->text[i - 1])) return 0;
    const char *after = s->text + i + size;
    size_t left = s->size - i - size;
    if (*after == ' ') return size + 1; // conversions, new, delete
    if (left > 1 && (!memcmp(after, "()", 2) || !memcmp(after, "[]", 2))) return size + 2;
    size_t marks = 0;
    while (marks < left && after[marks] && strchr("<>=-+*/&|!^%~,", after[marks])) marks++;
    // "operator< <int>": the space parts the name from its arguments.
    return marks ? size + marks + (marks < left && after[marks] == ' ') : 0;
}

size_t nk_scan_step(struct nk_scan *s, size_t i)
{
    size_t skipped = operator_size(s, i);
    if (skipped) return i + skipped;
    char c = s->text[i];
    if (c == '(' || c == '<' || c == '[' || c == '{') enter(s, c);
    if (c == ')') leave(s, '(');
    if (c == '>') leave(s, '<');
    if (c == ']') leave(s, '[');
    if (c == '}') leave(s, '{');
    return i + 1;
}

// ---- pieces

static struct nk_piece piece(const char *text, size_t size) { return (struct nk_piece){text, size}; }

static struct nk_scan scan(struct nk_piece p) { return (struct nk_scan){.text = p.text, .size = p.size}; }

static struct nk_piece trim(struct nk_piece p)
{
    while (p.size && *p.text == ' ') p = piece(p.text + 1, p.size - 1);
    while (p.size && p.text[p.size - 1] == ' ') p.size--;
    return p;
}

static bool starts(struct nk_piece p, const char *word)
{
    return p.size >= strlen(word) && !memcmp(p.text, word, strlen(word));
}

// A group of round brackets that belongs to the name: "(anonymous namespace)::", "f(int) const::{lambda()#1}".
static bool scope_follows(const char *text)
{
    if (!strncmp(text, " const", 6)) text += 6;
    return !strncmp(text, "::", 2);
}

struct nk_piece nk_scan_function(const char *text)
{
    struct nk_scan s = {.text = text, .size = strlen(text)};
    size_t start = 0, end = s.size, group = 0;
    for (size_t i = 0, next; i < s.size; i = next) {
        int depth = s.depth;
        next = nk_scan_step(&s, i);
        if (!depth && text[i] == ' ') start = next;
        if (!depth && text[i] == '(' && s.depth) group = i;
        if (depth == 1 && !s.depth && text[i] == ')' && !scope_follows(text + next)) {
            end = group;
            break;
        }
    }
    struct nk_piece found = start < end ? trim(piece(text + start, end - start)) : piece("", 0);
    return found.size ? found : piece(text, s.size);
}

// What comes before the first `separator` outside brackets ("," or "::"), cut off *rest.
static struct nk_piece next_piece(struct nk_piece *rest, const char *separator)
{
    struct nk_scan s = scan(*rest);
    size_t i = 0, size = strlen(separator);
    while (i < rest->size && (s.depth || !starts(piece(rest->text + i, rest->size - i), separator)))
        i = nk_scan_step(&s, i);
    struct nk_piece found = piece(rest->text, i);
    size_t cut = i < rest->size ? i + size : i;
    *rest = piece(rest->text + cut, rest->size - cut);
    return found;
}

// ---- parts of a qualified name

struct part {
    struct nk_piece word;       // "FillFunctor"
    struct nk_piece list;       // what stands between '<' and '>'; text is NULL when there are none
    struct nk_piece after;      // "*", " const&": what follows word and list
    struct nk_piece parameters; // of a lambda
    struct nk_piece number;     // of a lambda: "#2"; empty for the first
    bool lambda, call;          // "{lambda(int)#1}", "operator()"
};

// Of "{lambda(int)#2}" the "(int)" and the "#2".
static void read_lambda(struct nk_piece p, struct part *part)
{
    const char *open = memchr(p.text, '(', p.size), *hash = memrchr(p.text, '#', p.size);
    part->lambda = true;
    if (!hash || p.text[p.size - 1] != '}') return;
    if (open && open < hash) part->parameters = piece(open, (size_t)(hash - open));
    part->number = piece(hash, (size_t)(p.text + p.size - 1 - hash));
    if (part->number.size == 2 && hash[1] == '1') part->number.size = 0;
}

static struct part read_part(struct nk_piece p)
{
    struct part part = {.word = p, .after = piece("", 0)};
    struct nk_scan s = scan(p);
    size_t i = 0, end = p.size;
    if (starts(p, "{")) {
        part.word = piece("lambda", starts(p, "{lambda") ? 6 : 0);
        read_lambda(p, &part);
        return part;
    }
    part.call = starts(p, "operator");
    // The word ends at a bracket, or at what can only follow a type.
    for (size_t next; i < p.size; i = next) {
        bool follows = i && !part.call && strchr(" &*", p.text[i]);
        next = nk_scan_step(&s, i);
        if (s.depth || follows) break;
    }
    part.word = part.call ? piece(p.text, i) : trim(piece(p.text, i)); // "operator< " keeps what parts it from its list
    if (i < p.size && p.text[i] == '<' && s.depth) {
        size_t open = i + 1;
        for (i = open; i < p.size && s.depth;) i = nk_scan_step(&s, i);
        part.list = piece(p.text + open, i - open - (s.depth ? 0 : 1));
    }
    if (i < p.size && s.depth) return part;
    const char *round = memchr(p.text + i, '(', p.size - i);
    if (round) end = (size_t)(round - p.text);
    part.after = piece(p.text + i, end - i);
    return part;
}

// ---- the tree

// Adds text without namespaces: "(at::Kind)1" as "(Kind)1"; returns where.
static void add_plain(struct nk_buf *out, struct nk_piece p)
{
    static const char anonymous[] = "(anonymous namespace)::";
    for (size_t i = 0; i < p.size;) {
        size_t word = i;
        if (starts(piece(p.text + i, p.size - i), anonymous)) {
            i += sizeof anonymous - 1;
            continue;
        }
        while (word < p.size && in_word(p.text[word])) word++;
        struct nk_piece rest = piece(p.text + word, p.size - word);
        bool doubled = word == i && i && p.text[i] == ' ' && i + 1 < p.size && p.text[i + 1] == '>' &&
                       p.text[i - 1] == '>'; // "> >" is from before C++11
        size_t size = word > i ? word - i : 1;
        if (word > i && starts(rest, "::"))
            size += 2;
        else if (!doubled)
            nk_buf_add(out, p.text + i, size);
        i += size;
    }
}

static struct nk_node *add_node(struct nk_tree *tree, int parent)
{
    if (tree->count == NK_NODES) return NULL;
    int index = tree->count++;
    struct nk_node *node = &tree->nodes[index];
    *node = (struct nk_node){.parent = parent, .first = -1, .last = -1, .before = -1, .after = -1};
    if (parent < 0) return node;
    struct nk_node *above = &tree->nodes[parent];
    node->depth = above->depth + 1;
    node->before = above->last;
    if (above->last >= 0)
        tree->nodes[above->last].after = index;
    else
        above->first = index;
    above->last = index;
    return node;
}

static void add_named(struct nk_tree *tree, struct nk_node *node, struct nk_piece p);

// Types of numbers, built in or not, and the words of literals. They tell kernels apart less than other names do.
static bool is_data(struct nk_piece word)
{
    static const char *const words[] = {
        "void",     "bool",     "char",   "signed",     "unsigned", "short",         "int",     "long", "float",
        "double",   "__int128", "true",   "false",      "auto",     "decltype",      "wchar_t", "Half", "BFloat16",
        "bfloat16", "complex",  "half_t", "bfloat16_t", "__half",   "__nv_bfloat16", "half",    "half2"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (word.size == strlen(words[i]) && starts(word, words[i])) return true;
    return !word.size || isdigit((unsigned char)*word.text);
}

// An argument that is taken apart: the name of a class, of a function or of what is local to one.
static bool is_named(struct nk_piece p)
{
    struct nk_scan s = scan(p);
    size_t word = 0, end = 0;
    if (!p.size || (!in_word(*p.text) && !strchr("{(&", *p.text))) return false;
    for (size_t i = 0; i < p.size; i = nk_scan_step(&s, i)) {
        if (s.depth) continue;
        if (p.text[i] == '{') return true;
        if (starts(piece(p.text + i, p.size - i), "::")) word = i + 2;
        // "std::complex<float>" is data, "std::plus<int>" and "A<int>::B" are not.
        if (p.text[i] == '<' && !end) end = i;
    }
    if (end && word > end) return true;
    for (end = word; end < p.size && in_word(p.text[end]);) end++;
    return !is_data(piece(p.text + word, end - word));
}

static void add_arguments(struct nk_tree *tree, int parent, struct nk_piece list)
{
    while (list.size) {
        struct nk_piece p = trim(next_piece(&list, ","));
        struct nk_node *node = p.size ? add_node(tree, parent) : NULL;
        if (!node) continue; // a pack of no types, or no room
        node->word = tree->texts.size;
        bool deep = node->depth > DEEPEST || tree->count == NK_NODES;
        if (deep)
            nk_buf_text(&tree->texts, "...");
        else if (is_named(p))
            add_named(tree, node, p);
        else
            add_plain(&tree->texts, p);
        if (!node->named) node->word_size = tree->texts.size - node->word;
        if (deep) return;
    }
}

// The part that a reader looks for: the last one with template arguments, but no lambda in it; else the last name.
// An operator only where it is the function.
static size_t core_of(struct nk_piece p, bool function)
{
    size_t found = 0, n = 0;
    for (bool listed = false; p.size; n++) {
        struct part part = read_part(next_piece(&p, "::"));
        bool better = part.list.text || !listed || part.call, call = part.call && !(function && !p.size);
        if (!n || (!part.lambda && !call && part.word.size && better)) found = n;
        listed |= part.list.text && found == n;
    }
    return found;
}

// What follows the core: "::Policy600", "::lambda(float)#2". Of lambdas inside each other the last is named.
static void add_tail(struct nk_tree *tree, struct nk_node *node, struct nk_piece rest, struct nk_piece after,
                     bool brief)
{
    struct part lambda = {0};
    while (rest.size) {
        struct part part = read_part(next_piece(&rest, "::"));
        after = part.after;
        if (part.lambda) lambda = part;
        if (part.lambda || part.call || !part.word.size) continue;
        lambda.lambda = false;
        nk_buf_text(&tree->texts, "::");
        nk_buf_add(&tree->texts, part.word.text, part.word.size);
    }
    if (lambda.lambda) {
        if (!brief) nk_buf_text(&tree->texts, "::lambda");
        if (!brief) add_plain(&tree->texts, lambda.parameters);
        nk_buf_add(&tree->texts, lambda.number.text ? lambda.number.text : "", lambda.number.size);
    }
    node->lambda |= lambda.lambda;
    nk_buf_add(&tree->texts, after.text ? after.text : "", after.size);
}

static void add_named(struct nk_tree *tree, struct nk_node *node, struct nk_piece p)
{
    struct nk_piece rest = p;
    for (size_t core = core_of(p, node == tree->nodes); core; core--) next_piece(&rest, "::");
    tree->scope = node == tree->nodes ? piece(p.text, (size_t)(rest.text - p.text)) : tree->scope;
    struct part part = read_part(next_piece(&rest, "::"));
    node->named = true;
    node->word = tree->texts.size;
    nk_buf_add(&tree->texts, part.word.text, part.word.size);
    node->word_size = tree->texts.size - node->word;
    node->tail = tree->texts.size;
    add_tail(tree, node, rest, part.after, false);
    node->brief = tree->texts.size;
    node->tail_size = node->brief - node->tail;
    add_tail(tree, node, rest, part.after, true);
    node->brief_size = tree->texts.size - node->brief;
    if (part.list.text) add_arguments(tree, (int)(node - tree->nodes), part.list);
}

void nk_tree_parse(struct nk_tree *tree, struct nk_piece name)
{
    *tree = (struct nk_tree){.count = 0};
    add_named(tree, add_node(tree, -1), name);
}
