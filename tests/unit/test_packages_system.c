// test_packages_system.c - which conda or Debian package a library came with.
#define _GNU_SOURCE
#include "packages.h"

static void put_conda(const char *json)
{
    put("/opt/conda/conda-meta/history", "==> 2024 <==\n");
    put("/opt/conda/conda-meta/other-1-0.json", "{\"name\": \"other\", \"version\": \"1\", \"files\": []}");
    put("/opt/conda/conda-meta/pytorch-2.1.0-cuda.json", json);
}

TEST(a_file_in_conda_meta_belongs_to_that_package)
{
    (void)state;
    put_conda("{\n  \"build\": \"py3.11_cuda12.1\",\n  \"files\": [\n    \"lib/libtorch_cuda.so\",\n    \"x\"\n  ],\n"
              "  \"name\": \"pytorch\",\n  \"version\": \"2.1.0\"\n}\n");
    assert_owner("/opt/conda/lib/libtorch_cuda.so", "conda", "pytorch", "2.1.0");
}

TEST(compact_json_is_read)
{
    (void)state;
    put_conda("{\"version\":\"2.1.0\",\"name\":\"pytorch\",\"files\":[\"lib/libtorch_cuda.so\"]}");
    assert_owner("/opt/conda/lib/libtorch_cuda.so", "conda", "pytorch", "2.1.0");
}

static void assert_spec(const char *channel, const char *expected)
{
    char json[512];
    struct nk_buf spec = {0};
    snprintf(json, sizeof json,
             "{\"build\": \"cuda120_h1\",%s \"files\": [\"lib/x.so\"], \"name\": \"pytorch\", \"version\": \"2.1.0\"}",
             channel);
    put_conda(json);
    assert_int_equal(nk_packages_conda_spec(root, "/opt/conda/lib/x.so", &spec), 0);
    assert_string_equal(spec.data, expected);
    nk_buf_free(&spec);
}

TEST(conda_is_told_channel_name_version_and_build)
{
    (void)state;
    assert_spec("\"channel\": \"https://conda.anaconda.org/conda-forge/linux-64\",",
                "conda-forge::pytorch=2.1.0=cuda120_h1");
    assert_spec("\"channel\": \"https://repo.anaconda.com/pkgs/main/linux-64\",",
                "pkgs/main::pytorch=2.1.0=cuda120_h1");
    assert_spec("\"channel\": \"pytorch\",", "pytorch::pytorch=2.1.0=cuda120_h1");
    assert_spec("", "pytorch=2.1.0=cuda120_h1");
}

TEST(the_address_of_a_server_of_somebodys_own_is_left_out)
{
    (void)state;
    assert_spec("\"channel\": \"https://conda.example.org/t/a-secret-token/ours/linux-64\",",
                "pytorch=2.1.0=cuda120_h1");
    assert_spec("\"channel\": \"https://conda.anaconda.org/t/a-secret-token/ours/linux-64\",",
                "pytorch=2.1.0=cuda120_h1");
    assert_spec("\"channel\": \"https://conda.anaconda.org/\",", "pytorch=2.1.0=cuda120_h1");
}

TEST(a_file_that_no_package_of_conda_lists_has_no_specification)
{
    (void)state;
    struct nk_buf spec = {0};
    put_conda("{\"files\": [\"lib/x.so\"], \"name\": \"a\", \"version\": \"1\"}");
    assert_int_equal(nk_packages_conda_spec(root, "/opt/conda/lib/y.so", &spec), 1);
    assert_int_equal(spec.size, 0);
    nk_buf_free(&spec);
}

TEST(names_of_inner_objects_are_not_taken)
{
    (void)state;
    put_conda("{\"link\": {\"name\": \"wrong\", \"version\": \"9\"}, \"list\": [{\"name\": \"wrong\"}], \"files\": "
              "[\"lib/x.so\"], \"name\": \"right\", \"version\": \"1\"}");
    assert_owner("/opt/conda/lib/x.so", "conda", "right", "1");
}

TEST(a_value_that_says_name_is_no_key)
{
    (void)state;
    put_conda(
        "{\"key\": \"name\", \"a\": \"wrong\", \"files\": [\"lib/x.so\"], \"name\": \"right\", \"version\": \"1\"}");
    assert_owner("/opt/conda/lib/x.so", "conda", "right", "1");
}

TEST(escaped_quotes_do_not_end_a_string)
{
    (void)state;
    put_conda("{\"a\": \"\\\", \\\"name\\\": \\\"wrong\", \"files\": [\"lib/x.so\"], \"name\": \"right\", \"version\": "
              "\"1\"}");
    assert_owner("/opt/conda/lib/x.so", "conda", "right", "1");
}

TEST(a_longer_name_in_conda_meta_is_no_match)
{
    (void)state;
    put_conda("{\"files\": [\"lib/x.so.1\", \"zlib/x.so\"], \"name\": \"a\", \"version\": \"1\"}");
    assert_nobody("/opt/conda/lib/x.so");
}

