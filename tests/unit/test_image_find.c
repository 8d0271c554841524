// test_image_find.c - where device code lies in files made by hand.
#include "test_image_maker.h"

#include "image/fatbin.h"
#include "image/find.h"

#include <stdio.h>

static const char ptx_text[] = PTX_HEAD("8.7", "sm_90");

// All that was found, one line each: "kind+flags@offset section member images".
struct list {
    struct nk_buf lines;
    int stop_after;
};

static unsigned images_in(struct nk_bytes bytes)
{
    struct nk_fatbin walk;
    struct nk_entry_view entry;
    unsigned count = 0;
    if (nk_fatbin_begin(&walk, bytes, NULL)) return 0;
    while (nk_fatbin_next(&walk, &entry, NULL) == 1) count++;
    return count;
}

static int note(const struct nk_found *found, void *user)
{
    struct list *list = user;
    nk_buf_format(&list->lines, "%c%u@%llu %.*s %.*s %u\n", "FCP"[found->kind], found -> flags,
                  (unsigned long long)found -> offset, (int)found -> section.size,
                  found->section.size ? (const char *)found->section.data : "", (int)found->member.size,
                  found->member.size ? (const char *)found->member.data : "", images_in(found->bytes));
    return list->stop_after && --list->stop_after == 0 ? 7 : 0;
}

static void assert_found_with(struct nk_bytes file, unsigned options, int expected_result, const char *expected)
{
    struct list list = {0};
    assert_int_equal(nk_find_images(file, options, note, &list, NULL), expected_result);
    assert_string_equal(list.lines.data ? list.lines.data : "", expected);
    nk_buf_free(&list.lines);
}

static void assert_found(const struct nk_buf *file, const char *expected)
{
    struct guarded copy = guard(file->data, file->size);
    assert_found_with(copy.bytes, 0, 0, expected);
    unguard(&copy);
}

static size_t container(struct nk_buf *buf, unsigned images)
{
    size_t at = begin_container(buf);
    for (unsigned i = 0; i < images; i++)
        make_entry(buf, &(struct made_entry){
                            .kind = 1, .arch = 90, .codec = MAKE_LZ4, .payload = nk_bytes(ptx_text, sizeof ptx_text)});
    end_container(buf, at);
    return at;
}

static struct nk_buf library(const struct nk_buf *fatbin, const struct nk_buf *rdc, const struct nk_buf *data)
{
    struct nk_buf buf = {0};
    make_elf(&buf, &(struct made_elf){.type = 3,
                                      .machine = 62,
                                      .sections = {{".nv_fatbin", 1, fatbin->data, fatbin->size, 0, 0, 0, 2},
                                                   {"__nv_relfatbin", 1, rdc->data, rdc->size, 0, 0, 0, 2},
                                                   {".rodata", 1, data->data, data->size, 0, 0, 0, 2},
                                                   {".bss", 8, NULL, 1u << 30, 0, 0, 0, 3}}});
    return buf;
}

static void containers_are_found_in_both_sections_and_elsewhere(void **state)
{
    (void)state;
    struct nk_buf fatbin = {0}, rdc = {0}, data = {0};
    container(&fatbin, 2);
    size_t second = container(&fatbin, 0);
    size_t third = container(&fatbin, 1);
    container(&rdc, 1);
    nk_buf_text(&data, "odd offset:");
    size_t outside = container(&data, 3);
    struct nk_buf file = library(&fatbin, &rdc, &data);
    size_t rdc_at = 64 + fatbin.size, data_at = rdc_at + rdc.size;
    char expected[300];
    snprintf(expected, sizeof expected,
             "F0@64 .nv_fatbin  2\nF0@%zu .nv_fatbin  0\nF0@%zu .nv_fatbin  1\nF2@%zu __nv_relfatbin  1\nF1@%zu "
             ".rodata  3\n",
             64 + second, 64 + third, rdc_at, data_at + outside);
    assert_int_not_equal((data_at + outside) % 8, 0);
    assert_found(&file, expected);
    *strstr(expected, "F1@") = 0;
    assert_found_with(view_of(&file), NK_FIND_SECTIONS_ONLY, 0, expected);
    nk_buf_free(&file);
    nk_buf_free(&fatbin);
    nk_buf_free(&rdc);
    nk_buf_free(&data);
}

static void assert_found_quickly(const struct nk_buf *file, uint64_t unsearched, const char *expected)
{
    struct list list = {0};
    uint64_t left = 99;
    struct guarded copy = guard(file->data, file->size);
    assert_int_equal(nk_find_quickly(copy.bytes, note, &list, &left, NULL), 0);
    assert_string_equal(list.lines.data ? list.lines.data : "", expected);
    assert_int_equal(left, unsearched);
    unguard(&copy);
    nk_buf_free(&list.lines);
}

