// kernel.c - the kernel of the probe, written by hand.
//
// PTX 3.2 (CUDA 5.5) for compute capability 2.0: PTX is compiled for its own architecture and every newer one, and a
// driver reads every older version (PTX ISA manual). Tests assemble it with ptxas of CUDA 11.8, 12.9 and 13.5.
#include "probe/probe.h"

const char nk_probe_ptx[] = ".version 3.2\n"
                            ".target sm_20\n"
                            ".address_size 64\n"
                            "\n"
                            ".visible .entry " NK_PROBE_KERNEL "(\n"
                            "    .param .u64 in, .param .u64 out, .param .u32 count)\n"
                            "{\n"
                            "    .reg .pred %p<2>;\n"
                            "    .reg .u32 %r<8>;\n"
                            "    .reg .u64 %rd<8>;\n"
                            "    ld.param.u64 %rd1, [in];\n"
                            "    ld.param.u64 %rd2, [out];\n"
                            "    ld.param.u32 %r1, [count];\n"
                            "    mov.u32 %r2, %ctaid.x;\n"
                            "    mov.u32 %r3, %ntid.x;\n"
                            "    mov.u32 %r4, %tid.x;\n"
                            "    mad.lo.u32 %r5, %r2, %r3, %r4;\n"
                            "    setp.ge.u32 %p1, %r5, %r1;\n"
                            "    @%p1 bra done;\n"
                            "    cvta.to.global.u64 %rd3, %rd1;\n"
                            "    cvta.to.global.u64 %rd4, %rd2;\n"
                            "    mul.wide.u32 %rd5, %r5, 4;\n"
                            "    add.u64 %rd6, %rd3, %rd5;\n"
                            "    add.u64 %rd7, %rd4, %rd5;\n"
                            "    ld.global.u32 %r6, [%rd6];\n"
                            "    mad.lo.u32 %r7, %r6, 3, %r5;\n"
                            "    st.global.u32 [%rd7], %r7;\n"
                            "done:\n"
                            "    ret;\n"
                            "}\n";

uint32_t nk_probe_number(uint32_t in, uint32_t i) { return in * 3 + i; }
