// requires.c - Requires-Dist: names, versions (PEP 440), markers (PEP 508).
#define _GNU_SOURCE
#include "doctor/requires.h"
#include "advice/knowledge.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

// ---- versions

static bool same_start(const char *version, const char *start, size_t size)
{
    return !strncmp(version, start, size) && !isdigit((unsigned char)version[size]);
}

static bool equal(const char *version, const char *wanted)
{
    size_t size = strlen(wanted);
    if (size > 2 && !strcmp(wanted + size - 2, ".*")) return same_start(version, wanted, size - 2);
    return strchr(wanted, '+') ? !strcmp(version, wanted) : !nk_version_compare(version, wanted);
}

// "~=2.1.0": at least 2.1.0, and 2.1.*.
static bool compatible(const char *version, const char *wanted)
{
    const char *dot = strrchr(wanted, '.');
    return dot && nk_version_compare(version, wanted) >= 0 && same_start(version, wanted, (size_t)(dot - wanted));
}

static bool clause(const char *op, const char *wanted, const char *version)
{
    int order = nk_version_compare(version, wanted);
    if (!strcmp(op, "===")) return !strcmp(version, wanted);
    if (!strcmp(op, "==")) return equal(version, wanted);
    if (!strcmp(op, "!=")) return !equal(version, wanted);
    if (!strcmp(op, "~=")) return compatible(version, wanted);
    if (!strcmp(op, ">=")) return order >= 0;
    if (!strcmp(op, "<=")) return order <= 0;
    if (!strcmp(op, ">")) return order > 0;
    if (!strcmp(op, "<")) return order < 0;
    return true;
}

bool nk_requires_met(const char *spec, const char *version)
{
    bool met = true;
    for (const char *at = spec; *at;) {
        char op[4] = "", wanted[64] = "";
        at += strspn(at, " ,");
        size_t size = strspn(at, "=<>!~"), length = strcspn(at + size, ",");
        if (size < sizeof op) memcpy(op, at, size);
        const char *start = at + size + strspn(at + size, " ");
        size_t left = (size_t)(at + size + length - start);
        while (left && start[left - 1] == ' ') left--;
        if (left < sizeof wanted) memcpy(wanted, start, left);
        if (*wanted && *op && !clause(op, wanted, version)) met = false;
        at += size + length;
    }
    return met;
}

// ---- markers

struct marker {
    const char *at;
    const struct nk_marker_env *env;
    int depth;
};

static void skip(struct marker *m) { m->at += strspn(m->at, " \t"); }

static bool word(struct marker *m, const char *text)
{
    size_t size = strlen(text);
    skip(m);
    if (strncmp(m->at, text, size) || isalnum((unsigned char)m->at[size]) || m->at[size] == '_') return false;
    m->at += size;
    return true;
}

static const char *variable(const struct nk_marker_env *env, const char *name)
{
    const struct {
        const char *name, *value;
    } known[] = {{"python_version", env->python},
                 {"python_full_version", env->full},
                 {"sys_platform", "linux"},
                 {"platform_system", "Linux"},
                 {"os_name", "posix"},
                 {"platform_machine", env->machine},
                 {"implementation_name", "cpython"},
                 {"platform_python_implementation", "CPython"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name)) return known[i].value;
    return ""; // `extra`: none was asked for
}

static void value(struct marker *m, char *out, size_t size)
{
    skip(m);
    *out = 0;
    if (*m->at == '"' || *m->at == '\'') {
        char quote[2] = {*m->at++, 0};
        size_t n = strcspn(m->at, quote);
        snprintf(out, size, "%.*s", (int)n, m->at);
        m->at += n + (m->at[n] != 0);
        return;
    }
    size_t n = strspn(m->at, "abcdefghijklmnopqrstuvwxyz_.");
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)n, m->at);
    m->at += n;
    snprintf(out, size, "%s", variable(m->env, name));
}

static bool compare(const char *a, const char *op, const char *b)
{
    bool numbers = isdigit((unsigned char)*a) && isdigit((unsigned char)*b);
    if (!strcmp(op, "in")) return strstr(b, a) != NULL;
    if (!strcmp(op, "not in")) return !strstr(b, a);
    if (numbers) return clause(op, b, a);
    return !strcmp(op, "==") ? !strcmp(a, b) : !strcmp(op, "!=") ? strcmp(a, b) != 0 : false;
}

static bool either(struct marker *m);

static bool one(struct marker *m)
{
    char a[64], b[64], op[8] = "";
    skip(m);
    if (*m->at == '(' && m->depth < 32) {
        m->at++;
        m->depth++;
        bool result = either(m);
        skip(m);
        m->depth--;
        m->at += *m->at == ')';
        return result;
    }
    value(m, a, sizeof a);
    skip(m);
    size_t n = strspn(m->at, "=<>!~");
    if (n && n < sizeof op) {
        memcpy(op, m->at, n);
        m->at += n;
    } else if (word(m, "in")) {
        strcpy(op, "in");
    } else if (word(m, "not")) {
        word(m, "in");
        strcpy(op, "not in");
    }
    value(m, b, sizeof b);
    return compare(a, op, b);
}

static bool both(struct marker *m)
{
    bool result = one(m);
    while (word(m, "and")) result = one(m) && result;
    return result;
}

static bool either(struct marker *m)
{
    bool result = both(m);
    while (word(m, "or")) result = both(m) || result;
    return result;
}

// ---- lines

static bool parse(const char *line, size_t size, const struct nk_marker_env *env, struct nk_requirement *out)
{
    char text[512];
    if (size >= sizeof text) return false;
    memcpy(text, line, size);
    text[size] = 0;
    char *marker = strchr(text, ';');
    if (marker) *marker++ = 0;
    struct marker m = {.at = marker, .env = env};
    if (marker && !either(&m)) return false;
    const char *at = text + strspn(text, " ");
    size_t length = strspn(at, PLAIN);
    if (!length || length >= sizeof out->name) return false;
    memcpy(out->name, at, length);
    out->name[length] = 0;
    at += length;
    at += strspn(at, " ");
    size_t extras = *at == '[' ? strcspn(at, "]") + (strchr(at, ']') != NULL) : 0;
    if (extras >= sizeof out->extras) return false;
    memcpy(out->extras, at, extras);
    out->extras[extras] = 0;
    at += extras;
    size_t n = 0;
    bool url = *(at + strspn(at, " ")) == '@';
    for (; !url && *at && n < sizeof out->spec - 1; at++)
        if (!strchr("() \r", *at)) out->spec[n++] = *at;
    out->spec[n] = 0;
    // Both go into commands.
    return !out->spec[strspn(out->spec, PLAIN "<>=~!*+,")] && !out->extras[strspn(out->extras, PLAIN "[],")];
}

bool nk_requires_next(const char **rest, const struct nk_marker_env *env, struct nk_requirement *out)
{
    static const char key[] = "Requires-Dist:";
    while (**rest && **rest != '\n' && **rest != '\r') { // an empty line ends the headers
        const char *line = *rest;
        size_t size = strcspn(line, "\n");
        *rest = line + size + (line[size] == '\n');
        if (!strncmp(line, key, sizeof key - 1) && parse(line + sizeof key - 1, size - (sizeof key - 1), env, out))
            return true;
    }
    return false;
}
