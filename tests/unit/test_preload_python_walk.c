// test_preload_python_walk.c - Python frames out of memory that is right, torn, or nonsense.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "python_maker.h"

#define EACH_LAYOUT(i) for (size_t i = 0; i < LAYOUTS && make_python(i); i++)

static uint64_t inner_and_outer(void)
{
    uint64_t outer = make_frame(make_function("main.py", "<module>", 7), 10, 0);
    return make_frame(make_function("lib.py", "work", 42), 20, outer);
}

static void frames_are_told_innermost_first_in_every_layout(void **state)
{
    (void)state;
    EACH_LAYOUT(i)
    {
        assert_string_equal(walk(make_thread(inner_and_outer(), 1)), "lib.py:42 work\nmain.py:7 <module>\n");
        assert_int_equal(shown, 2);
    }
}

static void a_thread_that_runs_no_python_has_no_frames(void **state)
{
    (void)state;
    EACH_LAYOUT(i)
    assert_string_equal(walk(make_thread(0, 1)), "");
}

static void a_thread_is_known_by_its_id(void **state)
{
    (void)state;
    EACH_LAYOUT(i)
    {
        uint64_t thread = make_thread(0, 77);
        assert_true(nk_python_is_of(&made_python, &memory, thread, 77));
        assert_false(nk_python_is_of(&made_python, &memory, thread, 78));
        assert_false(nk_python_is_of(&made_python, &memory, 0, 77));
        assert_false(nk_python_is_of(&made_python, &memory, 0xdead000, 77));
    }
}

static void two_states_of_one_thread_are_seen_before_3_12(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const struct nk_python_layout *at = make_python(i);
        uint64_t runtime = make(64), first = make(64), second = make(64);
        uint64_t one = make_thread(0, 5), other = make_thread(0, 6), again = make_thread(0, 5);
        put(runtime, at->interpreters, first, 8);
        put(first, at->interpreter_next, second, 8);
        put(first, at->interpreter_threads, other, 8);
        put(other, at->thread_next, one, 8);
        assert_int_equal(nk_python_threads(&made_python, &memory, runtime, 5), 1);
        put(second, at->interpreter_threads, again, 8);
        assert_int_equal(nk_python_threads(&made_python, &memory, runtime, 5), 2);
        put(other, at->thread_next, other, 8); // rings end too
        put(second, at->interpreter_next, first, 8);
        nk_python_threads(&made_python, &memory, runtime, 7);
    }
}

static void marks_of_the_interpreter_are_no_frames(void **state)
{
    (void)state;
    for (size_t i = 4; i < LAYOUTS; i++) { // 3.12 and newer
        const struct nk_python_layout *at = make_python(i);
        uint64_t mark = make_frame(0, 0, inner_and_outer());
        put(mark, at->frame_owner, 3, 1);
        walk(make_thread(mark, 1));
        assert_int_equal(shown, 2);
    }
}

static void frames_that_are_still_being_set_up_are_no_frames(void **state)
{
    (void)state;
    for (size_t i = 3; i < LAYOUTS; i++) {
        const struct nk_python_layout *at = make_python(i);
        uint64_t code = make_function("new.py", "begins", 1);
        uint64_t frame = make_frame(code, 4, inner_and_outer());
        put(code, at->code_first_traced, 3, 4);
        walk(make_thread(frame, 1));
        assert_int_equal(shown, 2);
        put(frame, at->frame_owner, 1, 1); // a generator's own frame is never shown half made
        walk(make_thread(frame, 1));
        assert_int_equal(shown, 3);
    }
}

static void marks_in_the_lowest_bits_of_an_address_do_not_count(void **state)
{
    (void)state;
    make_python(7);
    uint64_t code = make_function("a.py", "f", 3), frame = make_frame(code, 2, 0);
    put(frame, made_python.layout.frame_code, code | 1, 8);
    assert_string_equal(walk(make_thread(frame, 1)), "a.py:3 f\n");
}

