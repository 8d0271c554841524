"""`nokernel scan` and what it cannot read: each thing is named in one line, the rest is read, the exit status is 3."""

import ctypes
import gzip
import io
import os
import socket
import struct
import subprocess
import tarfile
import zipfile
import zlib

import pytest

from conftest import COMMAND, command, without_privilege
from fixtures import images
from scanning import libraries, scan, shared

K = ["_Z3k_aPf", "_Z3k_bPf"]


@pytest.fixture(scope="session")
def good(store):
    return shared(store, nv_fatbin=[images.container(store, ["80"], K)])


@pytest.fixture
def folder(good, tmp_path):
    """A folder with a good library, whose name comes last."""
    inner = tmp_path / "folder"
    inner.mkdir()
    (inner / "z.so").write_bytes(good.read_bytes())
    return inner


@pytest.fixture(scope="session")
def unprivileged(tmp_path_factory):
    """Runs a scan as somebody who may not read everything."""
    closed = tmp_path_factory.mktemp("closed") / "file"
    closed.touch(mode=0)
    done = subprocess.run(["cat", closed], preexec_fn=without_privilege, capture_output=True)
    if done.returncode in (0, 99):
        pytest.skip("root cannot give up the right to read everything here (no CAP_SETPCAP)")

    def run(*arguments):
        return subprocess.run([COMMAND, "scan", "--gpu", "sm_80", *map(str, arguments)], capture_output=True, text=True,
                              preexec_fn=without_privilege)

    return run


def says(done, path, words):
    """Nothing but one line about that path on stderr; the good library was read; the exit status says so."""
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and str(path) in lines[0] and words in lines[0], done.stderr
    assert "z.so\n" in done.stdout and "native" in done.stdout, done.stdout
    assert done.returncode == 3


def test_a_file_without_permission_is_named(unprivileged, folder):
    (folder / "a.so").write_bytes((folder / "z.so").read_bytes())
    (folder / "a.so").chmod(0)
    says(unprivileged(folder), folder / "a.so", "Permission denied")
    says(unprivileged(folder / "a.so", folder), folder / "a.so", "Permission denied")


def test_a_folder_without_permission_is_named(unprivileged, folder):
    (folder / "a").mkdir()
    (folder / "a" / "hidden.so").write_bytes((folder / "z.so").read_bytes())
    (folder / "a").chmod(0)
    try:
        says(unprivileged(folder), folder / "a", "Permission denied")
    finally:
        (folder / "a").chmod(0o755)


def test_an_archive_without_permission_is_named(unprivileged, folder):
    with zipfile.ZipFile(folder / "a.whl", "w") as archive:
        archive.write(folder / "z.so", "x.so")
    (folder / "a.whl").chmod(0)
    says(unprivileged(folder), folder / "a.whl", "Permission denied")


@pytest.mark.parametrize("inside", [True, False], ids=["in a folder", "by name"])
@pytest.mark.parametrize("kind,words", [("pipe", "a pipe, which is not read"), ("socket", "a socket, which is not read"),
                                        ("link", "a link that leads nowhere"), ("loop", "symbolic links")])
def test_what_is_no_file_is_named_and_not_waited_for(folder, kind, words, inside):
    path, bound = folder / "a", None
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        bound = socket.socket(socket.AF_UNIX)
        here = os.getcwd()
        os.chdir(folder)  # the path of a socket may be 107 bytes long
        bound.bind("a")
        os.chdir(here)
    else:
        os.symlink({"link": "nowhere", "loop": "a"}[kind], path)
    says(command("scan", "--gpu", "sm_80", *([] if inside else [path, folder / "z.so"]), *([folder] if inside else [])),
         path, words)


def test_a_device_is_named_and_not_read(good):
    done = command("scan", "/dev/zero", good)
    assert (done.returncode, done.stderr) == (3, "nokernel: /dev/zero: a device, which is not read\n")


