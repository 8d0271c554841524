// archive.c - wheels, packages and archives: the members of ordinary zip files several at once, through scan/zip.h;
// those of all others one after another, through libarchive.
#define _GNU_SOURCE
#include "scan/archive.h"
#include "scan/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct whole {
    struct nk_outer outer;
    struct nk_part part; // what the parts so far have said
    struct nk_zip *zip;  // NULL: libarchive reads it, all as one part
    bool begun;
    struct nk_zip_reader *reader[NK_CREW_MOST];
};

struct part {
    struct nk_reading r;
    struct nk_zip_member member;
};

static bool read_at(void *user, uint64_t at, void *into, size_t size)
{
    uint8_t *to = into;
    while (size) {
        ssize_t got = pread(*(int *)user, to, size, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got;
        at += (uint64_t)got;
        size -= (size_t)got;
    }
    return true;
}

// ---- the parts

static void *next_part(void *user)
{
    struct whole *whole = user;
    struct nk_zip_member member = {.regular = false};
    if (whole->outer.stopped) return NULL;
    if (whole->zip) {
        while (!member.regular)
            if (!nk_zip_next(whole->zip, &member)) return NULL;
    } else if (whole->begun) {
        return NULL;
    }
    whole->begun = true;
    struct part *part = calloc(1, sizeof *part);
    if (part)
        *part = (struct part){.r = {.outer = &whole->outer}, .member = member};
    else
        whole->part.said.failed = true;
    return part;
}

static void read_zipped(struct whole *whole, struct part *part, int number)
{
    struct nk_zip_reader **reader = &whole->reader[number];
    const struct nk_zip_member *member = &part->member;
    char *name = strndup((const char *)member->name.data, member->name.size);
    if (!*reader) *reader = nk_zip_reader_new(whole->zip);
    if (*reader && name) {
        nk_zip_reader_begin(*reader, member);
        nk_inside_zipped(&part->r, *reader, name, member->size);
    } else {
        part->r.part.said.failed = true;
    }
    free(name);
}

static void read_part(void *user, void *job, const struct nk_worker *worker)
{
    struct whole *whole = user;
    struct part *part = job;
    part->r.worker = worker;
    if (whole->zip)
        read_zipped(whole, part, worker->number);
    else
        nk_inside_all(&part->r);
}

// Behind the part with which too much came out of the archive there is nothing more: whoever was quick enough to read
// some of that.
static void take_part(void *user, void *job)
{
    struct whole *whole = user;
    struct part *part = job;
    char text[128];
    if (whole->outer.stopped) {
        nk_part_free(&part->r.part);
    } else {
        nk_part_add(&whole->part, &part->r.part);
        whole->outer.stopped = part->r.left || whole->part.out > whole->outer.limit;
        snprintf(text, sizeof text, "more than %u times its own size comes out of it: it was left", NK_ARCHIVE_RATIO);
        if (whole->outer.stopped) nk_scan_problem_add(&whole->part.said, whole->outer.path, text);
    }
    free(part);
}

// A zip file may be cut behind all its members, and those are read without its directory.
static void tell_cut(struct whole *whole)
{
    struct nk_scan *said = &whole->part.said;
    bool told = false;
    for (size_t i = 0; i < said->problem_count; i++) told |= !strcmp(said->problems[i].text, NK_ARCHIVE_CUT);
    if (whole->outer.cut && !told) nk_scan_problem_add(said, whole->outer.path, NK_ARCHIVE_CUT);
}

static void read_parts(struct whole *whole)
{
    const struct nk_crew_jobs jobs = {next_part, read_part, take_part, whole};
    struct nk_err err;
    pthread_mutex_init(&whole->outer.lock, NULL);
    if (nk_crew_run(&jobs, whole->outer.options->how.threads, &err))
        nk_scan_problem_add(&whole->part.said, whole->outer.path, err.text);
    pthread_mutex_destroy(&whole->outer.lock);
    for (int i = 0; i < NK_CREW_MOST; i++) nk_zip_reader_free(whole->reader[i]);
    nk_inside_close(whole->outer.file);
}

void nk_scan_archive(struct nk_scan *scan, const char *path, bool asked, const struct nk_scan_options *options)
{
    struct stat st = {0};
    struct whole whole = {.outer = {.options = options, .how = options->how, .path = path, .asked = asked}};
    struct nk_outer *outer = &whole.outer;
    char first[4];
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 ? stat(path, &st) : fstat(file, &st)) st.st_size = 0;
    outer->how.threads = 1;
    outer->size = (uint64_t)st.st_size;
    outer->limit = outer->size * NK_ARCHIVE_RATIO + NK_ARCHIVE_FREE;
    whole.zip = file < 0 ? NULL : nk_zip_open(read_at, &file, outer->size);
    bool zip = file >= 0 && read_at(&file, 0, first, sizeof first) && !memcmp(first, "PK\3\4", sizeof first);
    outer->cut = zip && !whole.zip && !nk_zip_has_end(read_at, &file, outer->size);
    read_parts(&whole);
    tell_cut(&whole);
    nk_part_hand_over(&whole.part, scan, path);
    nk_zip_close(whole.zip);
    if (file >= 0) close(file);
}