TEST(json_without_a_name_is_no_match)
{
    (void)state;
    put_conda("{\"files\": [\"lib/x.so\"], \"version\": \"1\"}");
    assert_nobody("/opt/conda/lib/x.so");
}

TEST(white_space_around_the_colon_is_allowed)
{
    (void)state;
    put_conda("{\"files\": [\"lib/x.so\"], \"name\" \n\t:\r\n \"a\", \"version\"\n: \"1\"}");
    assert_owner("/opt/conda/lib/x.so", "conda", "a", "1");
}

TEST(json_cut_off_before_the_name_is_no_match)
{
    (void)state;
    put_conda("{\"files\": [\"lib/x.so\"], \"name\": \"pyt");
    assert_nobody("/opt/conda/lib/x.so");
}

TEST(json_that_ends_in_a_backslash_is_no_match)
{
    (void)state;
    put_conda("{\"files\": [\"lib/x.so\"], \"name\": \"pyt\\");
    assert_nobody("/opt/conda/lib/x.so");
}

TEST(a_python_package_that_conda_installed_is_condas)
{
    (void)state;
    put_conda("{\"files\": [\"lib/python3.11/site-packages/torch/lib/x.so\"], \"name\": \"pytorch\", \"version\": "
              "\"2.1.0\"}");
    put("/opt/conda/lib/python3.11/site-packages/torch-2.1.0.dist-info/METADATA", "Name: torch\nVersion: 2.1.0\n");
    put("/opt/conda/lib/python3.11/site-packages/torch-2.1.0.dist-info/RECORD", "torch/lib/x.so,,\n");
    put("/opt/conda/lib/python3.11/site-packages/torch-2.1.0.dist-info/INSTALLER", "conda\n");
    assert_owner("/opt/conda/lib/python3.11/site-packages/torch/lib/x.so", "conda", "pytorch", "2.1.0");
}

TEST(a_wheel_in_a_conda_environment_is_pips)
{
    (void)state;
    put_conda("{\"files\": [], \"name\": \"pytorch\", \"version\": \"2.1.0\"}");
    put("/opt/conda/lib/python3.11/site-packages/torch-2.4.dist-info/METADATA", "Name: torch\nVersion: 2.4\n");
    put("/opt/conda/lib/python3.11/site-packages/torch-2.4.dist-info/RECORD", "torch/lib/x.so,,\n");
    put("/opt/conda/lib/python3.11/site-packages/torch-2.4.dist-info/INSTALLER", "pip\n");
    assert_owner("/opt/conda/lib/python3.11/site-packages/torch/lib/x.so", "pip", "torch", "2.4");
}

#define STATUS                                                                                                         \
    "Package: aaa\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n\n"                                  \
    "Package: libcuda1\nStatus: install ok installed\nArchitecture: i386\nVersion: 100-1\n\n"                          \
    "Package: libcuda1\nStatus: install ok installed\nArchitecture: amd64\nVersion: 535.183.01-1\n\n"                  \
    "Package: zzz\nArchitecture: all\nDescription: x\n Package: libcuda1\nVersion: 3\n"

static void put_deb(const char *list, const char *files)
{
    char path[128];
    snprintf(path, sizeof path, "/var/lib/dpkg/info/%s", list);
    put(path, files);
    put("/var/lib/dpkg/info/aaa.list", "/.\n/usr\n/usr/lib/aaa.so\n");
    put("/var/lib/dpkg/status", STATUS);
}

TEST(a_file_in_a_dpkg_list_belongs_to_that_package)
{
    (void)state;
    put_deb("zzz.list", "/.\n/usr\n/usr/lib/z.so\n");
    assert_owner("/usr/lib/z.so", "deb", "zzz", "3");
}

TEST(the_version_is_that_of_the_lists_architecture)
{
    (void)state;
    put_deb("libcuda1:amd64.list", "/.\n/usr/lib/x86_64-linux-gnu/libcuda.so.1\n");
    assert_owner("/usr/lib/x86_64-linux-gnu/libcuda.so.1", "deb", "libcuda1", "535.183.01-1");
}

TEST(a_python_package_that_debian_installed_is_debians)
{
    (void)state;
    put_deb("zzz.list", "/usr/lib/python3/dist-packages/z/z.so\n");
    put("/usr/lib/python3/dist-packages/z-2.dist-info/METADATA", "Name: z\nVersion: 2\n");
    put("/usr/lib/python3/dist-packages/z-2.dist-info/RECORD", "z/z.so,,\n");
    put("/usr/lib/python3/dist-packages/z-2.dist-info/INSTALLER", "debian\n");
    assert_owner("/usr/lib/python3/dist-packages/z/z.so", "deb", "zzz", "3");
}

TEST(a_python_package_beside_debian_without_its_list_is_pips)
{
    (void)state;
    put_deb("zzz.list", "/usr/lib/other.so\n");
    put("/usr/lib/python3/dist-packages/z-2.dist-info/METADATA", "Name: z\nVersion: 2\n");
    put("/usr/lib/python3/dist-packages/z-2.dist-info/RECORD", "z/z.so,,\n");
    put("/usr/lib/python3/dist-packages/z-2.dist-info/INSTALLER", "debian\n");
    assert_owner("/usr/lib/python3/dist-packages/z/z.so", "pip", "z", "2");
}

