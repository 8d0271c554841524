"""`nokernel scan` on files: what is in them, and what that means for a GPU."""

import csv
import os
import subprocess
import zipfile

import pytest

from conftest import command
from fixtures import fatbin as lying
from fixtures import images
from scanning import archs, cached, cubin, fatbin, forget, libraries, only, scan, shared

K = ["_Z3k_aPf", "_Z3k_bPf"]


@pytest.fixture(scope="session")
def both(store):
    """A library with two containers: sm_80 and PTX, and sm_75 alone."""
    return shared(store, nv_fatbin=[images.container(store, ["80", "ptx80"], K), images.container(store, ["75"], K[:1])])


def in_a_wheel(folder, library):
    path = folder / "made.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(library, "made.so")
    return path


def test_the_images_of_a_library_are_counted_by_target(both):
    library = only(scan(both))
    assert archs(library) == {"sm_75": 1, "sm_80": 1}
    assert archs(library, "ptx") == {"compute_80@7.8": 1}
    assert (library["containers"], library["kernels"], library["names"]) == (2, 3, 2)


@pytest.mark.parametrize(
    "gpu,verdict,counts",
    [
        ("sm_75", "partly", {"native": 1, "none": 2}),
        ("sm_86", "partly", {"native": 2, "none": 1}),
        ("sm_90", "partly", {"jit": 2, "none": 1}),
        ("sm_70", "none", {"none": 3}),
    ],
)
def test_a_verdict_is_about_every_kernel_of_every_container_and_not_about_their_union(both, gpu, verdict, counts):
    said = only(scan("--gpu", gpu, both))["verdicts"][gpu]
    assert said["verdict"] == verdict, said
    assert {k: said[k] for k in ("native", "jit", "none") if said[k]} == counts


def test_native_and_jit_are_told_apart(store):
    library = shared(store, nv_fatbin=[images.container(store, ["80", "ptx80:9.0"], K)])
    said = only(scan("--gpu", "sm_80,sm_120,sm_120@12.8", library))["verdicts"]
    assert [said[g]["verdict"] for g in said] == ["native", "jit", "none"], said
    assert said["sm_120@12.8"]["reason"] == "ptx-newer-than-driver"


def test_a_driver_may_be_named_by_its_own_number(store):
    library = shared(store, nv_fatbin=[images.container(store, ["80"], K, options=["--compress-mode=size"])])
    said = only(scan("--gpu", "sm_80@535,sm_80@580.65", library))["verdicts"]
    assert said["sm_80@535"]["reason"] == "codec-newer-than-driver", said
    assert said["sm_80@580.65"]["verdict"] == "native", said


def test_a_kernel_that_another_image_of_its_container_lacks_is_missing_there(store):
    library = shared(store, nv_fatbin=[fatbin(store, ("75", cubin(store, "75", a="long")),
                                                     ("80", cubin(store, "80", a="long", b="long")))])
    said = only(scan("--gpu", "sm_75", "--kernels", library))
    assert said["verdicts"]["sm_75"]["none"] == 1
    assert said["verdicts"]["sm_75"]["reason"] == "kernel-not-in-image"
    assert {k["name"]: k["runs"]["sm_75"] for k in said["kernel_list"]} == {"a": "native", "b": "none"}


def test_a_kernel_whose_body_was_compiled_away_is_hollow_and_not_missing(store):
    library = shared(store, nv_fatbin=[fatbin(store, ("75", cubin(store, "75", a="long", b="empty")),
                                                     ("80", cubin(store, "80", a="long", b="long")))])
    said = only(scan("--gpu", "sm_75,sm_80", "--kernels", library))
    assert said["verdicts"]["sm_75"]["hollow"] == 1, said["verdicts"]
    assert said["verdicts"]["sm_75"]["verdict"] == "native"
    assert said["verdicts"]["sm_80"]["hollow"] == 0
    assert {a["arch"]: a["hollow"] for a in said["sass"]} == {"sm_75": 1, "sm_80": 0}
    assert {k["name"]: k["hollow"] for k in said["kernel_list"]} == {"a": [], "b": ["sm_75"]}


