// test_image_elf.c - the ELF reader, on files made by hand.
#include "test_image_maker.h"

#include "image/elf.h"

static const char build_id_note[] = "\4\0\0\0\4\0\0\0\1\0\0\0GNU\0abcd" // another note first
                                    "\4\0\0\0\5\0\0\0\3\0\0\0GNU\0\xde\xad\xbe\xef\x01\0\0\0";

static struct made_elf library(void)
{
    return (struct made_elf){
        .type = 3,
        .machine = 62,
        .flags = 7,
        .sections = {{".text", 1, "code", 4, 0, 0, 0, 6},
                     {".note.gnu.build-id", 7, build_id_note, sizeof build_id_note - 1, 0, 0, 0, 2},
                     {".nv_fatbin", 1, "fatbytes", 8, 0, 0, 0, 2},
                     {".bss", 8, NULL, 1 << 20, 0, 0, 0, 3}}};
}

static struct nk_buf made(const struct made_elf *elf)
{
    struct nk_buf buf = {0};
    make_elf(&buf, elf);
    return buf;
}

static void a_section_is_found_by_its_name_and_its_bytes_are_its_own(void **state)
{
    (void)state;
    struct made_elf elf = library();
    struct nk_buf buf = made(&elf);
    struct nk_elf reader;
    struct nk_elf_section section;
    struct nk_bytes contents;
    assert_int_equal(nk_elf_open(&reader, view_of(&buf), NULL), 0);
    assert_int_equal(reader.machine, 62);
    assert_int_equal(reader.flags, 7);
    assert_true(nk_elf_find_name(&reader, ".nv_fatbin", &section));
    assert_int_equal(section.index, 3);
    assert_true(nk_elf_contents(&reader, &section, &contents));
    assert_text(contents, "fatbytes");
    assert_false(nk_elf_find_name(&reader, ".nv_fat", &section));
    nk_buf_free(&buf);
}

static void a_nobits_section_has_no_bytes(void **state)
{
    (void)state;
    struct made_elf elf = library();
    struct nk_buf buf = made(&elf);
    struct nk_elf reader;
    struct nk_elf_section section;
    struct nk_bytes contents;
    nk_elf_open(&reader, view_of(&buf), NULL);
    assert_true(nk_elf_find_name(&reader, ".bss", &section));
    assert_true(nk_elf_contents(&reader, &section, &contents));
    assert_int_equal(contents.size, 0);
    nk_buf_free(&buf);
}

static void what_is_no_64_bit_little_endian_elf_is_refused_in_words(void **state)
{
    (void)state;
    struct made_elf elf = library();
    struct nk_buf buf = made(&elf);
    struct nk_elf reader;
    struct nk_err err;
    assert_int_equal(nk_elf_open(&reader, nk_bytes(buf.data, 63), &err), -1);
    assert_says(&err, "only 63 bytes");
    buf.data[4] = 1;
    assert_int_equal(nk_elf_open(&reader, view_of(&buf), &err), -1);
    assert_says(&err, "32-bit");
    buf.data[4] = 2;
    buf.data[5] = 2;
    assert_int_equal(nk_elf_open(&reader, view_of(&buf), &err), -1);
    assert_says(&err, "big-endian");
    buf.data[0] = 'M';
    assert_int_equal(nk_elf_open(&reader, view_of(&buf), &err), -1);
    assert_says(&err, "starts with 4d 45 4c 46");
    nk_buf_free(&buf);
}

static void the_build_id_is_read_from_its_section(void **state)
{
    (void)state;
    struct made_elf elf = library();
    struct nk_buf buf = made(&elf);
    struct nk_elf reader;
    char id[NK_BUILD_ID_TEXT];
    nk_elf_open(&reader, view_of(&buf), NULL);
    assert_true(nk_elf_build_id(&reader, id));
    assert_string_equal(id, "deadbeef01");
    nk_buf_free(&buf);
}