TEST(a_file_listed_in_lib_is_found_in_usr_lib)
{
    (void)state;
    put_deb("zzz.list", "/lib/x86_64-linux-gnu/z.so\n");
    assert_owner("/usr/lib/x86_64-linux-gnu/z.so", "deb", "zzz", "3");
}

TEST(a_file_listed_in_usr_lib_is_found_in_lib)
{
    (void)state;
    put_deb("zzz.list", "/usr/lib/x86_64-linux-gnu/z.so\n");
    assert_owner("/lib/x86_64-linux-gnu/z.so", "deb", "zzz", "3");
}

TEST(a_link_that_no_list_names_is_found_by_its_target)
{
    (void)state;
    put_deb("zzz.list", "/usr/lib/z.so.1.2\n");
    put("/usr/lib/z.so.1.2", "");
    assert_int_equal(symlink("z.so.1.2", place("/usr/lib/z.so.1")), 0);
    assert_owner("/usr/lib/z.so.1", "deb", "zzz", "3");
}

TEST(the_beginning_of_a_listed_name_is_no_match)
{
    (void)state;
    put_deb("zzz.list", "/usr/lib/z.so.1\n");
    assert_nobody("/usr/lib/z.so");
}

TEST(a_package_that_status_does_not_know_has_no_version)
{
    (void)state;
    put_deb("gone.list", "/usr/lib/g.so\n");
    assert_owner("/usr/lib/g.so", "deb", "gone", "");
}

TEST(a_list_that_cannot_be_read_is_passed_over)
{
    (void)state;
    put_deb("zzz.list", "/usr/lib/z.so\n");
    put("/var/lib/dpkg/info/aab.list/file", "");
    assert_nobody("/usr/lib/y.so");
}

TEST(the_version_of_a_library_that_nobody_owns_is_that_of_its_own_name)
{
    (void)state;
    struct nk_package found;
    char path[4096], name[4096];
    put("/opt/cv/lib/libcv.so.4.10.0", "");
    put("/opt/cv/lib/libplain.so.1", "");
    put("/opt/cv/lib/libodd.so.1.x", "");
    snprintf(path, sizeof path, "%s/opt/cv/lib/libcv.so.4.10.0", root);
    snprintf(name, sizeof name, "%s/opt/cv/lib/libcv.so.410", root);
    assert_int_equal(symlink("libcv.so.4.10.0", name), 0);
    assert_int_equal(nk_package_find(name, &found, NULL), 1);
    assert_string_equal(found.name, "");
    assert_string_equal(found.version, "4.10.0");
    assert_string_equal(found.source, "name");
    snprintf(path, sizeof path, "%s/opt/cv/lib/libplain.so.1", root);
    assert_int_equal(nk_package_find(path, &found, NULL), 1);
    assert_string_equal(found.version, "");
    snprintf(path, sizeof path, "%s/opt/cv/lib/libodd.so.1.x", root);
    assert_int_equal(nk_package_find(path, &found, NULL), 1);
    assert_string_equal(found.version, "");
}

TEST(a_machine_without_dpkg_has_no_owner)
{
    (void)state;
    assert_nobody("/usr/lib/x.so");
}

static const struct CMUnitTest tests[] = {
    T(a_file_in_conda_meta_belongs_to_that_package),
    T(compact_json_is_read),
    T(conda_is_told_channel_name_version_and_build),
    T(the_address_of_a_server_of_somebodys_own_is_left_out),
    T(a_file_that_no_package_of_conda_lists_has_no_specification),
    T(names_of_inner_objects_are_not_taken),
    T(a_value_that_says_name_is_no_key),
    T(escaped_quotes_do_not_end_a_string),
    T(a_longer_name_in_conda_meta_is_no_match),
    T(json_without_a_name_is_no_match),
    T(white_space_around_the_colon_is_allowed),
    T(json_cut_off_before_the_name_is_no_match),
    T(json_that_ends_in_a_backslash_is_no_match),
    T(a_python_package_that_conda_installed_is_condas),
    T(a_wheel_in_a_conda_environment_is_pips),
    T(a_file_in_a_dpkg_list_belongs_to_that_package),
    T(the_version_is_that_of_the_lists_architecture),
    T(a_python_package_that_debian_installed_is_debians),
    T(a_python_package_beside_debian_without_its_list_is_pips),
    T(a_file_listed_in_lib_is_found_in_usr_lib),
    T(a_file_listed_in_usr_lib_is_found_in_lib),
    T(a_link_that_no_list_names_is_found_by_its_target),
    T(the_beginning_of_a_listed_name_is_no_match),
    T(a_package_that_status_does_not_know_has_no_version),
    T(a_list_that_cannot_be_read_is_passed_over),
    T(the_version_of_a_library_that_nobody_owns_is_that_of_its_own_name),
    T(a_machine_without_dpkg_has_no_owner),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