def test_the_list_of_all_kernels_says_where_they_are_empty(store):
    made = [(arch, cubin(store, arch, a="empty" if arch != "80" else "long", b="long")) for arch in ("70", "75", "80")]
    lines = command("scan", "--kernels", shared(store, nv_fatbin=[fatbin(store, *made)])).stdout.splitlines()
    text = [" ".join(line.split()) for line in lines[-4:]]
    assert sorted(zip(text[::2], text[1::2])) == [("with sm_70 sm_75 sm_80, no PTX", "b"), ("with sm_80, no PTX; empty on sm_70 sm_75", "a")]


def test_a_kernel_that_is_small_everywhere_is_not_hollow(store):
    library = shared(store, nv_fatbin=[fatbin(store, ("75", cubin(store, "75", a="empty")),
                                                     ("80", cubin(store, "80", a="empty")))])
    assert only(scan("--gpu", "sm_75", library))["verdicts"]["sm_75"]["hollow"] == 0


def test_code_outside_the_fat_binary_section_is_seen_and_named(store):
    library = shared(store, nv_fatbin=[images.container(store, ["80"], K)],
                     rodata=[images.container(store, ["90"], K), images.image(store, "75", K)])
    found = only(scan(library))
    assert archs(found["outside"]) == {"sm_75": 1, "sm_90": 1}
    assert (found["outside"]["sections"], found["bare"], found["outside"]["containers"]) == ([".rodata"], 1, 2)


def test_input_of_the_device_linker_is_no_coverage(store):
    library = shared(store, nv_fatbin=[images.container(store, ["80"], K)],
                     relfatbin=[images.container(store, ["90", "ptx90"], K)])
    found = only(scan("--gpu", "sm_90", library))
    assert archs(found) == {"sm_80": 1}
    assert archs(found["relocatable"]) == {"sm_90": 1}
    assert found["verdicts"]["sm_90"]["verdict"] == "none"


def test_the_text_of_ptx_is_believed_and_not_its_header(tmp_path):
    text = images.ptx_text("ptx90a", K)
    path = tmp_path / "lies.fatbin"
    path.write_bytes(lying.fatbin([{"images": [{"kind": "ptx", "target": "90", "text": text}]}]))
    found = only(scan("--gpu", "sm_120", path))
    assert found["ptx"] == [{"arch": "compute_90a", "isa": "8.0", "images": 1, "header_lies": 1}]
    assert found["verdicts"]["sm_120"]["verdict"] == "none"


@pytest.mark.parametrize("kind", ["cubin", "ptx", "fatbin", "o", "a"])
def test_every_kind_of_file_is_read(store, tmp_path, kind):
    container = images.container(store, ["80"], K)
    path = tmp_path / f"file.{kind}"
    if kind in ("cubin", "ptx"):
        path.write_bytes(images.image(store, "80" if kind == "cubin" else "ptx80", K).read_bytes())
    elif kind == "fatbin":
        path.write_bytes(container.read_bytes())
    else:
        source = tmp_path / "k.s"
        source.write_text(f'.section .nv_fatbin,"a",@progbits\n.incbin "{container}"\n')
        subprocess.run(["gcc", "-c", "-o", tmp_path / "file.o", source], check=True)
        if kind == "a":
            subprocess.run(["ar", "rc", path, tmp_path / "file.o"], check=True)
    found = only(scan(path))
    assert (archs(found), archs(found, "ptx")) == (({}, {"compute_80@7.8": 1}) if kind == "ptx" else ({"sm_80": 1}, {}))
    assert found["kernels"] == 2


def test_a_file_is_read_once_whatever_its_names(both, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    copy = folder / "libx.so"
    copy.write_bytes(both.read_bytes())
    os.link(copy, folder / "liby.so")
    os.symlink("libx.so", folder / "libz.so")
    out = scan(folder, copy)
    assert list(libraries(out)) == ["libx.so"]
    assert out["same_files"] == 3


def test_a_folder_is_read_with_all_below_it_and_what_holds_nothing_is_counted(both, tmp_path):
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (below / "libx.so").write_bytes(both.read_bytes())
    (below / "notes.txt").write_text("nothing\n")
    out = scan(tmp_path)
    assert (list(libraries(out)), out["other_files"]) == (["a/b/libx.so"], 1)
    assert "1 other file without GPU code" in command("scan", tmp_path).stdout


def test_libraries_are_told_by_their_package(both, tmp_path):
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    (site / "made").mkdir(parents=True)
    (site / "made" / "libx.so").write_bytes(both.read_bytes())
    info = site / "made-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: made\nVersion: 1.2\n\n")
    (info / "RECORD").write_text("made/libx.so,,\n")
    (item,) = scan(site)["items"]
    assert (item["package"], item["version"], item["source"]) == ("made", "1.2", "pip")
    assert command("scan", site).stdout.startswith("made 1.2 ")