static void the_build_id_is_read_from_a_segment_when_section_headers_are_gone(void **state)
{
    (void)state;
    struct made_elf elf = library();
    elf.note_segment = 2;
    struct nk_buf buf = made(&elf);
    struct nk_elf reader;
    struct nk_elf_segment segment;
    char id[NK_BUILD_ID_TEXT];
    patch(&buf, ELF_SHOFF, 0, 8);
    patch(&buf, ELF_SHNUM, 0, 4);
    assert_int_equal(nk_elf_open(&reader, view_of(&buf), NULL), 0);
    assert_int_equal(reader.sections, 0);
    assert_false(reader.sections_lost);
    assert_true(nk_elf_segment(&reader, 0, &segment));
    assert_int_equal(segment.type, 4);
    assert_true(nk_elf_build_id(&reader, id));
    assert_string_equal(id, "deadbeef01");
    nk_buf_free(&buf);
}

static void a_file_without_build_id_says_so(void **state)
{
    (void)state;
    struct made_elf elf = library();
    elf.sections[1].size = 20; // the other note alone
    struct nk_buf buf = made(&elf);
    struct nk_elf reader;
    char id[NK_BUILD_ID_TEXT] = "old";
    nk_elf_open(&reader, view_of(&buf), NULL);
    assert_false(nk_elf_build_id(&reader, id));
    assert_string_equal(id, "");
    nk_buf_free(&buf);
}

static void counts_that_do_not_fit_16_bits_are_taken_from_section_0(void **state)
{
    (void)state;
    struct made_elf elf = library();
    elf.note_segment = 2;
    struct nk_buf buf = made(&elf);
    struct nk_elf reader;
    struct nk_elf_section section;
    uint64_t headers = 0;
    nk_bytes_u64(view_of(&buf), ELF_SHOFF, &headers);
    patch(&buf, ELF_SHNUM, 0, 2);
    patch(&buf, headers + 32, 6, 8); // sh_size: number of sections
    patch(&buf, ELF_SHSTRNDX, 0xffff, 2);
    patch(&buf, headers + 40, 5, 4); // sh_link: index of the names
    patch(&buf, 56, 0xffff, 2);
    patch(&buf, headers + 44, 1, 4); // sh_info: number of segments
    assert_int_equal(nk_elf_open(&reader, view_of(&buf), NULL), 0);
    assert_int_equal(reader.sections, 6);
    assert_int_equal(reader.segments, 1);
    assert_true(nk_elf_find_name(&reader, ".nv_fatbin", &section));
    nk_buf_free(&buf);
}

static void section_headers_beyond_the_end_are_reported_as_lost(void **state)
{
    (void)state;
    struct made_elf elf = library();
    struct nk_buf buf = made(&elf);
    struct nk_elf reader;
    assert_int_equal(nk_elf_open(&reader, nk_bytes(buf.data, buf.size - 65), NULL), 0);
    assert_true(reader.sections_lost);
    assert_int_equal(reader.sections, 4);
    patch(&buf, ELF_SHOFF, UINT64_MAX - 3, 8);
    assert_int_equal(nk_elf_open(&reader, view_of(&buf), NULL), 0);
    assert_true(reader.sections_lost);
    assert_int_equal(reader.sections, 0);
    nk_buf_free(&buf);
}

static void symbols_are_read_with_their_names_and_sizes(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    make_cubin(&buf, &(struct made_cubin){.sm = 90, .kernels = {{"one", 128, 0, 0, 0}, {"two", 256, 0x01, 0, 0}}});
    struct nk_elf reader;
    struct nk_elf_symbols walk;
    struct nk_elf_symbol symbol;
    nk_elf_open(&reader, view_of(&buf), NULL);
    assert_int_equal(nk_elf_symbols_begin(&reader, NK_SHT_SYMTAB, &walk, NULL), 0);
    assert_true(nk_elf_symbols_next(&walk, &symbol));
    assert_int_equal(symbol.name.size, 0);
    assert_true(nk_elf_symbols_next(&walk, &symbol));
    assert_text(symbol.name, "one");
    assert_int_equal(symbol.size, 128);
    assert_int_equal(symbol.binding, 1);
    assert_true(nk_elf_symbols_next(&walk, &symbol));
    assert_text(symbol.name, "two");
    assert_int_equal(symbol.type, 1);
    assert_int_equal(symbol.index, 2);
    assert_false(nk_elf_symbols_next(&walk, &symbol));
    nk_buf_free(&buf);
}

