// fuzz_recording.c - a recording of any bytes gives a report, or a sentence.
//
// An input is either the bytes behind a file header, or (first byte odd) a list of records to be framed rightly: type,
// size of the tail, bytes of the fixed part and of the tail. The second kind gets past the framing, to the references.
#define _GNU_SOURCE
#include "report/text.h"

#include "recording/event.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Size of the fixed part of a record type.
static size_t head_of(uint8_t type)
{
    static const size_t sizes[] = {
        [NK_REC_STRING] = sizeof(struct nk_rec_string),       [NK_REC_PROCESS] = sizeof(struct nk_rec_process),
        [NK_REC_DRIVER] = sizeof(struct nk_rec_driver),       [NK_REC_GPU] = sizeof(struct nk_rec_gpu),
        [NK_REC_LIBRARY] = sizeof(struct nk_rec_library),     [NK_REC_PACKAGE] = sizeof(struct nk_rec_package),
        [NK_REC_CONTAINER] = sizeof(struct nk_rec_container), [NK_REC_LOAD] = sizeof(struct nk_rec_load),
        [NK_REC_KERNEL] = sizeof(struct nk_rec_kernel),       [NK_REC_HOLDS] = sizeof(struct nk_rec_holds),
        [NK_REC_NAMES] = sizeof(struct nk_rec_names),         [NK_REC_FAILURE] = sizeof(struct nk_rec_failure),
        [NK_REC_STACK] = sizeof(struct nk_rec_stack),         [NK_REC_SURFACED] = sizeof(struct nk_rec_surfaced),
        [NK_REC_COUNTERS] = sizeof(struct nk_rec_counters),   [NK_REC_EXIT] = sizeof(struct nk_rec_exit),
        [NK_REC_NOTE] = sizeof(struct nk_rec_note),           [NK_REC_PYTHON] = sizeof(struct nk_rec_python),
        [NK_REC_GRAPH] = sizeof(struct nk_rec_graph),         [NK_REC_TRAIL] = sizeof(struct nk_rec_trail),
        [NK_REC_PASSED] = sizeof(struct nk_rec_passed),       [NK_REC_PLACE] = sizeof(struct nk_rec_place)};
    return type < sizeof sizes / sizeof *sizes ? sizes[type] : 8;
}

static void frame(struct nk_buf *out, const uint8_t *data, size_t size)
{
    for (size_t at = 0; at + 2 <= size;) {
        uint8_t type = data[at] % (NK_REC_PLACE + 2);
        size_t tail = data[at + 1], head = head_of(type), whole = 8 + head + tail, padding = (8 - whole % 8) % 8;
        at += 2;
        struct nk_record_header header = {(uint32_t)(whole + padding), type, (uint16_t)head};
        nk_buf_add(out, &header, sizeof header);
        for (size_t i = 0; i < head + tail; i++, at++) nk_buf_add(out, at < size ? (const char *)data + at : "", 1);
        nk_buf_fill(out, 0, padding);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char path[32];
    const char *name = path;
    struct nk_file_header header = {.magic = NK_RECORDING_MAGIC, .version = NK_RECORDING_VERSION};
    struct nk_buf bytes = {0}, out = {0};
    struct nk_err err = {0};
    if (!size) return 0;
    if (file < 0) {
        file = memfd_create("recording", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    nk_buf_add(&bytes, &header, sizeof header);
    if (data[0] & 1)
        frame(&bytes, data + 1, size - 1);
    else
        nk_buf_add(&bytes, data + 1, size - 1);
    if (ftruncate(file, 0) || pwrite(file, bytes.data, bytes.size, 0) != (ssize_t)bytes.size) abort();
    struct nk_text_options here = {0}, elsewhere = {.gpu = 120, .driver = 13000, .columns = 50, .colour = true};
    if (nk_report_text(&name, 1, &here, &out, &err) && !*err.text) abort();
    if (nk_report_text(&name, 1, &elsewhere, &out, &err) && !*err.text) abort();
    nk_buf_free(&bytes);
    nk_buf_free(&out);
    return 0;
}
