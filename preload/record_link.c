// record_link.c - inputs of the driver's linker, kept while a link is under way, so that a refusal can name one.
//
// Nothing is recorded of a link that succeeds: the module that it makes is seen when it is loaded.
#define _GNU_SOURCE
#include "core.h"

#include "contents.h"
#include "entries.h"
#include "verdict/judge.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 32, MOST_BYTES = 64 << 20 };

// Enum CUjitInputType: what holds images that can be judged. An object or a library of objects is only named.
enum { INPUT_CUBIN = 0, INPUT_PTX = 1, INPUT_FATBINARY = 2 };

struct input {
    char *data; // a copy, ended by NUL, or NULL
    char *path;
    struct input *before; // the one that was added before it
};

struct link {
    struct input *last;
    unsigned n;
};
static struct nk_table links; // CUlinkState -> struct link

static struct input *new_input(int type, const void *data, size_t size, const char *path)
{
    struct input *input = nk_got(calloc(1, sizeof *input));
    bool readable = type == INPUT_CUBIN || type == INPUT_PTX || type == INPUT_FATBINARY;
    if (input && path) input->path = nk_got(strdup(path));
    if (input && data && readable && size <= MOST_BYTES && (input->data = nk_got(malloc(size + 1)))) {
        input->data[nk_memory_read(data, input->data, size)] = 0;
    }
    return input;
}

void nk_record_link_input(const void *state, int type, const void *data, size_t size, const char *path)
{
    int saved;
    if (!state || (!data && !path) || !nk_enter(&saved)) return;
    struct link *link = nk_table_get(&links, (uintptr_t)state);
    if (!link && (link = nk_got(calloc(1, sizeof *link))) && nk_table_put(&links, (uintptr_t)state, link)) {
        free(link);
        link = NULL;
    }
    struct input *input = link && link->n < MOST_INPUTS ? new_input(type, data, size, path) : NULL;
    if (input) {
        input->before = link->last;
        link->last = input;
        link->n++;
    }
    nk_leave(saved);
}

// The input as a container in the recording, or NULL.
static struct nk_container *recorded(const struct input *input, const void *caller)
{
    struct nk_container *container = nk_core_container_for(input->data, input->path, NK_ORIGIN_LINKED);
    nk_core_container(container, caller);
    return container;
}

static bool is_refused(const struct nk_container *container, uint32_t gpu)
{
    struct nk_target target = nk_core_target(gpu);
    return container && container->n_images && target.sm &&
           nk_judge(container->images, container->n_images, NULL, &target).runs == NK_RUNS_NONE;
}

// The input that a refusal is about: the one just added; of a whole link the one that cannot run here, else the last.
static struct nk_container *culprit(enum nk_entry_id api, const struct link *link, uint32_t gpu, const void *caller)
{
    struct nk_container *found = NULL;
    for (const struct input *input = link ? link->last : NULL; input; input = input->before) {
        struct nk_container *container = recorded(input, caller);
        bool refused = is_refused(container, gpu);
        if (!found || refused) found = container;
        if (refused || api != NK_cuLinkComplete) break;
    }
    return found;
}

void nk_record_link(enum nk_entry_id api, const void *state, CUresult r, const void *caller)
{
    int saved;
    if (!nk_result_is_image(r) && !nk_core_is_serious(r)) return;
    uint32_t gpu = nk_core_gpu_here();
    if (!nk_enter(&saved)) return;
    struct nk_container *container = culprit(api, nk_table_get(&links, (uintptr_t)state), gpu, caller);
    if (!nk_core_comes_back(api, r, gpu, caller))
        nk_core_fail(&(struct nk_event){.kind = NK_FAILED_LOAD,
                                        .api = api,
                                        .result = r,
                                        .container = container,
                                        .caller = caller,
                                        .pinned = NK_PINNED_RETURNED,
                                        .gpu = gpu});
    nk_leave(saved);
}

static void forget(struct input *input)
{
    // A container that was recorded is found again by its content when the same is linked once more; its bytes are
    // gone.
    struct nk_container *container = input->data ? nk_container_get(nk_contents_key(input->data, NULL), NULL) : NULL;
    if (container && container->code == input->data) {
        container->code = NULL;
        container->lives = false;
    }
    free(input->data);
    free(input->path);
    free(input);
}

void nk_record_link_gone(const void *state)
{
    int saved;
    if (!state || !nk_enter_quietly(&saved)) return;
    struct link *link = nk_table_remove(&links, (uintptr_t)state);
    while (link && link->last) {
        struct input *input = link->last;
        link->last = input->before;
        forget(input);
    }
    free(link);
    nk_leave(saved);
}