static void a_quick_search_reads_sections_of_containers_and_tells_what_it_leaves(void **state)
{
    (void)state;
    struct nk_buf fatbin = {0}, full = {0}, data = {0}, buf = {0};
    container(&fatbin, 1);
    container(&full, 2);
    nk_buf_fill(&full, 'x', 40); // bytes between containers are no damage here
    size_t second = container(&full, 1);
    nk_buf_text(&data, "sixteen bytes...");
    container(&data, 1);
    make_elf(&buf, &(struct made_elf){.type = 3,
                                      .machine = 62,
                                      .sections = {{".nv_fatbin", 1, fatbin.data, fatbin.size, 0, 0, 0, 2},
                                                   {".lrodata", 1, full.data, full.size, 0, 0, 0, 2},
                                                   {".rodata", 1, data.data, data.size, 0, 0, 0, 2},
                                                   {".cask_resource", 1, data.data, data.size, 0, 0, 0, 2}}});
    size_t full_at = 64 + fatbin.size, cask_at = full_at + full.size + data.size;
    char expected[300];
    snprintf(expected, sizeof expected,
             "F0@64 .nv_fatbin  1\nF1@%zu .lrodata  2\nF1@%zu .lrodata  1\nF1@%zu .cask_resource  1\n", full_at,
             full_at + second, cask_at + 16);
    assert_found_quickly(&buf, buf.size - fatbin.size - full.size - data.size, expected);
    nk_buf_free(&fatbin);
    nk_buf_free(&full);
    nk_buf_free(&data);
    nk_buf_free(&buf);
}

static void a_quick_search_that_finds_nothing_in_sections_becomes_a_whole_one(void **state)
{
    (void)state;
    struct nk_buf none = {0}, data = {0};
    nk_buf_text(&data, "text before:");
    container(&data, 1);
    struct nk_buf file = library(&none, &none, &data);
    assert_found_quickly(&file, 0, "F1@76 .rodata  1\n");
    nk_buf_free(&file);
    nk_buf_free(&data);
}

static void padding_between_containers_is_skipped(void **state)
{
    (void)state;
    struct nk_buf fatbin = {0}, none = {0};
    container(&fatbin, 1);
    nk_buf_fill(&fatbin, 0, 40);
    size_t second = container(&fatbin, 1);
    nk_buf_fill(&fatbin, 0, 8);
    struct nk_buf file = library(&fatbin, &none, &none);
    char expected[100];
    snprintf(expected, sizeof expected, "F0@64 .nv_fatbin  1\nF0@%zu .nv_fatbin  1\n", 64 + second);
    assert_found(&file, expected);
    nk_buf_free(&file);
    nk_buf_free(&fatbin);
}

// Three containers of two images; `field` of the second (or of its second entry) is made to lie.
static void damage(bool entry, size_t field, uint64_t value, size_t size, const char *second_line)
{
    struct nk_buf fatbin = {0}, none = {0};
    container(&fatbin, 2);
    size_t second = container(&fatbin, 2);
    size_t third = container(&fatbin, 2);
    size_t entry_size = (third - second - 16) / 2;
    patch(&fatbin, second + field + (entry ? 16 + entry_size : 0), value, size);
    struct nk_buf file = library(&fatbin, &none, &none);
    char expected[200];
    snprintf(expected, sizeof expected, "F0@64 .nv_fatbin  2\nF4@%zu .nv_fatbin  %s\nF0@%zu .nv_fatbin  2\n",
             64 + second, second_line, 64 + third);
    assert_found(&file, expected);
    nk_buf_free(&file);
    nk_buf_free(&fatbin);
}

static void a_damaged_container_does_not_hide_the_next(void **state)
{
    (void)state;
    damage(false, 0, 0x12345678, 4, "0"); // its magic
    damage(false, 4, 9, 2, "0");          // its version
    damage(false, 8, 1ull << 40, 8, "2"); // its size: walked into the next, which is no entry
    damage(false, 8, 24, 8, "0");         // its size, too small for its first entry
    damage(true, 4, 0, 4, "1");           // the header size of its second entry
    damage(true, 8, UINT64_MAX, 8, "1");  // the payload size of its second entry
}

static void a_section_beyond_the_end_of_the_file_is_walked_as_far_as_it_goes(void **state)
{
    (void)state;
    struct nk_buf fatbin = {0}, none = {0};
    container(&fatbin, 2);
    struct nk_buf file = library(&fatbin, &none, &none);
    uint64_t headers = 0;
    nk_bytes_u64(view_of(&file), ELF_SHOFF, &headers);
    patch(&file, (size_t)headers + 64 + 32, UINT64_MAX, 8);
    struct list list = {0};
    assert_int_equal(nk_find_images(view_of(&file), 0, note, &list, NULL), 0);
    assert_memory_equal(list.lines.data, "F0@64 .nv_fatbin  2\n", 20);
    nk_buf_free(&list.lines);
    nk_buf_free(&file);
    nk_buf_free(&fatbin);
}

