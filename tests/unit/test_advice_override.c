// test_advice_override.c - rows of a user's own: what they change, and what is said of those that have no form.
#define _GNU_SOURCE
#include "advice.h"
#include "advice/override.h"

#include <sys/stat.h>
#include <unistd.h>

static char said[NK_ERR_TEXT];

static int reads(const char *table, const char *text)
{
    struct nk_err err = {0};
    int result = nk_knowledge_read(table, nk_bytes(text, strlen(text)), "my.tsv", &err);
    snprintf(said, sizeof said, "%s", err.text);
    return result;
}

static void refuses(const char *table, const char *text, const char *sentence)
{
    assert_int_equal(reads(table, text), -1);
    if (!strstr(said, sentence)) fail_msg("%s: expected: %s\nsaid: %s", text, sentence, said);
    assert_int_equal(nk_known_gpus.rows > 100, true); // all is as it was
}

static int back(void **state)
{
    (void)state;
    nk_knowledge_reset();
    return 0;
}

static void a_new_release_of_torch_is_advised_as_soon_as_a_row_tells_of_it(void **state)
{
    (void)state;
    struct nk_advice_case about = lacking("torch", "2.15.0+cu132", 107, 0);
    never_says(&about, "torch==2.16");
    assert_int_equal(reads("torch_wheels", "torch\tvariant\tmachine\tsass\tindex\tsource\n"
                                           "2.16.0\tcu134\tx86_64\t75;80;90;107\tcu134\tmy own measurement\n"),
                     0);
    says(&about, "\"torch==2.16.0+cu134\" --index-url https://download.pytorch.org/whl/cu134");
    nk_knowledge_reset();
    never_says(&about, "2.16");
}

static void a_row_with_the_key_of_an_embedded_one_replaces_it(void **state)
{
    (void)state;
    int rows = nk_known_packages.rows;
    struct nk_advice_case about = lacking("ctranslate2", "4.8.5", 50, 12040);
    says(&about, "ctranslate2==3.24.*");
    assert_int_equal(reads("packages", "package\tfamily\tversion\tpart\tcuda\tsass\tptx\tnote\tsource\n"
                                       "ctranslate2\tctranslate2\t3.24\t\t11.2\t60\t\t\tmine\n"),
                     0);
    assert_int_equal(nk_known_packages.rows, rows);
    never_says(&about, "ctranslate2==3.24");
}

static void other_rows_stay_and_come_behind(void **state)
{
    (void)state;
    int rows = nk_known_gpus.rows;
    assert_int_equal(reads("gpus", "# a comment\n\nsm\tname\tsource\n120\tMy Card\tmine\r\n"), 0);
    assert_int_equal(nk_known_gpus.rows, rows + 1);
    assert_string_equal(nk_known(&nk_known_gpus, 1, NK_GPU_NAME), "My Card");
    assert_string_equal(nk_known(&nk_known_gpus, 1, NK_GPU_KIND), ""); // the heading left it out
    assert_int_not_equal(nk_known_row(&nk_known_gpus, NK_GPU_NAME, "GeForce RTX 5090"), 0);
}

