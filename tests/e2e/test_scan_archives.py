"""`nokernel scan` on wheels, packages and archives: read member by member, unpacked nowhere, in bounded memory."""

import bz2
import gzip
import io
import json
import lzma
import os
import pty
import random
import struct
import subprocess
import sys
import tarfile
import threading
import zipfile
import zlib

import pytest
import zstandard

from conftest import COMMAND, command
from fixtures import images
from scanning import archs, libraries, only, scan, shared

K = ["_Z3k_aPf", "_Z3k_bPf"]
PACK = {
    "tar": lambda data: data,
    "tar.gz": gzip.compress,
    "tar.bz2": bz2.compress,
    "tar.xz": lzma.compress,
    "tar.zst": lambda data: zstandard.ZstdCompressor().compress(data),
}


@pytest.fixture(scope="session")
def library(store):
    return shared(store, nv_fatbin=[images.container(store, ["80", "ptx80"], K)],
                  rodata=[images.container(store, ["75"], K[:1])], relfatbin=[images.container(store, ["90"], K)])


def tar(*members):
    """The bytes of a tar file of (name, bytes)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def wheel(path, library, *more):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("made/__init__.py", "x = 1\n" * 1000)
        archive.write(library, "made/lib/libmade.so")
        for name, data in more:
            archive.writestr(name, data)
        archive.writestr("made-1.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: made\nVersion: 1.2\n\nwords\n")
    return path


def what(library):
    """All that is said about a library but where it lies."""
    return {k: v for k, v in library.items() if k != "path"}


def test_a_wheel_says_the_same_as_its_unpacked_library_and_which_package_it_is(library, tmp_path):
    path = wheel(tmp_path / "made-1.2-py3-none-any.whl", library)
    out = scan("--gpu", "all", "--kernels", path)
    (item,) = out["items"]
    assert (item["package"], item["version"], item["source"]) == ("made", "1.2", "pip")
    assert item["libraries"][0]["path"] == "made/lib/libmade.so"
    assert what(only(out)) == what(only(scan("--gpu", "all", "--kernels", library)))
    assert out["other_files"] == 1


@pytest.mark.parametrize("kind", PACK)
def test_tar_files_are_read_with_every_compression(library, tmp_path, kind):
    path = tmp_path / f"made.{kind}"
    path.write_bytes(PACK[kind](tar(("x/libmade.so", library.read_bytes()), ("x/notes", b"none"))))
    assert what(only(scan(path))) == what(only(scan(library)))


def test_a_conda_package_is_named_by_its_index(library, tmp_path):
    index = json.dumps({"name": "libmade", "version": "3.4"}).encode()
    path = tmp_path / "libmade-3.4-0.conda"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", "{}")
        archive.writestr("pkg-libmade.tar.zst", PACK["tar.zst"](tar(("lib/libmade.so", library.read_bytes()))))
        archive.writestr("info-libmade.tar.zst", PACK["tar.zst"](tar(("info/index.json", index))))
    (item,) = scan(path)["items"]
    assert (item["package"], item["version"], item["source"]) == ("libmade", "3.4", "conda")
    assert what(item["libraries"][0]) == what(only(scan(library)))


def test_an_old_conda_package_is_named_too(library, tmp_path):
    index = json.dumps({"name": "libmade", "version": "3.4"}).encode()
    path = tmp_path / "libmade-3.4-0.tar.bz2"
    path.write_bytes(bz2.compress(tar(("info/index.json", index), ("lib/libmade.so", library.read_bytes()))))
    (item,) = scan(path)["items"]
    assert (item["package"], item["version"]) == ("libmade", "3.4")


def test_a_debian_package_is_named_by_its_control_file(library, tmp_path):
    control = b"Package: libmade1\nVersion: 5.6-1\nArchitecture: amd64\n"
    parts = {"debian-binary": b"2.0\n", "control.tar.xz": lzma.compress(tar(("./control", control))),
             "data.tar.xz": lzma.compress(tar(("./usr/lib/libmade.so.1", library.read_bytes())))}
    for name, data in parts.items():
        (tmp_path / name).write_bytes(data)
    path = tmp_path / "libmade1.deb"
    subprocess.run(["ar", "rc", path, *parts], cwd=tmp_path, check=True)
    (item,) = scan(path)["items"]
    assert (item["package"], item["version"], item["source"]) == ("libmade1", "5.6-1", "deb")
    assert item["libraries"][0]["path"].endswith("usr/lib/libmade.so.1")


def test_wheels_in_a_folder_are_items_of_their_own(library, tmp_path):
    wheel(tmp_path / "made-1.2-py3-none-any.whl", library)
    (tmp_path / "libmade.so").write_bytes(library.read_bytes())
    assert len(scan(tmp_path)["items"]) == 2


def test_the_cuda_version_of_torch_is_taken_from_its_version_file(library, tmp_path):
    path = tmp_path / "torch.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(library, "torch/lib/libmade.so")
        archive.writestr("torch/version.py", "__version__ = '2.1.2+cu121'\ncuda: Optional[str] = '12.1'\n")
        archive.writestr("torch-2.1.2.dist-info/METADATA", "Name: torch\nVersion: 2.1.2\n\n")
    assert scan(path)["items"][0]["version"] == "2.1.2+cu121"


# ---- large members


@pytest.fixture(scope="session")
def large(store):
    """A library of 400 MB: containers at both ends and zeros between them."""
    zeros = store.make("1", "zeros", lambda path: path.write_bytes(bytes(400 << 20)))
    first, last = images.container(store, ["80", "ptx80"], K), images.container(store, ["75"], K)
    bare = images.image(store, "90", K)
    return shared(store, nv_fatbin=[first] * 3, data=[last, zeros, bare, last],
                  relfatbin=[images.container(store, ["90"], K)])


def test_a_member_larger_than_memory_should_be_says_the_same_as_the_file_on_disk(large, tmp_path):
    path = tmp_path / "large.tar.zst"
    subprocess.run(["tar", "-C", large.parent, "-cf", tmp_path / "large.tar", large.name], check=True)
    path.write_bytes(PACK["tar.zst"]((tmp_path / "large.tar").read_bytes()))
    (tmp_path / "large.tar").unlink()
    ours, theirs = only(scan("--gpu", "all", path)), only(scan("--gpu", "all", large))
    assert what(ours) == what(theirs)
    assert archs(ours["outside"]) == {"sm_75": 2, "sm_90": 1}


def peak(*words, problem=""):
    """KB of memory that a scan needs at most; it has to say that problem."""
    code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); "
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    done = subprocess.run([sys.executable, "-c", code, COMMAND, "scan", *words], capture_output=True, text=True)
    assert problem in done.stderr
    return int(done.stdout)


def test_memory_stays_below_300_mb_however_large_the_members_are(large, tmp_path):
    path = tmp_path / "large.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(2):
            archive.write(large, f"large{number}.so")
    assert peak("-j", "1", path) < 300_000
    assert peak("-j", "8", path) < 300_000


def test_memory_stays_below_300_mb_however_many_members_hold_large_images(tmp_path):
    path, size = tmp_path / "images.whl", 96 << 20
    entry = struct.pack("<HHIQ", 2, 0x101, 64, size) + bytes(48) + bytes(size)
    container = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(4):
            archive.writestr(f"image{number}.so", b"\177ELF\2\1\1".ljust(64, b"\0") + container)
    assert 96_000 < peak("-j", "8", path) < 300_000


def test_memory_stays_below_300_mb_on_a_wheel_of_3_gb_in_one_member(library, tmp_path):
    """Stored, so that it is that large on the disk, too, with a hole in the file; its checksum is wrong, which comes last."""
    path, data, size = tmp_path / "whole.whl", library.read_bytes(), 3 << 30
    fields = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 0, 0, size, size, 4, 0)
    with open(path, "wb") as out:
        out.write(b"PK\3\4" + fields + b"a.so" + data)
        start = out.seek(34 + size)
        directory = b"PK\1\2" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, 0) + b"a.so"
        out.write(directory + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(directory), start, 0))
    assert peak("-j", "2", path, problem=": a.so: ") < 300_000


def test_what_is_said_about_an_archive_does_not_depend_on_the_number_of_threads(library, large, tmp_path):
    path = tmp_path / "mixed.whl"
    inner = tar(("in/a.so", library.read_bytes()), ("in/b.so", library.read_bytes()[:5000]))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.write(large, "torch/large.so")
        for number in range(200):
            archive.writestr(f"torch/{number}.py", "x = 1\n" * number)
            archive.writestr(f"torch/{number}.so", library.read_bytes() if number % 3 else library.read_bytes()[:3000])
        archive.writestr("torch/inner.tar.gz", gzip.compress(inner))
        archive.writestr("torch/version.py", "__version__ = '2.1.2+cu121'\n")
        archive.writestr("torch-2.1.2.dist-info/METADATA", "Name: torch\nVersion: 2.1.2\n\n")
    data = bytearray(path.read_bytes())
    at = data.find(b"torch/77.so") + 200
    data[at : at + 64] = bytes(range(64))
    path.write_bytes(data)
    outs = [command("scan", "--json", "--kernels", "-j", threads, path) for threads in ("1", "2", "3", "8")]
    said = json.loads(outs[0].stdout)
    assert said["items"][0]["version"] == "2.1.2+cu121" and len(said["items"][0]["libraries"]) == 135
    problems = [p["path"].split(": ")[1] for p in said["problems"]]
    assert "torch/77.so" in problems and problems[-1] == "torch/inner.tar.gz/in/b.so"
    assert all(out.stdout == outs[0].stdout and out.returncode == 3 for out in outs)


# ---- what cannot be read


@pytest.fixture(scope="session")
def medium(store):
    """A library of 6 MB that does not pack to nothing, with containers before, between and behind."""
    noise = store.make("1", "noise", lambda path: path.write_bytes(bytes(random.Random(1).choices(range(32, 48), k=3 << 20))))
    container = images.container(store, ["80", "ptx80"], K)
    return shared(store, nv_fatbin=[container] * 3, data=[noise, container, noise, container])


def damaged_wheel(path, medium):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(medium, "medium.so")
        packed = archive.getinfo("medium.so").compress_size
    data = bytearray(path.read_bytes())
    data[packed // 2 : packed // 2 + 400] = random.Random(2).randbytes(400)
    path.write_bytes(data)
    return path


def cut_tar(path, medium):
    path.write_bytes(gzip.compress(tar(("medium.so", medium.read_bytes())))[:-700_000])
    return path


@pytest.mark.parametrize("make", [damaged_wheel, cut_tar], ids=["damaged wheel", "cut tar"])
def test_what_is_said_about_a_damaged_member_does_not_depend_on_the_number_of_threads(medium, tmp_path, make):
    path = make(tmp_path / "archive", medium)
    first = command("scan", "--json", "--kernels", "-j", "1", path)
    assert first.returncode == 3 and only(json.loads(first.stdout))["containers"] >= 3
    for threads in ("2", "3", "8") * 4:
        again = command("scan", "--json", "--kernels", "-j", threads, path)
        assert (again.stdout, again.stderr) == (first.stdout, first.stderr)


def test_a_library_that_was_not_read_to_its_end_is_unknown_and_never_native(medium, tmp_path):
    path = tmp_path / "made.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(medium, "medium.so")
    assert only(scan("--gpu", "sm_80", path))["verdicts"]["sm_80"]["verdict"] == "native"
    data = bytearray(path.read_bytes())
    data[2 << 20] ^= 1  # far from all code: the checksum tells
    path.write_bytes(data)
    found = only(scan("--gpu", "sm_80", path, code=3))
    said = found["verdicts"]["sm_80"]
    assert (found["incomplete"], found["damaged"], said["native"], said["none"]) == (True, 0, 10, 0)
    assert said["verdict"] == "unknown"


def test_a_cut_archive_is_named_and_what_came_before_the_cut_is_read(library, tmp_path):
    path = tmp_path / "cut.tar"
    data = tar(("libmade.so", library.read_bytes()), ("b.so", library.read_bytes()))
    path.write_bytes(data[: len(library.read_bytes()) + 512 + 512 + 2048])
    out = scan("--paths", "full", path, code=3)
    assert "libmade.so" in libraries(out)
    assert [p["path"] for p in out["problems"]] == [f"{path}: b.so"]


@pytest.mark.parametrize("lost", [3, 20, 100, 250, 400, 2000])
def test_a_cut_wheel_is_named_wherever_it_was_cut(library, tmp_path, lost):
    path = wheel(tmp_path / "whole.whl", library)
    cut = tmp_path / "cut.whl"
    cut.write_bytes(path.read_bytes()[:-lost])
    out = scan(cut, path, code=3)
    assert [p["text"] for p in out["problems"]] == ["it was cut short: the directory at its end is missing"]
    assert cut.name in out["problems"][0]["path"] and "made/lib/libmade.so" in libraries(out)


def test_an_encrypted_member_is_named(library, tmp_path):
    # Only the flag is set: that is what tells a reader that the bytes are of no use.
    path = wheel(tmp_path / "made.whl", library)
    data = bytearray(path.read_bytes())
    for sign, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        where = -1
        while (where := data.find(sign, where + 1)) >= 0:
            data[where + at] |= 1
    path.write_bytes(data)
    out = scan(path, code=3)
    assert len(out["problems"]) == 1, out["problems"]
    assert "encrypted" in out["problems"][0]["text"]


def test_a_bomb_is_left_and_the_rest_is_read(library, tmp_path):
    bomb = tmp_path / "bomb.tar.zst"
    packer = zstandard.ZstdCompressor(level=1).compressobj()
    info = tarfile.TarInfo("zeros.so")
    info.size = 3 << 30
    with open(bomb, "wb") as out:
        out.write(packer.compress(info.tobuf() + b"\177ELF\2\1\1" + bytes((1 << 20) - 7)))
        for _ in range(3 * 1024):
            out.write(packer.compress(bytes(1 << 20)))
        out.write(packer.flush())
    out = scan(bomb, library, code=3)
    assert "times its own size" in out["problems"][0]["text"]
    assert len(libraries(out)) == 1


def bomb(path, before, after):
    """A wheel of three members; the second is zeros, 1.5 GB of them, all of the same packed MB (its checksum is not)."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(b"\177ELF\2\1\1".ljust(1 << 20, b"\0")) + packer.flush(zlib.Z_FULL_FLUSH)
    more = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = start + 1499 * more + packer.flush()
    data = directory = b""
    for name, crc, method, size, stored in ((b"a.so", zlib.crc32(before), 0, len(before), before),
                                            (b"b.so", 0, 8, 1500 << 20, packed), (b"c.so", zlib.crc32(after), 0, len(after), after)):
        fields = struct.pack("<HHHHHIIIHH", 20, 0, method, 0, 0, crc, len(stored), size, len(name), 0)
        directory += b"PK\1\2" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, len(data)) + name
        data += b"PK\3\4" + fields + name + stored
    path.write_bytes(data + directory + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 3, 3, len(directory), len(data), 0))
    return path


