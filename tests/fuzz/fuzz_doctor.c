// fuzz_doctor.c - any bytes as what doctor reads: METADATA, a library's dynamic section.
#include "doctor/loader.h"
#include "doctor/requires.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void requirements(const char *text)
{
    static const struct nk_marker_env env = {"3.11", "3.11.7", "x86_64"};
    struct nk_requirement r;
    const char *end = text + strlen(text);
    for (const char *rest = text, *before = text; nk_requires_next(&rest, &env, &r); before = rest) {
        if (rest <= before || rest > end || !*r.name) abort();
        nk_requires_met(r.spec, "2.4.1+cu121");
    }
}

static void dynamic(struct nk_bytes file)
{
    struct nk_dynamic found;
    volatile uint8_t sum = 0;
    if (!nk_dynamic_read(file, &found)) return;
    for (size_t i = 0; i < found.count; i++)
        for (size_t at = 0; at < found.needed[i].size; at++) sum = (uint8_t)(sum + found.needed[i].data[at]);
    for (size_t at = 0; at < found.runpath.size; at++) sum = (uint8_t)(sum + found.runpath.data[at]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char key[] = "Requires-Dist: ";
    char *text = malloc(size + sizeof key);
    if (!text) return 0;
    memcpy(text, key, sizeof key - 1);
    memcpy(text + sizeof key - 1, data, size);
    text[size + sizeof key - 1] = 0;
    requirements(text);
    dynamic(nk_bytes(data, size));
    free(text);
    return 0;
}