static void a_library_that_was_cut_short_gives_what_is_there_and_a_sentence(void **state)
{
    (void)state;
    struct nk_buf fatbin = {0}, none = {0};
    size_t second = (container(&fatbin, 1), container(&fatbin, 2));
    struct nk_buf file = library(&fatbin, &none, &none);
    struct list list = {0};
    struct nk_err err = {0};
    struct guarded cut = guard(file.data, file.size - 6 * 64);
    assert_int_equal(nk_find_images(cut.bytes, 0, note, &list, &err), -1);
    assert_says(&err, "it was cut short");
    char expected[100];
    snprintf(expected, sizeof expected, "F0@64   1\nF0@%zu   2\n", 64 + second);
    assert_string_equal(list.lines.data, expected);
    unguard(&cut);
    nk_buf_free(&list.lines);
    nk_buf_free(&file);
    nk_buf_free(&fatbin);
}

static void a_library_without_section_headers_is_searched(void **state)
{
    (void)state;
    struct nk_buf fatbin = {0}, none = {0};
    container(&fatbin, 2);
    struct nk_buf file = library(&fatbin, &none, &none);
    patch(&file, ELF_SHOFF, 0, 8);
    patch(&file, ELF_SHNUM, 0, 4);
    assert_found(&file, "F0@64   2\n");
    assert_found_with(view_of(&file), NK_FIND_SECTIONS_ONLY, 0, "");
    nk_buf_free(&file);
    nk_buf_free(&fatbin);
}

static void bare_cubins_in_data_are_found_but_not_those_inside_containers(void **state)
{
    (void)state;
    struct nk_buf fatbin = {0}, none = {0}, data = {0}, cubin = {0};
    make_cubin(&cubin, &(struct made_cubin){.sm = 86, .kernels = {{"k", 1, 0, 0, 0}}});
    size_t inside = begin_container(&data);
    make_entry(&data, &(struct made_entry){.kind = 2, .arch = 86, .payload = view_of(&cubin)});
    end_container(&data, inside);
    nk_buf_text(&data, "\177ELF\2\1\1 no cubin; ");
    size_t first = data.size;
    nk_buf_add(&data, cubin.data, cubin.size);
    size_t second = data.size;
    nk_buf_add(&data, cubin.data, cubin.size);
    struct nk_buf file = library(&fatbin, &none, &data);
    char expected[200];
    snprintf(expected, sizeof expected, "F1@64 .rodata  1\nC1@%zu .rodata  1\nC1@%zu .rodata  1\n", 64 + first,
             64 + second);
    assert_found(&file, expected);
    nk_buf_free(&file);
    nk_buf_free(&data);
    nk_buf_free(&cubin);
}

static void a_damaged_bare_cubin_does_not_hide_what_follows(void **state)
{
    (void)state;
    struct nk_buf none = {0}, data = {0}, cubin = {0};
    make_cubin(&cubin, &(struct made_cubin){.sm = 86, .kernels = {{"k", 1, 0, 0, 0}}});
    nk_buf_add(&data, cubin.data, cubin.size);
    patch(&data, ELF_SHOFF, 1ull << 40, 8);
    size_t second = data.size;
    nk_buf_add(&data, cubin.data, cubin.size);
    size_t third = container(&data, 1);
    struct nk_buf file = library(&none, &none, &data);
    char expected[200];
    snprintf(expected, sizeof expected, "C5@64 .rodata  1\nC1@%zu .rodata  1\nF1@%zu .rodata  1\n", 64 + second,
             64 + third);
    assert_found(&file, expected);
    nk_buf_free(&file);
    nk_buf_free(&data);
    nk_buf_free(&cubin);
}

static void files_of_device_code_are_found_whole(void **state)
{
    (void)state;
    struct nk_buf file = {0};
    container(&file, 2);
    size_t second = container(&file, 1);
    char expected[64];
    snprintf(expected, sizeof expected, "F0@0   2\nF0@%zu   1\n", second);
    assert_found(&file, expected);
    nk_buf_clear(&file);
    make_cubin(&file, &(struct made_cubin){.sm = 86});
    assert_found(&file, "C0@0   1\n");
    assert_found_with(nk_bytes(file.data, file.size - 1), 0, 0, "C4@0   1\n");
    nk_buf_clear(&file);
    nk_buf_text(&file, ptx_text);
    assert_found(&file, "P0@0   1\n");
    nk_buf_free(&file);
}

