// test_packages_pip.c - which wheel a library came with.
#define _GNU_SOURCE
#include "packages.h"

#include <time.h>

#define TORCH SITE "/torch/lib/libtorch_cuda.so"

TEST(a_file_in_a_record_belongs_to_that_wheel)
{
    (void)state;
    put_wheel("torch-2.4.1.dist-info", "torch", "2.4.1+cu121",
              "torch/__init__.py,sha256=a,1\ntorch/lib/libtorch_cuda.so,sha256=b,2\ntorch-2.4.1.dist-info/RECORD,,\n");
    put(TORCH, "");
    assert_owner(TORCH, "pip", "torch", "2.4.1+cu121");
}

TEST(a_file_that_is_gone_from_the_disk_still_has_its_owner)
{
    (void)state;
    put_wheel("torch-2.4.1.dist-info", "torch", "2.4.1", "torch/lib/libtorch_cuda.so,,\n");
    assert_owner(TORCH, "pip", "torch", "2.4.1");
}

TEST(a_namespace_package_is_told_by_the_record_not_by_the_folder)
{
    (void)state;
    put_wheel("nvidia_cublas_cu12-12.1.3.1.dist-info", "nvidia-cublas-cu12", "12.1.3.1",
              "nvidia/cublas/lib/libcublas.so.12,,\n");
    put_wheel("nvidia_cudnn_cu12-8.9.dist-info", "nvidia-cudnn-cu12", "8.9", "nvidia/cudnn/lib/libcudnn.so.8,,\n");
    assert_owner(SITE "/nvidia/cudnn/lib/libcudnn.so.8", "pip", "nvidia-cudnn-cu12", "8.9");
}

TEST(a_library_in_the_libs_folder_of_a_repaired_wheel_belongs_to_it)
{
    (void)state;
    put_wheel("torch-2.4.1.dist-info", "torch", "2.4.1", "torch.libs/libgomp-a34b3233.so.1,,\n");
    assert_owner(SITE "/torch.libs/libgomp-a34b3233.so.1", "pip", "torch", "2.4.1");
}

TEST(a_wheel_whose_name_says_nothing_about_its_folder_is_found)
{
    (void)state;
    put_wheel("PyYAML-6.0.dist-info", "PyYAML", "6.0", "yaml/_yaml.so,,\n");
    assert_owner(SITE "/yaml/_yaml.so", "pip", "PyYAML", "6.0");
}

TEST(a_file_beside_site_packages_is_found_by_its_record)
{
    (void)state;
    put_wheel("mkl-2024.0.dist-info", "mkl", "2024.0", "../../libmkl_core.so.2,,\n");
    assert_owner("/v/lib/libmkl_core.so.2", "pip", "mkl", "2024.0");
}

TEST(a_file_in_another_folder_of_the_prefix_is_found_by_its_record)
{
    (void)state;
    put_wheel("tool-1.dist-info", "tool", "1", "../../../opt/tool/libtool.so,,\n");
    assert_owner("/v/opt/tool/libtool.so", "pip", "tool", "1");
}

TEST(a_file_recorded_by_its_absolute_path_is_found)
{
    (void)state;
    put_wheel("tool-1.dist-info", "tool", "1", "/v/opt/libtool.so,,\n");
    assert_owner("/v/opt/libtool.so", "pip", "tool", "1");
}

TEST(a_name_with_a_comma_is_found_in_quotes)
{
    (void)state;
    put_wheel("odd-1.dist-info", "odd", "1", "\"odd/a,b.so\",sha256=x,1\n");
    assert_owner(SITE "/odd/a,b.so", "pip", "odd", "1");
}

TEST(a_name_with_a_quote_is_found_with_the_quote_doubled)
{
    (void)state;
    put_wheel("odd-1.dist-info", "odd", "1", "\"odd/a\"\"b.so\",sha256=x,1\n");
    assert_owner(SITE "/odd/a\"b.so", "pip", "odd", "1");
}

TEST(the_end_of_another_name_is_no_match)
{
    (void)state;
    put_wheel("other-1.dist-info", "other", "1", "other/torch/lib/x.so,,\ntorch/lib/x.so.1,,\nxtorch/lib/x.so,,\n");
    assert_nobody(SITE "/torch/lib/x.so");
}

TEST(a_record_with_windows_line_ends_is_read)
{
    (void)state;
    put_wheel("a-1.dist-info", "a", "1", "a/b.py,,\r\na/x.so,,\r\n");
    assert_owner(SITE "/a/x.so", "pip", "a", "1");
}