def test_quick_reads_headers_only(both):
    found = only(scan("--quick", both))
    assert (archs(found), found["kernels"]) == ({"sm_75": 1, "sm_80": 1}, None)


def test_quick_says_how_much_it_left_where_code_may_lie_elsewhere(store):
    rodata = store.make("text before", "text", lambda path: path.write_bytes(b"text before"))
    library = shared(store, nv_fatbin=[images.container(store, ["80"], K)], rodata=[rodata, images.container(store, ["75"], K)])
    found = only(scan("--quick", library))
    assert (archs(found), found["outside"]["containers"]) == ({"sm_80": 1}, 0)
    assert 0 < found["unsearched"] < found["size"]
    assert "1 MB of other sections, which may hold more" in command("scan", "--quick", library).stdout
    whole = only(scan(library))
    assert (archs(whole), whole["outside"]["containers"], "unsearched" in whole) == ({"sm_75": 1, "sm_80": 1}, 1, False)


def test_quick_reads_few_pages_of_a_file_that_is_not_in_memory(store, tmp_path):
    zeros = store.make("64 MB", "zeros", lambda path: path.write_bytes(bytes(64 << 20)))
    made = shared(store, nv_fatbin=[images.container(store, ["80"], K)], data=[zeros, images.container(store, ["75"], K)])
    path = tmp_path / "cold.so"
    path.write_bytes(made.read_bytes())
    forget(path)
    if cached(path) > 1 << 20:
        pytest.skip("the file system of the temporary folder keeps files in memory")
    assert archs(only(scan("--quick", path))) == {"sm_80": 1}
    assert cached(path) < 4 << 20
    assert archs(only(scan(path))) == {"sm_75": 1, "sm_80": 1}
    assert cached(path) > 60 << 20  # the measure is able to show it


def test_csv_and_markdown_have_a_row_for_every_library_and_gpu(both):
    rows = list(csv.DictReader(command("scan", "--csv", "--gpu", "sm_75,sm_90", both).stdout.splitlines()))
    assert [(r["gpu"], r["verdict"], r["none"]) for r in rows] == [("sm_75", "partly", "2"), ("sm_90", "partly", "1")]
    lines = command("scan", "--markdown", "--gpu", "sm_75,sm_90", both).stdout.splitlines()
    assert len(lines) == 4
    assert len({line.replace("\\|", "").count("|") for line in lines}) == 1


def test_the_text_names_the_kernels_that_do_not_run(both):
    lines = [line.split() for line in command("scan", "--gpu", "sm_75", "--kernels", both).stdout.splitlines()]
    assert ["none", "k_a(float*)"] in lines and ["none", "k_b(float*)"] in lines, lines


def test_the_kernels_that_are_named_for_a_gpu_begin_with_the_worst_and_have_their_reason(store):
    parts = [images.container(store, ["ptx75"], ["_Z5k_jitPf"]), images.container(store, ["75"], ["_Z6k_nonePf"])]
    library = shared(store, nv_fatbin=parts)
    lines = [line.split() for line in command("scan", "--gpu", "sm_90", "--kernels", library).stdout.splitlines()[-2:]]
    assert lines == [["none", "k_none(float*)"], ["jit", "k_jit(float*)"]]
    listed = only(scan("--gpu", "sm_90", "--kernels", library))["kernel_list"]
    assert [(k["runs"], k["reasons"]) for k in listed] == [({"sm_90": "jit"}, {"sm_90": "ptx"}),
                                                           ({"sm_90": "none"}, {"sm_90": "no-image"})]