static void any_other_file_is_searched(void **state)
{
    (void)state;
    struct nk_buf file = {0};
    nk_buf_text(&file, "MZ a Windows library");
    container(&file, 1);
    assert_found(&file, "F0@20   1\n");
    assert_found_with(view_of(&file), NK_FIND_SECTIONS_ONLY, 0, "");
    assert_found_with(text_of(""), 0, 0, "");
    nk_buf_free(&file);
}

static void members_of_an_archive_are_searched_one_by_one(void **state)
{
    (void)state;
    struct nk_buf fatbin = {0}, rdc = {0}, none = {0}, file = {0};
    container(&fatbin, 1);
    container(&rdc, 2);
    struct nk_buf a = library(&fatbin, &none, &none), b = library(&none, &rdc, &none);
    nk_buf_text(&file, "!<arch>\n");
    make_member(&file, "bad.o/", "\177ELF too", 8);
    size_t a_at = file.size + 60;
    make_member(&file, "a.o/", a.data, a.size);
    size_t b_at = file.size + 60;
    make_member(&file, "b.o/", b.data, b.size);
    char expected[100];
    snprintf(expected, sizeof expected, "F0@%zu .nv_fatbin a.o 1\nF2@%zu __nv_relfatbin b.o 2\n", a_at + 64, b_at + 64);
    assert_found(&file, expected);
    nk_buf_free(&a);
    nk_buf_free(&b);
    nk_buf_free(&file);
    nk_buf_free(&fatbin);
    nk_buf_free(&rdc);
}

static void a_32_bit_library_is_refused_in_words(void **state)
{
    (void)state;
    struct nk_buf none = {0}, file = library(&none, &none, &none);
    struct nk_err err = {0};
    struct list list = {0};
    file.data[4] = 1;
    assert_int_equal(nk_find_images(view_of(&file), 0, note, &list, &err), -1);
    assert_says(&err, "32-bit");
    nk_buf_free(&file);
}

static void the_search_stops_when_told_to(void **state)
{
    (void)state;
    struct nk_buf file = {0};
    struct list list = {.stop_after = 2};
    for (int i = 0; i < 5; i++) container(&file, 0);
    assert_int_equal(nk_find_images(view_of(&file), 0, note, &list, NULL), 7);
    assert_string_equal(list.lines.data, "F0@0   0\nF0@16   0\n");
    nk_buf_free(&list.lines);
    nk_buf_free(&file);
}

static void use_all(struct nk_bytes bytes)
{
    struct list list = {0};
    nk_find_images(bytes, 0, note, &list, NULL);
    nk_buf_free(&list.lines);
}

static void a_library_cut_anywhere_or_with_any_bit_wrong_is_read_without_harm(void **state)
{
    (void)state;
    struct nk_buf fatbin = {0}, rdc = {0}, data = {0};
    container(&fatbin, 1);
    container(&rdc, 0);
    make_cubin(&data, &(struct made_cubin){.sm = 86});
    struct nk_buf file = library(&fatbin, &rdc, &data);
    for_all_cuts(&file, use_all);
    for_all_flips(&file, use_all);
    nk_buf_free(&file);
    nk_buf_free(&fatbin);
    nk_buf_free(&rdc);
    nk_buf_free(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(containers_are_found_in_both_sections_and_elsewhere),
        cmocka_unit_test(a_quick_search_reads_sections_of_containers_and_tells_what_it_leaves),
        cmocka_unit_test(a_quick_search_that_finds_nothing_in_sections_becomes_a_whole_one),
        cmocka_unit_test(padding_between_containers_is_skipped),
        cmocka_unit_test(a_damaged_container_does_not_hide_the_next),
        cmocka_unit_test(a_section_beyond_the_end_of_the_file_is_walked_as_far_as_it_goes),
        cmocka_unit_test(a_library_that_was_cut_short_gives_what_is_there_and_a_sentence),
        cmocka_unit_test(a_library_without_section_headers_is_searched),
        cmocka_unit_test(bare_cubins_in_data_are_found_but_not_those_inside_containers),
        cmocka_unit_test(a_damaged_bare_cubin_does_not_hide_what_follows),
        cmocka_unit_test(files_of_device_code_are_found_whole),
        cmocka_unit_test(any_other_file_is_searched),
        cmocka_unit_test(members_of_an_archive_are_searched_one_by_one),
        cmocka_unit_test(a_32_bit_library_is_refused_in_words),
        cmocka_unit_test(the_search_stops_when_told_to),
        cmocka_unit_test(a_library_cut_anywhere_or_with_any_bit_wrong_is_read_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