TEST(a_record_cut_off_inside_the_name_is_no_match)
{
    (void)state;
    put_wheel("b-1.dist-info", "b", "1", "a/b.py,,\na/long_na");
    assert_nobody(SITE "/a/long_name.so");
}

TEST(a_record_cut_off_behind_the_name_is_a_match)
{
    (void)state;
    put_wheel("a-1.dist-info", "a", "1", "a/b.py,,\na/x.so");
    assert_owner(SITE "/a/x.so", "pip", "a", "1");
}

TEST(a_record_of_noise_is_no_match)
{
    (void)state;
    char noise[70000];
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (char)(i * 2654435761u >> 13);
    put_wheel("z-1.dist-info", "z", "1", "");
    put_bytes(SITE "/z-1.dist-info/RECORD", noise, sizeof noise);
    assert_nobody(SITE "/a/x.so");
}

TEST(headers_need_no_space_and_may_hold_some)
{
    (void)state;
    put(SITE "/q-1.dist-info/METADATA", "Name:a b\t \nVersion:1 rc2\n");
    put(SITE "/q-1.dist-info/RECORD", "q/x.so,,\n");
    assert_owner(SITE "/q/x.so", "pip", "a b", "1 rc2");
}

TEST(metadata_without_a_name_is_passed_over)
{
    (void)state;
    put(SITE "/q-1.dist-info/METADATA", "Metadata-Version: 2.1\n\nName: in the description\n");
    put(SITE "/q-1.dist-info/RECORD", "a/x.so,,\n");
    assert_nobody(SITE "/a/x.so");
}

TEST(a_name_of_a_kilobyte_is_cut_to_its_field)
{
    (void)state;
    char name[1001], path[] = SITE "/a-1.dist-info/METADATA", text[1100];
    memset(name, 'n', 1000);
    name[1000] = 0;
    snprintf(text, sizeof text, "Name: %s\nVersion: 1\n", name);
    put(path, text);
    put(SITE "/a-1.dist-info/RECORD", "a/x.so,,\n");
    name[127] = 0;
    assert_owner(SITE "/a/x.so", "pip", name, "1");
}

TEST(control_characters_do_not_reach_the_name)
{
    (void)state;
    put(SITE "/a-1.dist-info/METADATA", "Name: a\033[31mb\nVersion: 1\n");
    put(SITE "/a-1.dist-info/RECORD", "a/x.so,,\n");
    assert_owner(SITE "/a/x.so", "pip", "a?[31mb", "1");
}

TEST(the_cuda_of_torch_is_taken_from_its_version_file)
{
    (void)state;
    put_wheel("torch-2.1.2.dist-info", "torch", "2.1.2", "torch/lib/libtorch_cuda.so,,\n");
    put(SITE "/torch/version.py", "from typing import Optional\n\n__version__ = '2.1.2+cu121'\ndebug = False\n"
                                  "cuda: Optional[str] = '12.1'\nhip: Optional[str] = None\n");
    assert_owner(TORCH, "pip", "torch", "2.1.2+cu121");
}

TEST(the_cuda_of_torch_is_taken_from_its_cuda_line_when_the_version_is_bare)
{
    (void)state;
    put_wheel("torch-2.1.2.dist-info", "torch", "2.1.2", "torch/lib/libtorch_cuda.so,,\n");
    put(SITE "/torch/version.py", "__version__ = '2.1.2'\ncuda_home = '9.9'\ncuda: Optional[str] = '12.1'\n");
    assert_owner(TORCH, "pip", "torch", "2.1.2+cu121");
}

TEST(a_torch_without_cuda_keeps_its_version)
{
    (void)state;
    put_wheel("torch-2.1.2.dist-info", "torch", "2.1.2", "torch/lib/libtorch_cuda.so,,\n");
    put(SITE "/torch/version.py", "__version__ = '2.1.2'\ncuda: Optional[str] = None\n");
    assert_owner(TORCH, "pip", "torch", "2.1.2");
}

TEST(a_version_file_of_another_torch_is_not_believed)
{
    (void)state;
    put_wheel("torch-2.1.2.dist-info", "torch", "2.1.2", "torch/lib/libtorch_cuda.so,,\n");
    put(SITE "/torch/version.py", "__version__ = '2.1.20+cu118'\n");
    assert_owner(TORCH, "pip", "torch", "2.1.2");
}

TEST(an_egg_folder_owns_what_is_in_it)
{
    (void)state;
    put(SITE "/ext-0.1-py3.11-linux-x86_64.egg/EGG-INFO/PKG-INFO", "Metadata-Version: 1.0\nName: ext\nVersion: 0.1\n");
    assert_owner(SITE "/ext-0.1-py3.11-linux-x86_64.egg/ext/_C.so", "pip", "ext", "0.1");
}

