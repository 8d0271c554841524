// test_doctor_requires.c - requirements of packages as pip reads them: versions (PEP 440), markers (PEP 508).
#include "doctor/requires.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct nk_marker_env env = {"3.11", "3.11.7", "x86_64"};

static void specifiers(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *version;
        bool met;
    } cases[] = {
        {"", "1.0", true},
        {"==2.4.1", "2.4.1", true},
        {"==2.4.1", "2.4.1+cu121", true},
        {"==2.4.1+cu121", "2.4.1+cu118", false},
        {"==2.4.1+cu121", "2.4.1+cu121", true},
        {"==2.4", "2.4.1", false},
        {"==2.4.*", "2.4.1", true},
        {"==2.4.*", "2.40.1", false},
        {"!=2.4.1", "2.4.1", false},
        {"!=2.4.*", "2.5.0", true},
        {">=2,<3", "2.15.0", true},
        {">=2,<3", "3.0.0", false},
        {">=2, <3", "1.9", false},
        {">2.4", "2.4.1", true},
        {"<=2.9.1", "2.10.0", false},
        {"~=3.9.0", "3.9.5", true},
        {"~=3.9.0", "3.10.0", false},
        {"~=3.9", "3.10", true},
        {"===1.0", "1.0", true},
        {"===1.0", "1.0.0", false},
        {"<2.7", "2.7.0.dev1", true},
        {"=?1", "0", true}, // not understood: nothing is claimed
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (nk_requires_met(cases[i].spec, cases[i].version) != cases[i].met)
            fail_msg("%s with %s is not %s", cases[i].spec, cases[i].version, cases[i].met ? "met" : "unmet");
}

static void one_line(const char *line, bool holds, const char *name, const char *spec)
{
    char text[600] = "Name: x\n";
    struct nk_requirement r;
    strcat(strcat(text, line), "\n");
    const char *rest = text;
    bool found = nk_requires_next(&rest, &env, &r);
    if (found != holds) fail_msg("%s holds: %d", line, found);
    if (found && (strcmp(r.name, name) || strcmp(r.spec, spec))) fail_msg("%s is %s %s", line, r.name, r.spec);
}

static void lines_of_real_wheels(void **state)
{
    (void)state;
    one_line("Requires-Dist: torch (==2.4.1)", true, "torch", "==2.4.1");
    one_line("Requires-Dist: torch==2.4.1", true, "torch", "==2.4.1");
    one_line("Requires-Dist: cuda-bindings<14,>=13.0.3; platform_system == \"Linux\" and python_version < \"3.15\"",
             true, "cuda-bindings", "<14,>=13.0.3");
    one_line("Requires-Dist: cuda-toolkit[cublas,cudart]==13.2.2; platform_system == \"Linux\"", true, "cuda-toolkit",
             "==13.2.2");
    one_line("Requires-Dist: nvidia-cublas-cu12 (==12.1.3.1) ; platform_system == \"Linux\" and platform_machine == "
             "\"x86_64\"",
             true, "nvidia-cublas-cu12", "==12.1.3.1");
    one_line("Requires-Dist: ext @ https://example.org/ext.whl", true, "ext", "");
    one_line("Requires-Dist: optree>=0.13.0; extra == \"optree\"", false, "", "");
}

static void markers(void **state)
{
    (void)state;
    static const struct {
        const char *marker;
        bool holds;
    } cases[] = {
        {"python_version >= '3.9'", true},
        {"python_version < '3.9'", false},
        {"python_version >= '3.10'", true}, // not as texts: "3.11" < "3.9"
        {"python_full_version >= '3.11.8'", false},
        {"sys_platform == 'win32'", false},
        {"sys_platform != 'win32'", true},
        {"platform_machine == 'aarch64'", false},
        {"platform_machine in 'x86_64 amd64'", true},
        {"platform_machine not in 'x86_64'", false},
        {"sys_platform == 'win32' or python_version > '3'", true},
        {"(sys_platform == 'win32' or python_version > '3') and os_name == 'nt'", false},
        {"sys_platform == 'linux' and (os_name == 'nt' or os_name == 'posix')", true},
        {"'3.11' == python_version", true},
        {"extra == 'x' or sys_platform == 'linux'", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[200] = "Requires-Dist: a; ";
        one_line(strcat(line, cases[i].marker), cases[i].holds, "a", "");
    }
}

static void all_lines_until_the_headers_end(void **state)
{
    (void)state;
    const char *rest = "Name: x\nRequires-Dist: a\nSummary: s\r\nRequires-Dist: b>1\r\n\nRequires-Dist: c\n";
    struct nk_requirement r;
    assert_true(nk_requires_next(&rest, &env, &r));
    assert_string_equal(r.name, "a");
    assert_true(nk_requires_next(&rest, &env, &r));
    assert_string_equal(r.name, "b");
    assert_string_equal(r.spec, ">1");
    assert_false(nk_requires_next(&rest, &env, &r));
}

static void what_is_damaged_is_passed_over(void **state)
{
    (void)state;
    char deep[400] = "Requires-Dist: a; ";
    memset(deep + 18, '(', 300);
    deep[318] = 0;
    one_line(deep, false, "", "");
    one_line("Requires-Dist: ; python_version > '3'", false, "", "");
    one_line("Requires-Dist: a[b", true, "a", "");
    one_line("Requires-Dist: a; python_version > '3", true, "a", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specifiers),
        cmocka_unit_test(lines_of_real_wheels),
        cmocka_unit_test(markers),
        cmocka_unit_test(all_lines_until_the_headers_end),
        cmocka_unit_test(what_is_damaged_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