static void a_threads_own_copy_of_the_code_is_known(void **state)
{
    (void)state;
    const struct nk_python_layout *at = make_python(8);
    uint64_t code = make_function("a.py", "f", 3), frame = make_frame(code, 2, 0);
    uint64_t copies = make(32), copy = make(200);
    put(code, at->code_copies, copies, 8);
    put(copies, 0, 2, 8);
    put(copies, 8, code + at->code_start, 8);
    put(copies, 16, copy, 8);
    put(frame, at->frame_copy, 1, 4);
    put(frame, at->frame_at, copy + 6, 8);
    assert_string_equal(walk(make_thread(frame, 1)), "a.py:3 f\n");
    put(frame, at->frame_copy, 2, 4); // there is no third
    assert_string_equal(walk(make_thread(frame, 1)), "");
}

// ---- texts

static const char *text_as_read(const void *data, size_t length, unsigned width)
{
    static char out[64];
    const struct walk w = {&memory, &made_python, &made_python.layout};
    return get_text(&w, make_wide(data, length, width), out, sizeof out) ? out : NULL;
}

static void characters_of_every_width_become_utf_8(void **state)
{
    (void)state;
    static const uint16_t two[] = {'a', 0x416, 0x65e5}, bad[] = {'x', 0xdcff};
    static const uint32_t four[] = {0x1f600, 0x20000, 0x110000, 0xe9};
    EACH_LAYOUT(i)
    {
        assert_string_equal(text_as_read("abc", 3, 0), "abc");
        assert_string_equal(text_as_read("gr\xf6\xdf", 4, 1), "größ");
        assert_string_equal(text_as_read(two, 3, 2), "aЖ日");
        assert_string_equal(text_as_read(four, 4, 4), "😀𠀀?é");
        assert_string_equal(text_as_read(bad, 2, 2), "x\\udcff");
        assert_string_equal(text_as_read("a\0b", 3, 0), "a?b");
        assert_string_equal(text_as_read("", 0, 0), "");
    }
}

static void a_long_text_ends_with_dots(void **state)
{
    (void)state;
    char text[200];
    memset(text, 'x', sizeof text);
    make_python(3);
    const char *read = text_as_read(text, sizeof text, 0);
    assert_true(strlen(read) < 64);
    assert_string_equal(read + strlen(read) - 4, "x...");
}

static void what_is_no_text_is_not_read(void **state)
{
    (void)state;
    make_python(3);
    const struct walk w = {&memory, &made_python, &made_python.layout};
    char out[64];
    uint64_t text = make_text("abc");
    put(text, made_python.layout.text_length, UINT64_MAX, 8);
    assert_false(get_text(&w, BASE + ROOM - 8, out, sizeof out));
    text = make_text("abc");
    put(text, made_python.layout.text_state, 0, 4); // not compact
    assert_false(get_text(&w, text, out, sizeof out));
    text = make_text("abc");
    put(text, made_python.layout.object_type, BYTES_TYPE, 8);
    assert_false(get_text(&w, text, out, sizeof out));
}

// ---- lines: what the interpreters of those versions made of one function, with what they say of it

static void expect_lines(size_t column, const char *table, size_t size, const int (*expected)[2], size_t count)
{
    make_python(column);
    const struct walk w = {&memory, &made_python, &made_python.layout};
    uint64_t code = make_code(0, 0, 1, make_lines(table, size));
    for (size_t i = 0; i < count; i++) assert_int_equal(line_of(&w, code, expected[i][0]), expected[i][1]);
}
#define EXPECT_LINES(column, table, ...)                                                                               \
    do {                                                                                                               \
        static const int expected[][2] = {__VA_ARGS__};                                                                \
        expect_lines(column, table, sizeof table - 1, expected, sizeof expected / sizeof *expected);                   \
    } while (0)