TEST(a_linked_file_is_found_behind_its_link)
{
    (void)state;
    put_wheel("torch-2.4.1.dist-info", "torch", "2.4.1", "torch/lib/libtorch_cuda.so,,\n");
    put(TORCH, "");
    char target[256];
    snprintf(target, sizeof target, "%s" TORCH, root);
    assert_int_equal(symlink(target, place("/app/gpu.so")), 0);
    assert_owner("/app/gpu.so", "pip", "torch", "2.4.1");
}

TEST(a_linked_folder_above_the_file_does_no_harm)
{
    (void)state;
    put_wheel("torch-2.4.1.dist-info", "torch", "2.4.1", "torch/lib/libtorch_cuda.so,,\n");
    put(TORCH, "");
    assert_int_equal(symlink("lib", place("/v/lib64")), 0);
    assert_owner("/v/lib64/python3.11/site-packages/torch/lib/libtorch_cuda.so", "pip", "torch", "2.4.1");
}

TEST(a_file_that_a_package_made_later_is_told_by_its_folder)
{
    (void)state;
    put_wheel("flash_attn-2.6.dist-info", "flash-attn", "2.6", "flash_attn/__init__.py,,\n");
    assert_owner(SITE "/flash_attn/jit/kernels.so", "folder", "flash-attn", "2.6");
}

TEST(marks_in_a_name_do_not_hide_its_folder)
{
    (void)state;
    put(SITE "/Torch.ext_x-1.egg-info", "Name: Torch.ext-x\nVersion: 1\n");
    assert_owner(SITE "/torch_ext_x/x.so", "folder", "Torch.ext-x", "1");
}

TEST(a_top_level_module_is_told_by_top_level_txt)
{
    (void)state;
    put(SITE "/flash_attn-2.6.egg-info/PKG-INFO", "Name: flash-attn\nVersion: 2.6\n");
    put(SITE "/flash_attn-2.6.egg-info/top_level.txt", "flash_attn\nflash_attn_2_cuda\n");
    assert_owner(SITE "/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so", "folder", "flash-attn", "2.6");
}

TEST(an_egg_info_that_is_a_file_is_read)
{
    (void)state;
    put(SITE "/Thing-3.egg-info", "Metadata-Version: 1.1\nName: Thing\nVersion: 3\n");
    assert_owner(SITE "/thing/x.so", "folder", "Thing", "3");
}

TEST(a_source_tree_is_told_by_its_egg_info)
{
    (void)state;
    put("/src/ext/ext.egg-info/PKG-INFO", "Name: ext\nVersion: 0.2.dev1\n");
    assert_owner("/src/ext/ext/_C.so", "folder", "ext", "0.2.dev1");
}

TEST(a_source_tree_does_not_own_the_environment_inside_it)
{
    (void)state;
    put("/src/ext/ext.egg-info/PKG-INFO", "Name: ext\nVersion: 1\n");
    put("/src/ext/.venv/lib/python3.11/site-packages/z-1.dist-info/RECORD", "z/z.so,,\n");
    assert_nobody("/src/ext/.venv/lib/python3.11/site-packages/left/over.so");
}

TEST(a_file_of_nobody_has_no_owner)
{
    (void)state;
    put_wheel("torch-2.4.1.dist-info", "torch", "2.4.1", "torch/lib/libtorch_cuda.so,,\n");
    assert_nobody("/app/libapp.so");
}

TEST(a_relative_path_is_an_error)
{
    (void)state;
    struct nk_package package;
    struct nk_err err = {0};
    assert_int_equal(nk_package_find("lib/x.so", &package, &err), -1);
    assert_int_equal(err.code, NK_ERR_USAGE);
}

TEST(a_path_without_end_is_an_error)
{
    (void)state;
    struct nk_package package;
    struct nk_err err = {0};
    char path[9000];
    memset(path, '/', sizeof path);
    path[sizeof path - 1] = 0;
    assert_int_equal(nk_package_find(path, &package, &err), -1);
    assert_int_equal(err.code, NK_ERR_LIMIT);
}

