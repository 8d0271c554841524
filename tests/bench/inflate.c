// inflate.c - deflated members of a zip file, inflated by ISA-L and thrown away: what no scan of it can be faster than.
// inflate FILE [OFFSET SIZE]...    (of the packed bytes of each member)
#include <fcntl.h>
#include <isa-l.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct inflate_state state;
static uint8_t in[256 << 10], out[1 << 20];

static int inflate_one(int file, off_t at, off_t left)
{
    isal_inflate_init(&state);
    state.crc_flag = ISAL_DEFLATE;
    while (state.block_state != ISAL_BLOCK_FINISH) {
        if (!state.avail_in) {
            ssize_t got = pread(file, in, left < (off_t)sizeof in ? (size_t)left : sizeof in, at);
            if (got <= 0) return 1;
            at += got;
            left -= got;
            state.next_in = in;
            state.avail_in = (uint32_t)got;
        }
        state.next_out = out;
        state.avail_out = sizeof out;
        if (isal_inflate(&state) < 0) return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int file = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    for (int i = 2; i + 1 < argc; i += 2)
        if (inflate_one(file, atoll(argv[i]), atoll(argv[i + 1]))) {
            fprintf(stderr, "%s: the member at %s cannot be inflated\n", argv[1], argv[i]);
            return 1;
        }
    return file < 0;
}