static void a_symbol_table_that_lies_is_refused_in_words(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    make_cubin(&buf, &(struct made_cubin){.sm = 90, .kernels = {{"one", 128, 0, 0, 0}}});
    struct nk_elf reader;
    struct nk_elf_symbols walk;
    struct nk_err err;
    uint64_t headers = 0;
    nk_bytes_u64(view_of(&buf), ELF_SHOFF, &headers);
    size_t symtab = (size_t)headers + 2 * 64;
    nk_elf_open(&reader, view_of(&buf), NULL);
    patch(&buf, symtab + 40, 2, 4); // sh_link: itself, no string table
    assert_int_equal(nk_elf_symbols_begin(&reader, NK_SHT_SYMTAB, &walk, &err), -1);
    assert_says(&err, "section 2 as its strings");
    patch(&buf, symtab + 40, 1, 4);
    patch(&buf, symtab + 56, 0, 8); // an entry size of 0 would never end
    assert_int_equal(nk_elf_symbols_begin(&reader, NK_SHT_SYMTAB, &walk, &err), -1);
    assert_says(&err, "24 bytes");
    patch(&buf, symtab + 56, 24, 8);
    patch(&buf, symtab + 32, 1ull << 40, 8);
    assert_int_equal(nk_elf_symbols_begin(&reader, NK_SHT_SYMTAB, &walk, &err), -1);
    assert_says(&err, "outside the file");
    assert_int_equal(nk_elf_symbols_begin(&reader, NK_SHT_DYNSYM, &walk, &err), -1);
    assert_says(&err, "none of the 4 sections");
    nk_buf_free(&buf);
}

static void the_function_that_covers_an_address_is_found_and_nothing_else(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    make_cubin(&buf, &(struct made_cubin){.sm = 90, .kernels = {{"one", 128, 0, 0, 0}, {"two", 256, 0x01, 0, 0}}});
    struct nk_elf reader;
    struct nk_elf_symbols table;
    struct nk_elf_symbol found[3] = {{.size = 0}};
    uint64_t addresses[3] = {128, 127, UINT64_MAX}, headers = 0;
    nk_elf_open(&reader, view_of(&buf), NULL);
    assert_int_equal(nk_elf_symbols_begin(&reader, NK_SHT_SYMTAB, &table, NULL), 0);
    nk_elf_symbols_cover(&table, addresses, 3, found);
    assert_int_equal(found[0].size, 0); // "two" is there, but no function
    assert_text(found[1].name, "one");
    assert_int_equal(found[2].size, 0);
    nk_bytes_u64(view_of(&buf), ELF_SHOFF, &headers);
    patch(&buf, (size_t)headers + 2 * 64 + 56, UINT64_MAX, 8); // the entry size
    assert_int_equal(nk_elf_symbols_begin(&reader, NK_SHT_SYMTAB, &table, NULL), 0);
    nk_elf_symbols_cover(&table, addresses, 3, found);
    nk_buf_free(&buf);
}

static void a_symbol_entry_size_near_the_largest_number_ends_the_walk(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    make_cubin(&buf, &(struct made_cubin){.sm = 90, .kernels = {{"one", 128, 0, 0, 0}}});
    struct nk_elf reader;
    struct nk_elf_symbols walk;
    struct nk_elf_symbol symbol;
    uint64_t headers = 0;
    nk_bytes_u64(view_of(&buf), ELF_SHOFF, &headers);
    patch(&buf, (size_t)headers + 2 * 64 + 56, UINT64_MAX, 8);
    nk_elf_open(&reader, view_of(&buf), NULL);
    assert_int_equal(nk_elf_symbols_begin(&reader, NK_SHT_SYMTAB, &walk, NULL), 0);
    assert_true(nk_elf_symbols_next(&walk, &symbol));
    assert_false(nk_elf_symbols_next(&walk, &symbol));
    nk_buf_free(&buf);
}

static void a_name_of_more_than_64_kb_is_no_name(void **state)
{
    (void)state;
    struct nk_buf buf = {0}, name = {0};
    struct nk_elf reader;
    struct nk_elf_section section;
    nk_buf_fill(&name, 'n', 65535);
    make_elf(&buf, &(struct made_elf){.machine = 62, .sections = {{name.data, 1, "x", 1, 0, 0, 0, 0}}});
    nk_elf_open(&reader, view_of(&buf), NULL);
    assert_true(nk_elf_find_name(&reader, name.data, &section));
    nk_buf_fill(&name, 'n', 1);
    nk_buf_clear(&buf);
    make_elf(&buf, &(struct made_elf){.machine = 62, .sections = {{name.data, 1, "x", 1, 0, 0, 0, 0}}});
    nk_elf_open(&reader, view_of(&buf), NULL);
    assert_true(nk_elf_section(&reader, 1, &section));
    assert_int_equal(section.name.size, 0);
    nk_buf_free(&name);
    nk_buf_free(&buf);
}

