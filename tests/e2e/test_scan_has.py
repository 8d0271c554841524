"""What `nokernel scan` says a library has: each thing, in the JSON and in the text."""

import re
import subprocess
import tarfile
import zipfile

import pytest

from conftest import command
from fixtures import fatbin as written
from fixtures import images, toolkit
from scanning import archs, libraries, only, scan, shared

K = ["_Z3k_aPf", "_Z3k_bPf"]


def relocatable(store):
    """A cubin that still has to be linked."""
    text = images.ptx_text("80", K)

    def build(path):
        source = path.with_suffix(".ptx")
        source.write_text(text)
        toolkit.tool([toolkit.PTXAS["13.5"], "-c", "-arch=sm_80", source, "-o", path])

    return store.make("relocatable\n" + text, "rel.cubin", build)


@pytest.fixture(scope="session")
def rich(store):
    """A library with one of everything."""
    cubin = lambda word, **more: {"kind": "cubin", "target": word, "file": str(images.image(store, word, K)), **more}
    ptx = lambda word, isa, **more: {"kind": "ptx", "target": word, "isa": isa, "text": images.ptx_text(f"ptx{word}:{isa}", K), **more}
    section = [
        {"images": [cubin("75"), cubin("90a", codec="lz4"), cubin("120f", codec="zstd"), ptx("90", "8.0", codec="lz4")]},
        {"images": [{**ptx("90", "8.3", codec="zstd"), "text": images.ptx_text("ptx90a:8.3", K)}]},  # its header lies
        {"images": [{"kind": "lto", "target": "80", "hex": "00" * 64}]},
        {"images": [{"kind": "concatenated", "codec": "zstd", "images": [cubin("86"), ptx("86", "7.8")]}]},
        {"images": [{"kind": "cubin", "target": "80", "file": str(relocatable(store))}]},
        {"images": []},
        {"images": [{"kind": 4096, "target": "90", "hex": "00" * 64}]},
    ]
    path = store.make(repr(section), "rich.fatbin", lambda path: path.write_bytes(written.fatbin(section)))
    return shared(store, nv_fatbin=[path], rodata=[images.container(store, ["100"], K), images.image(store, "89", K)],
                  relfatbin=[images.container(store, ["70", "ptx70"], K)])


@pytest.fixture(scope="session")
def said(rich):
    return only(scan("--gpu", "sm_75", rich, code=3))


@pytest.fixture(scope="session")
def text(rich):
    lines = command("scan", "--gpu", "sm_75", rich).stdout
    return re.sub(r"\n {14,}", " ", lines)  # rows that were broken, joined


def row(text, label):
    (found,) = re.findall(rf"^    {re.escape(label)} +(.*)$", text, re.M)
    return found


def test_machine_code_is_listed_with_its_suffix(said, text):
    assert archs(said) == {"sm_75": 1, "sm_80": 1, "sm_86": 1, "sm_89": 1, "sm_90a": 1, "sm_100": 1, "sm_120f": 1}
    assert row(text, "SASS").split() == ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120f"]


def test_ptx_is_listed_with_its_version_and_the_target_of_its_text(said, text):
    assert archs(said, "ptx") == {"compute_86@7.8": 1, "compute_90@8.0": 1, "compute_90a@8.3": 1}
    assert row(text, "PTX").split() == ["compute_86@7.8", "compute_90@8.0", "compute_90a@8.3"]


def test_ptx_whose_header_lies_is_told(said, text):
    assert [p["header_lies"] for p in said["ptx"]] == [0, 0, 1]
    assert row(text, "but") == "1 PTX image says compute_90a in its text and something else in its header"


def test_codecs_are_counted(said, text):
    assert said["codecs"].keys() == {"stored", "lz4", "zstd"}
    assert (said["codecs"]["lz4"], said["codecs"]["zstd"]) == (2, 5)
    assert ", stored, lz4, zstd;" in row(text, "holds")


def test_containers_are_counted_and_those_without_an_image(said, text):
    assert (said["containers"], said["empty"]) == (9, 1)
    assert row(text, "holds").startswith("9 containers, ")
    assert "; 1 without an image" in row(text, "holds")


def test_code_that_only_a_linker_reads_is_listed_apart(said, text):
    assert [(e["arch"], e["images"]) for e in said["lto"]] == [("sm_80", 1)]
    assert row(text, "LTO") == "sm_80, for the linker only"


def test_images_that_came_out_of_a_concatenated_one_are_counted(said, text):
    assert said["concatenated"] == 2
    assert "2 concatenated images" in row(text, "holds")


def test_machine_code_that_still_has_to_be_linked_is_counted(said, text):
    assert said["relocatable_sass"] == 1
    assert "1 relocatable image" in row(text, "holds")


def test_what_lies_in_the_section_of_the_device_linker_is_listed_apart(said, text):
    assert (said["relocatable"]["containers"], archs(said["relocatable"])) == (1, {"sm_70": 1})
    assert row(text, "linkable").startswith("1 container to link: sm_70 compute_70@")


def test_code_outside_the_section_of_fat_binaries_is_listed_with_its_sections(said, text):
    assert (said["outside"]["containers"], said["outside"]["sections"]) == (2, [".rodata"])
    assert archs(said["outside"]) == {"sm_89": 1, "sm_100": 1}
    assert "2 outside .nv_fatbin: .rodata" in row(text, "holds")


def test_a_bare_image_is_told_from_a_container(said, text):
    assert said["bare"] == 1
    assert "1 image without container" in row(text, "holds")


