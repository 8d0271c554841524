// inflate.c - deflated bytes by ISA-L, if the build has it.
#include "scan/inflate.h"

#include <stdlib.h>
#include <string.h>

#ifdef NK_ISAL
#include <isa-l.h>

struct nk_inflate {
    struct inflate_state state;
    bool damaged;
};

bool nk_inflate_there(void) { return true; }
struct nk_inflate *nk_inflate_new(void) { return malloc(sizeof(struct nk_inflate)); }

void nk_inflate_begin(struct nk_inflate *inflate)
{
    isal_inflate_init(&inflate->state);
    inflate->state.crc_flag = ISAL_DEFLATE;
    inflate->damaged = false;
}

// What was decoded before the damage and had no room in the output. -1 when there is no more of it.
static int64_t rest(struct inflate_state *state, void *out, size_t size)
{
    size_t left = (size_t)(state->tmp_out_valid - state->tmp_out_processed);
    if (!left) return -1;
    if (left > size) left = size;
    memcpy(out, state->tmp_out_buffer + state->tmp_out_processed, left);
    state->tmp_out_processed += (int32_t)left;
    return (int64_t)left;
}

int64_t nk_inflate_more(struct nk_inflate *inflate, struct nk_bytes *in, void *out, size_t size, bool *ended)
{
    struct inflate_state *state = &inflate->state;
    uint32_t given = in->size < UINT32_MAX ? (uint32_t)in->size : UINT32_MAX;
    uint32_t room = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
    if (inflate->damaged) return rest(state, out, size);
    state->next_in = (uint8_t *)(uintptr_t)in->data;
    state->avail_in = given;
    state->next_out = out;
    state->avail_out = room;
    inflate->damaged = isal_inflate(state) < 0;
    if (inflate->damaged && state->avail_out == room) return rest(state, out, size);
    *in = nk_bytes(in->data + (given - state->avail_in), in->size - (given - state->avail_in));
    *ended = state->block_state == ISAL_BLOCK_FINISH;
    return room - state->avail_out;
}

uint32_t nk_inflate_crc(uint32_t before, const void *data, size_t size) { return crc32_gzip_refl(before, data, size); }

#else

bool nk_inflate_there(void) { return false; }
struct nk_inflate *nk_inflate_new(void) { return NULL; }
void nk_inflate_begin(struct nk_inflate *inflate) { (void)inflate; }

int64_t nk_inflate_more(struct nk_inflate *inflate, struct nk_bytes *in, void *out, size_t size, bool *ended)
{
    (void)inflate, (void)in, (void)out, (void)size, (void)ended;
    return -1;
}

uint32_t nk_inflate_crc(uint32_t before, const void *data, size_t size)
{
    (void)data, (void)size;
    return before;
}
#endif

void nk_inflate_free(struct nk_inflate *inflate) { free(inflate); }