static void the_extent_of_an_image_in_memory_is_learnt_step_by_step(void **state)
{
    (void)state;
    struct nk_buf buf = {0};
    make_cubin(&buf, &(struct made_cubin){.sm = 90, .kernels = {{"one", 128, 0, 0, 0}}});
    size_t size = buf.size;
    nk_buf_fill(&buf, 'x', 100); // what follows in memory
    assert_int_equal(nk_elf_extent(nk_bytes(buf.data, 64)), size);
    assert_int_equal(nk_elf_extent(view_of(&buf)), size);
    assert_int_equal(nk_elf_extent(nk_bytes(buf.data, 63)), 0);
    assert_int_equal(nk_elf_extent(text_of("no ELF file at all, but long enough to be one, or is it not now?")), 0);
    nk_buf_free(&buf);
}

// All that the reader can do with a file, for input that may be anything.
static void use_all(struct nk_bytes bytes)
{
    struct nk_elf reader;
    struct nk_elf_section section;
    struct nk_elf_segment segment;
    struct nk_elf_symbols walk;
    struct nk_elf_symbol symbol;
    struct nk_bytes contents;
    char id[NK_BUILD_ID_TEXT];
    nk_elf_extent(bytes);
    if (nk_elf_open(&reader, bytes, NULL)) return;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < reader.sections; i++)
        if (nk_elf_section(&reader, i, &section) && nk_elf_contents(&reader, &section, &contents) && contents.size)
            sum += contents.data[0] + contents.data[contents.size - 1] + section.name.size;
    for (uint32_t i = 0; i < reader.segments; i++) sum += nk_elf_segment(&reader, i, &segment);
    nk_elf_build_id(&reader, id);
    if (!nk_elf_symbols_begin(&reader, NK_SHT_SYMTAB, &walk, NULL))
        while (nk_elf_symbols_next(&walk, &symbol)) sum += symbol.name.size;
    assert_true(sum < UINT64_MAX);
}

static void a_file_cut_anywhere_or_with_any_bit_wrong_is_read_without_harm(void **state)
{
    (void)state;
    struct made_elf elf = library();
    elf.note_segment = 2;
    struct nk_buf buf = made(&elf);
    for_all_cuts(&buf, use_all);
    for_all_flips(&buf, use_all);
    nk_buf_clear(&buf);
    make_cubin(&buf, &(struct made_cubin){.sm = 90, .kernels = {{"one", 128, 0, 0, 0}, {"two", 64, 0, 0, 0}}});
    for_all_cuts(&buf, use_all);
    for_all_flips(&buf, use_all);
    nk_buf_free(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_section_is_found_by_its_name_and_its_bytes_are_its_own),
        cmocka_unit_test(a_nobits_section_has_no_bytes),
        cmocka_unit_test(what_is_no_64_bit_little_endian_elf_is_refused_in_words),
        cmocka_unit_test(the_build_id_is_read_from_its_section),
        cmocka_unit_test(the_build_id_is_read_from_a_segment_when_section_headers_are_gone),
        cmocka_unit_test(a_file_without_build_id_says_so),
        cmocka_unit_test(counts_that_do_not_fit_16_bits_are_taken_from_section_0),
        cmocka_unit_test(section_headers_beyond_the_end_are_reported_as_lost),
        cmocka_unit_test(symbols_are_read_with_their_names_and_sizes),
        cmocka_unit_test(the_function_that_covers_an_address_is_found_and_nothing_else),
        cmocka_unit_test(a_symbol_table_that_lies_is_refused_in_words),
        cmocka_unit_test(a_symbol_entry_size_near_the_largest_number_ends_the_walk),
        cmocka_unit_test(a_name_of_more_than_64_kb_is_no_name),
        cmocka_unit_test(the_extent_of_an_image_in_memory_is_learnt_step_by_step),
        cmocka_unit_test(a_file_cut_anywhere_or_with_any_bit_wrong_is_read_without_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