VANISHES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static void vanish(const char *path) { if (strstr(path, "/soon_gone")) unlink(path); }
int WHEN(const char *path, ARGUMENT) {
    int (*real)(const char *, ...) = (int (*)(const char *, ...))dlsym(RTLD_NEXT, WORD);
    vanish(path);
    return real(path, given);
}
"""


@pytest.mark.parametrize("when,argument,word", [("lstat", "struct stat *given", '"lstat"'), ("open", "int given", '"open"')])
def test_a_file_that_vanishes_while_its_folder_is_read_is_named(folder, tmp_path, when, argument, word):
    (folder / "soon_gone.so").write_bytes((folder / "z.so").read_bytes())
    (tmp_path / "v.c").write_text(VANISHES)
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", f"-DWHEN={when}", f"-DARGUMENT={argument}", f"-DWORD={word}",
                    "-o", tmp_path / "v.so", tmp_path / "v.c", "-ldl"], check=True)
    done = command("scan", "--gpu", "sm_80", folder, env={**os.environ, "LD_PRELOAD": str(tmp_path / "v.so")})
    assert not (folder / "soon_gone.so").exists()
    says(done, folder / "soon_gone.so", "No such file or directory")


# ---- archives


def encrypted(path, kind, *files):
    """A zip file with a password, written by libarchive."""
    lib = ctypes.CDLL("libarchive.so.13")
    for name in ("archive_write_new", "archive_entry_new"):
        getattr(lib, name).restype = ctypes.c_void_p
    writer = ctypes.c_void_p(lib.archive_write_new())
    assert not lib.archive_write_set_format_zip(writer)
    assert not lib.archive_write_set_options(writer, f"zip:encryption={kind}".encode())
    assert not lib.archive_write_set_passphrase(writer, b"secret")
    assert not lib.archive_write_open_filename(writer, str(path).encode())
    for name, data in files:
        entry = ctypes.c_void_p(lib.archive_entry_new())
        lib.archive_entry_set_pathname(entry, name.encode())
        lib.archive_entry_set_size(entry, ctypes.c_int64(len(data)))
        lib.archive_entry_set_filetype(entry, 0o100000)
        lib.archive_entry_set_perm(entry, 0o644)
        assert not lib.archive_write_header(writer, entry)
        assert lib.archive_write_data(writer, data, ctypes.c_size_t(len(data))) == len(data)
        lib.archive_entry_free(entry)
    assert not lib.archive_write_close(writer)


@pytest.mark.parametrize("kind", ["zipcrypt", "aes256"])
def test_an_encrypted_archive_is_named_once_whatever_it_holds(folder, kind):
    data = (folder / "z.so").read_bytes()
    encrypted(folder / "a.whl", kind, ("one.so", data), ("two.so", data))
    says(command("scan", "--gpu", "sm_80", folder), folder / "a.whl", "encrypted")


def tar_of(name, data):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zipped(members):
    """A zip file of (name, deflated bytes, size that it claims)."""
    out = directory = b""
    for name, body, size in members:
        fields = struct.pack("<HHHHHIII", 20, 0, 8, 0, 33, 0, len(body), size)
        directory += b"PK\1\2" + struct.pack("<H", 20) + fields + struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, len(out)) + name
        out += b"PK\3\4" + fields + struct.pack("<HH", len(name), 0) + name + body
    return out + directory + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(out), 0)


@pytest.mark.parametrize("members", [1, 24], ids=["one large member", "many members"])
def test_a_zip_bomb_is_left(folder, members):
    packer = zlib.compressobj(9, wbits=-15)
    first = packer.compress(b"\177ELF\2\1\1" + bytes(64 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(64 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)  # stands for itself: may be repeated
    body = first + again * (24 // members - 1) + packer.flush()
    (folder / "a.whl").write_bytes(zipped([(b"%d.so" % i, body, (64 << 20) * 24 // members + 7) for i in range(members)]))
    done = command("scan", "--gpu", "sm_80", folder)
    assert "z.so\n" in done.stdout and done.returncode == 3
    assert "times its own size comes out of it: it was left" in done.stderr.splitlines()[-1]
    assert all(str(folder / "a.whl") in line for line in done.stderr.splitlines())


def test_a_file_that_was_packed_several_times_is_unpacked_as_often(good, folder):
    data = gzip.compress(gzip.compress(gzip.compress(tar_of("x.so", good.read_bytes()))))
    (folder / "a.tar.gz").write_bytes(data)
    assert set(libraries(scan(folder))) == {"x.so", "z.so"}


def test_a_packed_file_that_is_no_archive_is_no_problem_unless_it_was_asked_for(folder):
    (folder / "a.gz").write_bytes(gzip.compress(b"words\n" * 100))
    assert scan(folder)["other_files"] == 1
    out = scan(folder / "a.gz", code=3)
    assert len(out["problems"]) == 1


@pytest.mark.parametrize("name,what", [("a.whl", "a wheel"), ("a.conda", "a conda package"), ("a.deb", "a Debian package")])
@pytest.mark.parametrize("data,words", [(b"", "the file is empty"), (b"<html>not found</html>", "it is none")], ids=["empty", "html"])
def test_a_package_that_is_none_is_named(folder, name, what, data, words):
    (folder / name).write_bytes(data)
    says(command("scan", "--gpu", "sm_80", folder), folder / name, f"{what} was expected, {words}")


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "a.cubin", "a.fatbin", "a.ptx"])
def test_a_file_that_is_not_what_its_name_says_is_no_problem_unless_it_was_asked_for(folder, name):
    (folder / name).write_bytes(b"words\n")
    assert scan(folder)["other_files"] == 1
    says(command("scan", "--gpu", "sm_80", folder / name, folder), folder / name, "was expected, it is none")
    (folder / "a.so").write_bytes(b"INPUT(libx.so.1)\n")  # what linkers read has such names, too
    assert scan(folder / "a.so")["other_files"] == 1


# ---- files of other machines


@pytest.mark.parametrize("machine", [2, 8, 20, 22, 40, 183, 243, 258], ids=lambda n: f"machine {n}")
def test_a_library_of_any_machine_is_read(good, folder, machine):
    data = bytearray(good.read_bytes())
    data[18:20] = machine.to_bytes(2, "little")
    (folder / "a.so").write_bytes(data)
    assert set(libraries(scan(folder))) == {"a.so", "z.so"}


@pytest.mark.parametrize("at,value,words", [(4, 1, "64-bit"), (5, 2, "little-endian")])
def test_an_elf_file_of_another_word_size_or_byte_order_is_named(good, folder, at, value, words):
    data = bytearray(good.read_bytes())
    data[at] = value
    (folder / "a.so").write_bytes(data)
    says(command("scan", "--gpu", "sm_80", folder), folder / "a.so", words)


def hostile(name, good):
    """Fat binaries that lie: the bytes of a file."""
    data = bytearray(good)
    if name == "size of all bits":
        data[8:16] = b"\xff" * 8
    elif name == "size that wraps":
        data[8:16] = (2**64 - 16).to_bytes(8, "little")
    elif name == "entry of no size":
        data[16 + 4 : 16 + 16] = bytes(12)
    elif name == "entry beyond the end":
        data[16 + 8 : 16 + 16] = (1 << 40).to_bytes(8, "little")
    elif name == "header of 65535 bytes":
        data[6:8] = b"\xff\xff"
    elif name == "unknown version":
        data[4:6] = b"\x09\x00"
    return bytes(data)


@pytest.mark.parametrize("name", ["size of all bits", "size that wraps", "entry of no size", "entry beyond the end",
                                  "header of 65535 bytes", "unknown version"])
def test_a_fat_binary_that_lies_is_named(store, folder, name):
    (folder / "a.fatbin").write_bytes(hostile(name, images.container(store, ["80"], K).read_bytes()))
    done = command("scan", "--gpu", "sm_80", folder)
    says(done, folder / "a.fatbin", "")
    assert "Traceback" not in done.stderr
