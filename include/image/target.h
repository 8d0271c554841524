// target.h - what the first bytes of an image say about its target.
//
// The header of an entry can be wrong about PTX: TensorFlow 2.16 to 2.20 carry entries whose header says 90 and whose
// text says sm_90a. The driver compiles the text, so the text is right. A walk over headers stays cheap; who needs the
// truth asks here, image by image (it costs the decoding of one block).
#ifndef NK_IMAGE_TARGET_H
#define NK_IMAGE_TARGET_H

#include "image/fatbin.h"

// PTX (also relocatable): arch, suffix and ISA become those of the text; NK_IMAGE_TARGET_LIED is set when arch or
// suffix differ, NK_IMAGE_DEBUG when the text says so. Cubin: NK_IMAGE_RELOCATABLE and NK_IMAGE_ABI8 are set from the
// ELF header. Other kinds are left alone. 0, or -1 with a sentence when the bytes cannot be decoded or are not what the
// header says: NK_IMAGE_DAMAGED is then set (not for want of memory, nor for a bound or an unknown codec), the other
// fields stay.
int nk_image_check_target(struct nk_entry_view *entry, struct nk_err *err);

#endif