@pytest.mark.parametrize(
    "words", [["--gpu", "sm_x"], ["--gpu", "sm_80@x"], ["--quick", "--gpu", "all"], ["--json", "--csv"], ["--csv", "--kernels"], []]
)
def test_words_that_make_no_sense_are_refused(both, words):
    done = command("scan", *words, *([both] if words else []))
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


# ---- what cannot be read


def named(out, path):
    """The sentence about that path, which is one line of stderr."""
    (line,) = [line for line in out["stderr"].splitlines() if str(path) in line]
    return line


def test_what_cannot_be_read_is_named_in_one_line_and_the_rest_is_read(both, tmp_path):
    (tmp_path / "good.so").write_bytes(both.read_bytes())
    (tmp_path / "cut.so").write_bytes(both.read_bytes()[:-200])
    os.symlink("nowhere", tmp_path / "broken")
    os.mkfifo(tmp_path / "pipe")
    elf32 = bytearray(both.read_bytes())
    elf32[4] = 1
    (tmp_path / "elf32.so").write_bytes(elf32)
    out = scan(tmp_path, tmp_path / "absent", code=3)
    assert "good.so" in libraries(out)
    assert "cut short" in named(out, "cut.so")
    assert "leads nowhere" in named(out, "broken")
    assert "pipe, which is not read" in named(out, "pipe")
    assert "64-bit" in named(out, "elf32.so")
    assert "No such file" in named(out, "absent")
    assert len(out["problems"]) == 5


def test_a_damaged_container_is_said_to_be_one(store, tmp_path):
    data = images.container(store, ["80", "90"], K).read_bytes()
    path = tmp_path / "cut.fatbin"
    path.write_bytes(data[: len(data) - 600])
    out = scan("--gpu", "sm_80", path, code=3)
    assert only(out)["damaged"] == 1
    assert "1 of 1 fat binaries damaged" in named(out, path)


def test_a_damaged_container_makes_native_unknown_because_kernels_may_be_missing(store, tmp_path):
    whole, cut = (images.container(store, [word], K).read_bytes() for word in ("80", "75"))
    path = tmp_path / "cut.fatbin"
    path.write_bytes(whole + cut[:-300])
    said = only(scan("--gpu", "sm_80", path, code=3))["verdicts"]["sm_80"]
    assert (said["verdict"], said["native"]) == ("unknown", 2)


def test_a_kernel_of_a_damaged_container_is_never_said_to_have_no_image(store, tmp_path):
    data = images.container(store, ["80", "90"], K).read_bytes()
    path = tmp_path / "cut.fatbin"
    path.write_bytes(data[:-300])
    said = only(scan("--gpu", "sm_90,sm_120", path, code=3))["verdicts"]
    for gpu in ("sm_90", "sm_120"):
        assert (said[gpu]["verdict"], said[gpu]["unknown"], said[gpu]["none"]) == ("unknown", 2, 0)


def test_a_library_whose_end_is_missing_is_unknown_and_says_why(store, tmp_path):
    path = tmp_path / "cut.so"
    path.write_bytes(shared(store, nv_fatbin=[images.container(store, ["80"], K)]).read_bytes()[:-100])
    out = command("scan", "--gpu", "sm_80", path)
    assert out.returncode == 3 and "it was cut short" in out.stderr
    assert "unknown: not all of it could be read, and it may hold more kernels" in " ".join(out.stdout.split())


def test_bytes_in_a_library_that_only_look_like_a_container_are_none(store, tmp_path):
    sign = tmp_path / "sign"
    sign.write_bytes(bytes.fromhex("50ed55ba01001000") + b"\x7f" * 24)
    library = shared(store, nv_fatbin=[images.container(store, ["80"], K)], rodata=[sign])
    assert (only(scan("--gpu", "sm_80", library))["containers"], only(scan(library))["damaged"]) == (1, 0)


@pytest.mark.parametrize("packed", [False, True], ids=["on disk", "in passing"])
def test_bytes_that_only_look_like_a_container_hide_no_image_behind_them(store, tmp_path, packed):
    sign = tmp_path / "sign"
    sign.write_bytes(bytes(2 << 20) + bytes.fromhex("50ed55ba01001000") + b"\x7f" * 24)
    path = shared(store, nv_fatbin=[images.container(store, ["80"], K)], rodata=[sign, images.image(store, "90", K)])
    found = only(scan(in_a_wheel(tmp_path, path) if packed else path))
    assert (found["containers"], found["bare"], archs(found["outside"])) == (1, 1, {"sm_90": 1})