def test_an_image_of_a_kind_that_is_not_known_makes_unknown_and_never_none(said, text):
    assert [(e["arch"], e["images"]) for e in said["unknown_kinds"]] == [("sm_90", 1)]
    assert row(text, "unknown") == "a kind of image that is not known, for sm_90"
    assert said["unread"] == 1


# ---- verdicts


def test_gpus_of_which_the_same_is_to_be_said_stand_together(store):
    library = shared(store, nv_fatbin=[images.container(store, ["75", "80", "ptx80"], K)])
    lines = command("scan", "--gpu", "all", library).stdout.splitlines()
    assert all(len(line) <= 80 for line in lines[1:]) and len(lines) < 30
    shown = " ".join(" ".join(lines).split())
    assert "sm_75 native: all 2 kernels sm_80 sm_86 sm_89 native" not in shown  # one sentence for all that are native
    assert "sm_75 sm_80 sm_86 sm_89 native: all 2 kernels" in shown, shown
    said = only(scan("--gpu", "all", library))["verdicts"]
    assert all(f"{gpu} " in shown for gpu in said)


def verdict(store, words, gpu, outside=()):
    return only(scan("--gpu", gpu, shared(store, nv_fatbin=[images.container(store, w, K) for w in words])))["verdicts"][gpu]


@pytest.mark.parametrize(
    "words,gpu,word,reason,sentence",
    [
        ([["80"]], "sm_80", "native", None, "all 2 kernels"),
        ([["80"]], "sm_86", "native", None, "all 2 kernels"),
        ([["ptx80"]], "sm_90", "jit", None, "all 2 kernels compiled from PTX at the first use"),
        ([["80"], ["75"]], "sm_80", "partly", "no-image", "2 of 4 kernels do not run: there is no image for this GPU"),
        ([["ptx75"], ["75"], ["90a"], ["90"]], "sm_90", "partly", "no-image",
         "2 of 8 kernels do not run: there is no image for this GPU (kernels of the same names in other containers do); "
         "2 compiled from PTX at the first use"),
        ([["80"]], "sm_90", "none", "no-image", "all 2 kernels do not run: there is no image for this GPU"),
        ([["80"]], "sm_87", "none", None, "all 2 kernels do not run"),
        ([["90a"]], "sm_100", "none", None, "all 2 kernels do not run"),
        ([["ptx90:9.0"]], "sm_90@12.8", "none", "ptx-newer-than-driver", "all 2 kernels do not run"),
    ],
)
def test_each_verdict_has_its_word_and_its_sentence(store, words, gpu, word, reason, sentence):
    library = shared(store, nv_fatbin=[images.container(store, w, K) for w in words])
    said = only(scan("--gpu", gpu, library))["verdicts"][gpu]
    assert said["verdict"] == word, said
    assert reason is None or said["reason"] == reason
    assert said["reason"]
    shown = re.sub(r"\s+", " ", command("scan", "--gpu", gpu, library).stdout)
    assert f"{gpu} {word}: {sentence}" in shown, shown


# ---- which build it is

BUILD = "00112233445566778899aabbccddeeff"


def built(store, path, build_id, space=8):
    """A library whose linker was told which build-id to write; with so many bytes that are nothing."""
    source = path.with_suffix(".s")
    source.write_text(f'.section .nv_fatbin,"a",@progbits\n.balign 8\n.incbin "{images.container(store, ["80"], K)}"\n'
                      f'.data\n.zero {space}\n.section .note.GNU-stack,"",@progbits\n')
    subprocess.run(["gcc", "-shared", "-nostdlib", f"-Wl,--build-id={build_id}", "-o", path, source], check=True)
    return path


@pytest.mark.parametrize("how", [[], ["--quick"], ["-j", "2"]], ids=str)
def test_the_build_id_of_a_library_is_told(store, tmp_path, how):
    assert only(scan(*how, built(store, tmp_path / "libx.so", "0x" + BUILD)))["build_id"] == BUILD
    assert only(scan(*how, built(store, tmp_path / "libx.so", "none")))["build_id"] is None


@pytest.mark.parametrize("space", [8, 3 << 20], ids=["whole", "passing"])
@pytest.mark.parametrize("how", [[], ["--quick"]], ids=str)
def test_the_build_id_of_a_member_of_an_archive_is_told(store, tmp_path, space, how):
    library = built(store, tmp_path / "libx.so", "0x" + BUILD, space)
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(library, "libx.so")
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        archive.add(library, "libx.so")
    for name in ("x.zip", "x.tar.gz"):
        assert only(scan(*how, tmp_path / name))["build_id"] == BUILD


def test_what_is_no_elf_file_has_no_build_id(store, tmp_path):
    (tmp_path / "k.fatbin").write_bytes(images.container(store, ["80"], K).read_bytes())
    (tmp_path / "k.cubin").write_bytes(images.image(store, "80", K).read_bytes())
    assert {l["build_id"] for l in libraries(scan(tmp_path)).values()} == {None}


def test_the_text_tells_the_build_id_of_a_library_that_no_package_owns(store, tmp_path):
    built(store, tmp_path / "libx.so", "0x" + BUILD)
    assert row(command("scan", tmp_path / "libx.so").stdout, "build-id") == BUILD
    info = tmp_path / "made-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: made\nVersion: 1.0\n\n")
    (info / "RECORD").write_text("libx.so,,\n")
    assert "build-id" not in command("scan", tmp_path / "libx.so").stdout