def test_of_a_wheel_that_is_a_bomb_the_members_before_it_are_read_by_any_number_of_threads(library, tmp_path):
    path = bomb(tmp_path / "bomb.whl", library.read_bytes(), library.read_bytes())
    for threads in ("1", "2", "8"):
        out = scan("-j", threads, path, code=3)
        assert [p["text"] for p in out["problems"]] == ["more than 200 times its own size comes out of it: it was left"]
        assert list(libraries(out)) == ["a.so"]


def test_a_damaged_member_is_named_and_the_next_is_read(library, tmp_path):
    path = wheel(tmp_path / "made.whl", library, ("made/z.so", library.read_bytes()))
    data = bytearray(path.read_bytes())
    at = data.find(b"made/lib/libmade.so") + 200
    data[at : at + 64] = os.urandom(64)
    path.write_bytes(data)
    out = scan(path, code=3)
    assert "made/z.so" in libraries(out)
    assert "libmade.so" in out["problems"][0]["path"]


def test_nothing_is_left_in_the_folder_of_temporary_files(library, tmp_path):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    path = wheel(tmp_path / "made.whl", library)
    command("scan", path, env={**os.environ, "TMPDIR": str(temporary)})
    assert list(temporary.iterdir()) == []


def on_a_terminal(*arguments, term="xterm"):
    """What a scan writes to a terminal that is its stderr, and its stdout, which is none."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": term}
    process = subprocess.Popen([COMMAND, "scan", *arguments], stdout=subprocess.PIPE, stderr=theirs, env=env)
    os.close(theirs)
    reader = threading.Thread(target=process.stdout.read)
    reader.start()
    seen = b""
    try:
        while block := os.read(ours, 4096):
            seen += block
    except OSError:  # the other end is closed
        pass
    reader.join()
    assert process.wait() == 0
    return seen.decode()


def test_long_work_says_on_a_terminal_how_far_it_is_and_wipes_that(large, tmp_path):
    path = tmp_path / "large.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.write(large, "folder/large.so")
    seen = on_a_terminal("--verify", path)
    if seen:  # a machine that is quicker than half a second has nothing to say
        assert "% of" in seen and "folder/large.so" in seen
        assert seen.endswith("\r\x1b[K")
    assert on_a_terminal(path, term="dumb") == ""


@pytest.fixture
def without_libarchive(tmp_path):
    """An environment in which libarchive cannot be opened: what stands in its place is no library."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "libarchive.so.13").write_text("")
    return {**os.environ, "LD_LIBRARY_PATH": str(hidden)}


def test_without_libarchive_an_archive_is_named_and_the_rest_is_read(library, tmp_path, without_libarchive):
    path = tmp_path / "code.tar"
    path.write_bytes(tar(("lib.so", library.read_bytes())))
    out = scan(path, library, code=3, env=without_libarchive)
    assert "code.tar: libarchive is needed to read an archive: " in out["stderr"], out["stderr"]
    assert archs(only(out)) == archs(only(scan(library)))


def test_commands_that_read_no_archive_do_not_load_libarchive(library, tmp_path, without_libarchive):
    for words in (["--version"], ["explain", "209"], ["scan", str(library)]):
        done = subprocess.run([COMMAND, *words], capture_output=True, text=True, env={**without_libarchive, "LD_DEBUG": "files"})
        assert done.returncode == 0 and "libjansson" in done.stderr
        assert "libarchive" not in done.stderr, done.stderr


def test_merge_without_libarchive_says_what_it_needs(tmp_path, without_libarchive):
    path = tmp_path / "reports.tar"
    path.write_bytes(tar(("a.json", b"{}")))
    done = command("merge", path, env=without_libarchive)
    assert done.returncode == 3 and "libarchive is needed to read an archive" in done.stderr, done.stderr