static void lines_are_those_that_python_says(void **state)
{
    (void)state;
    EXPECT_LINES(1,
                 "\000\002\002\001\002\377\004\002\010\001\004\001\002\001\002\001\002\376\006\004\006\001\002\001"
                 "\002\377",
                 {-1, 1}, {0, 3}, {2, 4}, {4, 3}, {6, 3}, {8, 5}, {16, 6}, {22, 8}, {24, 9}, {26, 7}, {32, 11},
                 {38, 12}, {40, 13}, {42, 12}, {44, 12});
    EXPECT_LINES(2,
                 "\002\002\002\001\004\377\010\002\004\001\002\001\002\001\002\001\006\376\006\004\002\001\002\001"
                 "\004\377",
                 {-2, 1}, {0, 3}, {2, 4}, {4, 3}, {6, 3}, {8, 5}, {16, 6}, {22, 8}, {24, 9}, {26, 7}, {32, 11},
                 {38, 12}, {40, 13}, {44, 12});
    EXPECT_LINES(5,
                 "\200\000\340\011\012\330\011\012\360\003\001\011\014\200\101\343\015\016\210\001\336\013\014\334"
                 "\020\021\330\020\021\330\020\021\363\005\002\021\023\212\101\360\010\000\021\022\212\101\361\015"
                 "\000\016\017\360\016\000\015\016\330\016\017\361\003\001\015\020\360\000\001\005\021",
                 {0, 1}, {2, 3}, {4, 4}, {6, 3}, {10, 5}, {20, 6}, {34, 7}, {44, 8}, {46, 9}, {48, 7}, {62, 11},
                 {70, 5}, {74, 12}, {76, 13}, {78, 12});
}

static void code_without_a_line_has_none(void **state)
{
    (void)state;
    EXPECT_LINES(2, "\002\001\004\200\002\001", {0, 2}, {2, 0}, {4, 0}, {6, 3}, {8, 0});
    EXPECT_LINES(4, "\370\350\001", {0, 0}, {2, 1}, {4, 0});
}

static void a_line_far_away_is_reached(void **state)
{
    (void)state;
    EXPECT_LINES(5, "\350\100\102\075\350\101\102\075", {0, 1 + 124992}, {2, 1}); // there and back
}

static void an_endless_number_in_a_table_ends(void **state)
{
    (void)state;
    EXPECT_LINES(5, "\350\177\177\177\177\177\177\177\177\177\177\177\177", {0, 0});
}

// ---- nonsense

static void a_chain_that_leads_to_itself_ends(void **state)
{
    (void)state;
    EACH_LAYOUT(i)
    {
        uint64_t frame = make_frame(make_function("a.py", "f", 3), 2, 0), thread = make_thread(frame, 1);
        put(frame, made_python.layout.frame_back, frame, 8);
        assert_string_equal(walk(thread), "a.py:3 f\n");
        uint64_t second = make_frame(make_function("a.py", "g", 4), 2, frame);
        put(frame, made_python.layout.frame_back, second, 8);
        walk(thread);
        assert_int_equal(shown, NK_PYTHON_FRAMES);
    }
}

static void a_chain_ends_where_it_stops_making_sense(void **state)
{
    (void)state;
    EACH_LAYOUT(i)
    {
        const struct nk_python_layout *at = &made_python.layout;
        uint64_t frame = inner_and_outer(), thread = make_thread(frame, 1), back = 0, code = 0;
        const struct walk w = {&memory, &made_python, at};
        assert_true(get_u64(&w, frame, at->frame_back, &back) && get_u64(&w, back, at->frame_code, &code));
        put(code, at->object_type, BYTES_TYPE, 8);
        assert_string_equal(walk(thread), "lib.py:42 work\n");
        put(code, at->object_type, CODE_TYPE, 8);
        if (at->frame_owner != N) {
            put(back, at->frame_owner, 9, 1);
            assert_string_equal(walk(thread), "lib.py:42 work\n");
            put(back, at->frame_owner, 0, 1);
            put_position(back, code, 200); // behind its last instruction
            assert_string_equal(walk(thread), "lib.py:42 work\n");
        }
        put(frame, at->frame_back, 0x10, 8);
        assert_string_equal(walk(thread), "lib.py:42 work\n");
    }
}