// 20,000 files, as in torch: the bound is a hundred times what it takes.
TEST(a_record_as_long_as_that_of_torch_is_read_in_milliseconds)
{
    (void)state;
    struct nk_buf record = {0};
    for (int i = 0; i < 20000; i++)
        nk_buf_format(&record,
                      "torch/include/ATen/ops/some_operation_%d_native.h,sha256=0123456789abcdef0123456789,1\n", i);
    nk_buf_text(&record, "torch/lib/libtorch_cuda.so,,\n");
    put_wheel("torch-2.4.1.dist-info", "torch", "2.4.1", "");
    put_bytes(SITE "/torch-2.4.1.dist-info/RECORD", record.data, record.size);
    nk_buf_free(&record);
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    assert_owner(TORCH, "pip", "torch", "2.4.1");
    clock_gettime(CLOCK_MONOTONIC, &b);
    assert_true((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < 500);
}

// ---- where it came from
static void assert_origin(const char *path, const char *origin, const char *installer)
{
    struct nk_package package;
    assert_int_equal(nk_package_find_in(root, path, &package, NULL), 0);
    assert_string_equal(package.origin, origin);
    assert_string_equal(package.installer, installer);
}

static void put_ops(const char *direct_url, const char *installer)
{
    put_wheel("ops-1.dist-info", "ops", "1", "ops/_C.so,,\n");
    if (*direct_url) put(SITE "/ops-1.dist-info/direct_url.json", direct_url);
    if (*installer) put(SITE "/ops-1.dist-info/INSTALLER", installer);
}

TEST(a_package_of_an_index_has_no_origin)
{
    (void)state;
    put_ops("", "pip\n");
    assert_origin(SITE "/ops/_C.so", "", "pip");
}

TEST(what_uv_installed_is_known_to_be_uvs)
{
    (void)state;
    put_ops("", "uv");
    assert_origin(SITE "/ops/_C.so", "", "uv");
}

TEST(a_package_of_a_repository_names_its_commit)
{
    (void)state;
    put_ops("{\"url\": \"https://github.com/o/ops\", \"vcs_info\": {\"commit_id\": \"abc123\", \"vcs\": \"git\"}}",
            "pip");
    assert_origin(SITE "/ops/_C.so", "git+https://github.com/o/ops@abc123", "pip");
}

TEST(a_source_tree_used_in_place_is_editable)
{
    (void)state;
    put_ops("{\"dir_info\": {\"editable\": true}, \"url\": \"file:///home/u/ops\"}", "");
    assert_origin(SITE "/ops/_C.so", "editable:/home/u/ops", "");
}

TEST(a_source_tree_or_a_wheel_that_was_installed_keeps_its_path)
{
    (void)state;
    put_ops("{\"dir_info\": {}, \"url\": \"file:///home/u/ops\"}", "");
    assert_origin(SITE "/ops/_C.so", "file:/home/u/ops", "");
    put_ops("{\"archive_info\": {\"hash\": \"sha256=00\"}, \"url\":\"https://x.org/ops-1-py3-none-any.whl\"}", "");
    assert_origin(SITE "/ops/_C.so", "https://x.org/ops-1-py3-none-any.whl", "");
}

TEST(a_path_is_told_as_it_is_and_not_as_a_url_writes_it)
{
    (void)state;
    put_ops("{\"dir_info\": {\"editable\": true}, \"url\": \"file:///home/u/my%20ops%2\"}", "");
    assert_origin(SITE "/ops/_C.so", "editable:/home/u/my ops%2", "");
    put_ops("{\"dir_info\": {}, \"url\": \"file:///home/u/%0Arm\"}", "");
    assert_origin(SITE "/ops/_C.so", "file:/home/u/?rm", "");
}

TEST(no_password_and_no_signature_of_a_url_is_told)
{
    (void)state;
    put_ops(
        "{\"url\": \"https://u:p@ss@github.com/o/ops?token=1#egg=x\", \"vcs_info\": {\"commit_id\": \"abc\", \"vcs\": "
        "\"git\"}}",
        "");
    assert_origin(SITE "/ops/_C.so", "git+https://github.com/o/ops@abc", "");
    put_ops("{\"url\": \"ssh://me:secret@host/o/ops\", \"vcs_info\": {\"commit_id\": \"abc\", \"vcs\": \"git\"}}", "");
    assert_origin(SITE "/ops/_C.so", "git+ssh://git@host/o/ops@abc", "");
    put_ops("{\"url\": \"https://x.org/a@1/ops.whl?X-Signature=f00\", \"archive_info\": {}}", "");
    assert_origin(SITE "/ops/_C.so", "https://x.org/a@1/ops.whl", "");
}

TEST(where_conda_built_its_package_is_no_origin)
{
    (void)state;
    put_ops("{\"dir_info\": {}, \"url\": \"file:///home/conda/feedstock_root/build_artifacts/ops/work\"}", "conda");
    assert_origin(SITE "/ops/_C.so", "", "conda");
}

TEST(an_origin_that_cannot_be_read_is_none)
{
    (void)state;
    static const char *const texts[] = {"{}",       "{\"url\": 7}", "{\"url\": \"file:///a", "\"url\"", "url",
                                        "{\"url\"", "{\"url\":"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put_ops(texts[i], "");
        assert_origin(SITE "/ops/_C.so", "", "");
    }
}

TEST(an_origin_that_is_too_long_is_none_and_never_cut)
{
    (void)state;
    char text[400] = "{\"url\": \"https://x.org/";
    memset(text + strlen(text), 'a', 300);
    strcpy(text + 320, "\"}");
    put_ops(text, "");
    assert_origin(SITE "/ops/_C.so", "", "");
}

TEST(a_source_tree_is_known_by_its_pyproject)
{
    (void)state;
    put("/home/u/ops/pyproject.toml", "[build-system]\nname = \"not this\"\n[project]\nname = \"ops\"\nversion='1.2'\n"
                                      "[tool.x]\nversion = \"9\"\n");
    put("/home/u/ops/build/lib/_C.so", "");
    assert_owner("/home/u/ops/build/lib/_C.so", "folder", "ops", "1.2");
    assert_origin("/home/u/ops/build/lib/_C.so", "editable:/home/u/ops", "");
}

TEST(a_pyproject_without_a_name_is_passed_over)
{
    (void)state;
    put("/home/u/ops/pyproject.toml", "[project]\ndynamic = [\"name\"]\nname =\nname = 7\nname\n");
    put("/home/u/ops/_C.so", "");
    assert_nobody("/home/u/ops/_C.so");
}

static const struct CMUnitTest tests[] = {
    T(a_file_in_a_record_belongs_to_that_wheel),
    T(a_file_that_is_gone_from_the_disk_still_has_its_owner),
    T(a_namespace_package_is_told_by_the_record_not_by_the_folder),
    T(a_library_in_the_libs_folder_of_a_repaired_wheel_belongs_to_it),
    T(a_wheel_whose_name_says_nothing_about_its_folder_is_found),
    T(a_file_beside_site_packages_is_found_by_its_record),
    T(a_file_in_another_folder_of_the_prefix_is_found_by_its_record),
    T(a_file_recorded_by_its_absolute_path_is_found),
    T(a_name_with_a_comma_is_found_in_quotes),
    T(a_name_with_a_quote_is_found_with_the_quote_doubled),
    T(the_end_of_another_name_is_no_match),
    T(a_record_with_windows_line_ends_is_read),
    T(a_record_cut_off_inside_the_name_is_no_match),
    T(a_record_cut_off_behind_the_name_is_a_match),
    T(a_record_of_noise_is_no_match),
    T(headers_need_no_space_and_may_hold_some),
    T(metadata_without_a_name_is_passed_over),
    T(a_name_of_a_kilobyte_is_cut_to_its_field),
    T(control_characters_do_not_reach_the_name),
    T(the_cuda_of_torch_is_taken_from_its_version_file),
    T(the_cuda_of_torch_is_taken_from_its_cuda_line_when_the_version_is_bare),
    T(a_torch_without_cuda_keeps_its_version),
    T(a_version_file_of_another_torch_is_not_believed),
    T(an_egg_folder_owns_what_is_in_it),
    T(a_linked_file_is_found_behind_its_link),
    T(a_linked_folder_above_the_file_does_no_harm),
    T(a_file_that_a_package_made_later_is_told_by_its_folder),
    T(marks_in_a_name_do_not_hide_its_folder),
    T(a_top_level_module_is_told_by_top_level_txt),
    T(an_egg_info_that_is_a_file_is_read),
    T(a_source_tree_is_told_by_its_egg_info),
    T(a_source_tree_does_not_own_the_environment_inside_it),
    T(a_file_of_nobody_has_no_owner),
    T(a_relative_path_is_an_error),
    T(a_path_without_end_is_an_error),
    T(a_record_as_long_as_that_of_torch_is_read_in_milliseconds),
    T(a_package_of_an_index_has_no_origin),
    T(what_uv_installed_is_known_to_be_uvs),
    T(a_package_of_a_repository_names_its_commit),
    T(a_source_tree_used_in_place_is_editable),
    T(a_source_tree_or_a_wheel_that_was_installed_keeps_its_path),
    T(a_path_is_told_as_it_is_and_not_as_a_url_writes_it),
    T(no_password_and_no_signature_of_a_url_is_told),
    T(where_conda_built_its_package_is_no_origin),
    T(an_origin_that_cannot_be_read_is_none),
    T(an_origin_that_is_too_long_is_none_and_never_cut),
    T(a_source_tree_is_known_by_its_pyproject),
    T(a_pyproject_without_a_name_is_passed_over),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