@pytest.mark.parametrize("packed", [False, True], ids=["on disk", "in passing"])
def test_what_is_left_of_a_damaged_container_is_no_image_without_container(store, tmp_path, packed):
    data = bytearray(images.container(store, ["80", "90"], K, options=["--compress-mode=none"]).read_bytes())
    at = 16 + 64 + int.from_bytes(data[24:32], "little")
    data[at + 4 : at + 8] = bytes(4)  # the header of the second image
    (tmp_path / "damaged").write_bytes(data)
    (tmp_path / "zeros").write_bytes(bytes(2 << 20))
    path = shared(store, nv_fatbin=[images.container(store, ["80"], K)], rodata=[tmp_path / "zeros", tmp_path / "damaged"])
    found = only(scan(in_a_wheel(tmp_path, path) if packed else path, code=3))
    assert (found["containers"], found["damaged"], found["bare"]) == (2, 1, 0)


def test_an_image_that_cannot_be_decoded_makes_the_verdict_unknown_and_never_native(tmp_path):
    image = {"kind": "cubin", "target": "80", "codec": "zstd", "hex": "28b52ffd0000", "lies": {"unpacked_size": 4096}}
    path = tmp_path / "bad.fatbin"
    path.write_bytes(lying.fatbin([{"images": [image]}]))
    out = scan("--gpu", "sm_80", path, code=3)
    found = only(out)
    assert found["verdicts"]["sm_80"]["verdict"] == "unknown"
    assert found["unread"] == 1
    assert "1 of 1 fat binaries with images that cannot be read" in named(out, path)


def test_a_library_of_another_processor_is_read_all_the_same(both, tmp_path):
    data = bytearray(both.read_bytes())
    data[18:20] = (183).to_bytes(2, "little")  # AArch64
    path = tmp_path / "arm.so"
    path.write_bytes(data)
    assert archs(only(scan(path))) == {"sm_75": 1, "sm_80": 1}


@pytest.mark.parametrize("codec", ["none", "size", "speed"])
@pytest.mark.parametrize("word", ["50", "75@11.8", "80@12.9", "90a", "100", "120@13.5", "88"])
def test_the_beginning_of_a_real_image_says_what_the_whole_says(store, word, codec):
    arch, _ = images.arch_of(word)
    many = [f"_Z{len(name)}{name}Pf" for name in (f"kernel_{i}" for i in range(30))]
    container = images.container(store, [word], many, options=[f"--compress-mode={codec}"])
    found = only(scan("--verify", container))
    assert (found["kernels"], archs(found)) == (30, {f"sm_{arch}": 1})


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_any_number_of_threads_says_the_same(store, threads):
    parts = [images.container(store, ["75", "80", "ptx80"], [f"_Z3k{i % 10}{i // 10}Pf"]) for i in range(12)]
    library = shared(store, nv_fatbin=parts * 10)
    assert only(scan("-j", threads, "--kernels", library)) == only(scan("-j", 1, "--kernels", library))


def test_many_files_of_one_image_are_summed_up_in_the_text_and_named_in_csv(store, tmp_path):
    for word in ("75", "80"):
        for i in range(10):
            (tmp_path / f"k{i}_{word}.cubin").write_bytes(images.image(store, word, K).read_bytes() + bytes(i))
    text = command("scan", "--gpu", "sm_80", tmp_path).stdout
    assert "20 files with one image each" in text
    assert "native in 10 files, none in 10 files" in text
    assert len(text.splitlines()) < 10
    assert len(command("scan", "--csv", tmp_path).stdout.splitlines()) == 21


def test_the_text_lists_all_kernels_under_the_images_that_hold_them(both):
    lines = command("scan", "--kernels", both).stdout.splitlines()
    at = [i for i, line in enumerate(lines) if line.split()[:1] == ["with"]]
    assert [lines[i].split()[1] for i in at] == ["sm_80,", "sm_75,"]
    assert {line.split()[0] for line in lines[at[0] + 1 : at[1]]} == {"k_a(float*)", "k_b(float*)"}
