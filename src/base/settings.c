// settings.c - the NOKERNEL_* environment variables, read once.
#include "base/settings.h"

#include <string.h>

static const struct setting {
    const char *name, *value, *allowed; // value: the default
} list[] = {
#define NK_SETTING(member, name, value, allowed, help) {#name, value, allowed},
#include "base/settings.def"
#undef NK_SETTING
};

static bool allows(const char *allowed, const char *value)
{
    size_t size = strlen(value);
    if (!*allowed) return true;
    for (const char *word = allowed; word; word = strchr(word, '|') ? strchr(word, '|') + 1 : NULL)
        if (strcspn(word, "|") == size && !strncmp(word, value, size)) return true;
    return false;
}

static const char *choose(const struct setting *setting, const char *value, struct nk_buf *complaints)
{
    if (!value || !*value) return setting->value;
    if (allows(setting->allowed, value)) return value;
    if (complaints)
        nk_buf_format(complaints, "%s=%.40s is not one of %s: %s is used\n", setting->name, value, setting->allowed,
                      setting->value);
    return setting->value;
}

// The value of `name` in the environment, or NULL.
static const char *value_of(char *const *environment, const char *name)
{
    size_t size = strlen(name);
    for (; *environment; environment++)
        if (!strncmp(*environment, name, size) && (*environment)[size] == '=') return *environment + size + 1;
    return NULL;
}

static bool known(const char *assignment)
{
    size_t size = strcspn(assignment, "=");
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (strlen(list[i].name) == size && !strncmp(list[i].name, assignment, size)) return true;
    // Names of the test-suite and of the set-up scripts, not of the library.
    return !strncmp(assignment, "NOKERNEL_CACHE=", 15) || !strncmp(assignment, "NOKERNEL_MUST_RUN=", 18);
}

void nk_settings_read(struct nk_settings *out, char *const *environment, struct nk_buf *complaints)
{
    const struct setting *setting = list;
#define NK_SETTING(member, name, value, allowed, help)                                                                 \
    out->member = choose(setting, value_of(environment, #name), complaints);                                           \
    setting++;
#include "base/settings.def"
#undef NK_SETTING
    for (; complaints && *environment; environment++)
        if (!strncmp(*environment, "NOKERNEL_", 9) && !known(*environment))
            nk_buf_format(complaints, "%.*s is not a setting of nokernel\n", (int)strcspn(*environment, "="),
                          *environment);
}