static uint32_t chance = 1;
static uint32_t dice(uint32_t sides)
{
    chance ^= chance << 13, chance ^= chance >> 17, chance ^= chance << 5;
    return chance % sides;
}

// Changes one number somewhere: to anything, to an address in the process, or by little.
static void damage(void)
{
    uint64_t at = BASE + dice((uint32_t)used / 8) * 8, value = 0;
    memcpy(&value, bytes + (at - BASE), 8);
    switch (dice(5)) {
    case 0:
        value = (uint64_t)dice(UINT32_MAX) << 32 | dice(UINT32_MAX);
        break;
    case 1:
        value = BASE + dice((uint32_t)used);
        break;
    case 2:
        value += dice(64) - 32ull;
        break;
    case 3:
        value ^= 1ull << dice(64);
        break;
    default:
        value = dice(2) ? UINT64_MAX : 0;
    }
    put(at, 0, value, 8);
}

static bool read_torn(void *self, uint64_t address, void *out, size_t size)
{
    if (!dice(16)) damage();
    return read_bytes(self, address, out, size);
}

static void believable(void *self, const struct nk_python_frame *frame)
{
    (void)self;
    if (strlen(frame->file) > 1023 || strlen(frame->function) > 255 || frame->line > INT32_MAX) abort();
}

static void try(uint64_t frame, const struct nk_python_memory *from)
{
    uint64_t thread = make_thread(frame, 1);
    for (uint32_t i = dice(4); i--;) damage();
    size_t before = reads;
    size_t count = nk_python_walk(&made_python, from, thread, believable, NULL);
    nk_python_threads(&made_python, from, thread, 1);
    if (count > NK_PYTHON_FRAMES) fail_msg("%zu frames", count);
    if (reads - before > 3000000) fail_msg("%zu reads for one stack", reads - before);
}

static void damaged_memory_gives_a_short_stack_and_nothing_worse(void **state)
{
    (void)state;
    for (int round = 0; round < 4000; round++) {
        EACH_LAYOUT(i)
        try(inner_and_outer(), &memory);
    }
}

static void memory_that_changes_meanwhile_gives_a_short_stack_and_nothing_worse(void **state)
{
    (void)state;
    static const struct nk_python_memory torn = {read_torn, NULL};
    for (int round = 0; round < 4000; round++) {
        EACH_LAYOUT(i)
        try(inner_and_outer(), &torn);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_are_told_innermost_first_in_every_layout),
        cmocka_unit_test(a_thread_that_runs_no_python_has_no_frames),
        cmocka_unit_test(a_thread_is_known_by_its_id),
        cmocka_unit_test(two_states_of_one_thread_are_seen_before_3_12),
        cmocka_unit_test(marks_of_the_interpreter_are_no_frames),
        cmocka_unit_test(frames_that_are_still_being_set_up_are_no_frames),
        cmocka_unit_test(marks_in_the_lowest_bits_of_an_address_do_not_count),
        cmocka_unit_test(a_threads_own_copy_of_the_code_is_known),
        cmocka_unit_test(characters_of_every_width_become_utf_8),
        cmocka_unit_test(a_long_text_ends_with_dots),
        cmocka_unit_test(what_is_no_text_is_not_read),
        cmocka_unit_test(lines_are_those_that_python_says),
        cmocka_unit_test(code_without_a_line_has_none),
        cmocka_unit_test(a_line_far_away_is_reached),
        cmocka_unit_test(an_endless_number_in_a_table_ends),
        cmocka_unit_test(a_chain_that_leads_to_itself_ends),
        cmocka_unit_test(a_chain_ends_where_it_stops_making_sense),
        cmocka_unit_test(damaged_memory_gives_a_short_stack_and_nothing_worse),
        cmocka_unit_test(memory_that_changes_meanwhile_gives_a_short_stack_and_nothing_worse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
