// inflate.h - deflated bytes by ISA-L, which is twice as fast as zlib.
//
// A build without ISA-L has none of it: nk_inflate_new then returns NULL, and archives are left to libarchive.
#ifndef NK_SCAN_INFLATE_H
#define NK_SCAN_INFLATE_H

#include "base/bytes.h"

struct nk_inflate;

bool nk_inflate_there(void);
// NULL when memory is short, or when this build has no ISA-L.
struct nk_inflate *nk_inflate_new(void);
void nk_inflate_free(struct nk_inflate *inflate);
// Starts on another stream.
void nk_inflate_begin(struct nk_inflate *inflate);
// Decodes from *in, of which it takes off what it has used, into up to `size` bytes of `out`. Returns how many there
// are, which may be none until there is more input; -1 when the stream is damaged, and all that comes before the damage
// was returned. Where there is much room, ISA-L counts up to some hundred bytes too many there, which mean nothing.
// *ended: that was all of the stream.
int64_t nk_inflate_more(struct nk_inflate *inflate, struct nk_bytes *in, void *out, size_t size, bool *ended);
// The CRC-32 of zip files: of what came before (0 at first) and these bytes.
uint32_t nk_inflate_crc(uint32_t before, const void *data, size_t size);

#endif
