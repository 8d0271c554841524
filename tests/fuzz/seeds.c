// seeds.c - writes one small honest input of each sort into a folder, for the fuzz targets of the image readers to
// start from: seeds FOLDER
//
// They come from the same maker as the unit tests, so nothing binary and nothing of anybody else lies in the tree.
#include "../unit/test_zip_maker.h"

#include <stdio.h>

static const char *folder;

static void write_seed(const char *name, struct nk_buf *buf)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(buf->data, 1, buf->size, file) != buf->size || fclose(file)) {
        perror(path);
        exit(1);
    }
    nk_buf_clear(buf);
}

static const char ptx[] =
    PTX_HEAD("8.7", "sm_90a, debug") ".visible .entry k(\n.param .u64 p\n)\n{\n{ mov; } ret; // }\n}\n"
                                     ".weak .entry l();\n.file 1 \"a.cu\"\n";

static struct nk_buf cubin(bool abi8)
{
    struct nk_buf buf = {0};
    make_cubin(&buf, &(struct made_cubin){
                         .sm = 100,
                         .abi8 = abi8,
                         .kernels = {{"k", 128, 0, 0, 0}, {"device", 64, 0x12, 0x80, 0}, {"l", 4096, 0, 0, 0}},
                         .extra = {".nv.compat", 0x70000086, "\2\x09\1\0", 4, 0, 0, 0, 0}});
    return buf;
}

static struct nk_buf container(uint32_t codec)
{
    struct nk_buf buf = {0}, image = cubin(codec == MAKE_ZSTD), list = {0};
    size_t at = begin_container(&buf);
    make_entry(
        &buf, &(struct made_entry){.kind = 2, .arch = 100, .codec = codec, .payload = view_of(&image), .name = "k.cu"});
    make_entry(&buf, &(struct made_entry){.kind = 1,
                                          .arch = 90,
                                          .codec = codec,
                                          .payload = nk_bytes(ptx, sizeof ptx),
                                          .options = "-maxrregcount=40 "});
    put(&list, 2, 4);
    put(&list, 8 + 2 * 80, 4);
    make_part(&list, 1, 90, 0, 0, 100, "");
    make_part(&list, 1, 90, 0x100000, 0, sizeof ptx, "");
    make_entry(&buf, &(struct made_entry){
                         .kind = 0x100, .codec = codec, .payload = nk_bytes(ptx, sizeof ptx), .list = view_of(&list)});
    end_container(&buf, at);
    nk_buf_free(&image);
    nk_buf_free(&list);
    return buf;
}

static struct nk_buf library(void)
{
    struct nk_buf buf = {0}, fatbin = container(MAKE_LZ4), bare = cubin(false);
    make_elf(&buf, &(struct made_elf){
                       .type = 3,
                       .machine = 62,
                       .note_segment = 4,
                       .sections = {{".nv_fatbin", 1, fatbin.data, fatbin.size, 0, 0, 0, 2},
                                    {"__nv_relfatbin", 1, fatbin.data, fatbin.size, 0, 0, 0, 2},
                                    {".rodata", 1, bare.data, bare.size, 0, 0, 0, 2},
                                    {".note.gnu.build-id", 7, "\4\0\0\0\4\0\0\0\3\0\0\0GNU\0abcd", 20, 0, 0, 0, 2}}});
    nk_buf_add(&buf, fatbin.data, fatbin.size);
    nk_buf_free(&fatbin);
    nk_buf_free(&bare);
    return buf;
}

// As compilers lay it out: see src/scan/ptx_names.c.
static const char compiled[] =
    PTX_HEAD("8.7", "sm_90") "\n\t// .globl\tfirst\n.visible .entry first(\n\t.param .u64 first_param_0\n"
                             ")\n{\n\t.reg .b32 %r<2>;\n\n\tret;\n\n}\n\t// .globl\tsecond\n"
                             ".visible .entry second()\n{\n\tret;\n\n}\n.func device()\n{\n\tret;\n}\n";

// For fuzz_merge.c: a report, and a merge.
static const char report[] = "{\"schema\":\"nokernel-report/"
                             "1\",\"recordings\":[{\"id\":\"00000000000000ab\"},{\"process\":{\"pid\":7}}],\"gpus\":"
                             "[{\"recording\":0,\"ordinal\":0,\"name\":\"H100\",\"sm\":\"sm_90\",\"cuda\":\"12.4\"}],"
                             "\"kernels\":[{\"recording\":0,"
                             "\"name\":\"_Z1kv\",\"library\":\"/site-packages/a/"
                             "b.so\",\"package\":\"a\",\"version\":\"1\",\"launches\":5,\"failed\":"
                             "2,\"gpu\":0,\"runs\":\"jit\",\"reason\":\"ptx\",\"has\":[\"sm_80\",\"compute_80@8.0\"]}],"
                             "\"failures\":[{\"recording\":0,"
                             "\"kernel\":null,\"class\":\"missing-image\",\"candidates\":[\"a\",\"b\"],\"count\":3,"
                             "\"gpu\":0,\"runs\":\"none\"}]}";
static const char merged[] =
    "{\"schema\":\"nokernel-merge/1\",\"gpus\":[{\"name\":\"H100\",\"sm\":\"sm_90\"}],\"kernels\":[{\"package\":\"a\","
    "\"kernel\":\"_Z1kv\",\"sm\":\"sm_90\",\"seen\":\"missing\",\"rules\":\"none\",\"has\":\"sm_80\"}],\"reports\":"
    "[{\"id\":\"00000000000000ab\",\"kernels\":\"0:12\",\"gpus\":\"0:1\"}]}";

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: seeds FOLDER\n");
        return 2;
    }
    folder = argv[1];
    struct nk_buf buf = {0}, file = library();
    nk_buf_text(&buf, "!<arch>\n");
    make_member(&buf, "a.o/", file.data, file.size);
    make_member(&buf, "#1/4", "b.o\0contents", 12);
    write_seed("archive", &buf);
    write_seed("library", &file);
    nk_buf_text(&buf, ptx);
    write_seed("ptx", &buf);
    nk_buf_text(&buf, report);
    write_seed("report", &buf);
    nk_buf_text(&buf, merged);
    write_seed("merge", &buf);
    nk_buf_text(&buf, compiled);
    write_seed("compiled", &buf);
    nk_buf_free(&buf);
    nk_buf_free(&file);
    static const char *const names[] = {"stored", "lz4", "zstd"};
    static const uint32_t codecs[] = {MAKE_STORED, MAKE_LZ4, MAKE_ZSTD};
    for (int i = 0; i < 3; i++) {
        buf = container(codecs[i]);
        write_seed(names[i], &buf);
        nk_buf_free(&buf);
    }
    for (int i = 0; i < 2; i++) {
        buf = cubin(i);
        write_seed(i ? "cubin8" : "cubin7", &buf);
        nk_buf_free(&buf);
    }
    for (int i = 0; i < 2; i++) {
        buf = make_zip(ordinary_members, sizeof ordinary_members / sizeof *ordinary_members, i);
        write_seed(i ? "zip64" : "zip", &buf);
        nk_buf_free(&buf);
    }
    return 0;
}