static void rows_without_form_are_named_by_file_and_line(void **state)
{
    (void)state;
    refuses("gpus", "", "my.tsv: a heading was expected: name sm family kind source");
    refuses("gpus", "name\tsm\tcolour\tsource\n",
            "my.tsv:1: there is no column \"colour\" in gpus; there are: name sm");
    refuses("gpus", "name\tname\n", "the column name stands there twice");
    refuses("gpus", "sm\tsource\n120\tx\n", "my.tsv:1: the column name is missing");
    refuses("gpus", "name\tsm\n", "the column source is missing");
    refuses("gpus", "name\tsm\tsource\nA\t120\n", "my.tsv:2: 2 cells, the heading has 3 (they are separated by tabs)");
    refuses("gpus", "name\tsm\tsource\nA\t120\tx\ty\n", "4 cells, the heading has 3");
    refuses("gpus", "name\tsm\tsource\n\t120\tx\n", "name \"\": a text was expected: it tells rows apart");
    refuses("gpus", "name\tsm\tsource\nA\t120\t\n", "source \"\": who says so was expected");
    refuses("gpus", "name\tsm\tsource\nA\t125\tx\n",
            "my.tsv:2: sm \"125\": the number of an architecture was expected");
    refuses("torch_wheels", "torch\tvariant\tmachine\tsass\tsource\n2.9\tcu128\tx86_64\t80,90\tx\n",
            "sass \"80,90\": architectures were expected, as 80;90a;120");
    refuses("torch_wheels", "torch\tvariant\tmachine\tsource\n2.9\tcpu\tx86_64\tx\n", "a version of CUDA was expected");
    refuses("torch_wheels", "torch\tvariant\tmachine\tsource\n2.9\tcu128\tarm\tx\n", "x86_64 or aarch64 was expected");
    refuses("pets", "name\n", "there is no table pets");
}

static void a_text_with_zeros_in_it_is_none(void **state)
{
    (void)state;
    struct nk_err err;
    assert_int_equal(nk_knowledge_read("gpus", nk_bytes("name\tsm\0", 8), "my.tsv", &err), -1);
    assert_non_null(strstr(err.text, "a text of at most 16 MB was expected"));
}

static void a_later_file_of_the_same_table_takes_the_place_of_an_earlier_one(void **state)
{
    (void)state;
    int rows = nk_known_gpus.rows;
    assert_int_equal(reads("gpus", "name\tsm\tsource\nA\t120\tx\nB\t90\tx\n"), 0);
    assert_int_equal(reads("gpus", "name\tsm\tsource\nC\t80\tx\n"), 0);
    assert_int_equal(nk_known_gpus.rows, rows + 1);
}

static void put(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void a_folder_is_read_whole_or_not_at_all(void **state)
{
    (void)state;
    char folder[] = "/tmp/nk-knowledge-XXXXXX", path[256];
    struct nk_err err;
    int rows = nk_known_gpus.rows;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(nk_knowledge_override(folder, &err), -1);
    assert_non_null(strstr(err.text, "a file NAME.tsv was expected in it"));
    put(folder, "gpus.tsv", "name\tsm\tsource\nA\t120\tx\n");
    put(folder, "README", "not a table");
    assert_int_equal(nk_knowledge_override(folder, &err), 0);
    assert_int_equal(nk_known_gpus.rows, rows + 1);
    put(folder, "rebuild.tsv", "nothing\n");
    assert_int_equal(nk_knowledge_override(folder, &err), -1);
    assert_non_null(strstr(err.text, "rebuild.tsv:1: there is no column"));
    assert_int_equal(nk_known_gpus.rows, rows);
    put(folder, "wheels.tsv", "");
    snprintf(path, sizeof path, "%s/wheels.tsv", folder);
    assert_int_equal(nk_knowledge_override(path, &err), -1);
    assert_non_null(strstr(err.text, "the name of a table was expected: torch_wheels.tsv"));
    assert_int_equal(nk_knowledge_override("/nowhere/gpus.tsv", &err), -1);
    assert_string_equal(err.text, "/nowhere/gpus.tsv: there is no such file or folder");
    static const char *const names[] = {"gpus.tsv", "README", "rebuild.tsv", "wheels.tsv"};
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}

int main(void)
{
#define T(name) cmocka_unit_test_teardown(name, back)
    const struct CMUnitTest tests[] = {
        T(a_new_release_of_torch_is_advised_as_soon_as_a_row_tells_of_it),
        T(a_row_with_the_key_of_an_embedded_one_replaces_it),
        T(other_rows_stay_and_come_behind),
        T(rows_without_form_are_named_by_file_and_line),
        T(a_text_with_zeros_in_it_is_none),
        T(a_later_file_of_the_same_table_takes_the_place_of_an_earlier_one),
        T(a_folder_is_read_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
