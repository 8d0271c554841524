"""scanning.py - what the tests of `nokernel scan` share: made libraries, and the JSON checked against its schema."""

import contextlib
import ctypes
import functools
import json
import mmap
import os
import subprocess
import sys

import jsonschema

from conftest import ROOT, command
from fixtures import images, toolkit

SCHEMA = ROOT / "include" / "report" / "schema" / "nokernel-scan-1.json"
# Forty stores, so that the body is more than four times as large as an empty one on every architecture.
STORES = "".join(f"    st.global.f32 [%rd2+{4 * i}], %f1;\n" for i in range(40))
LONG = images.KERNEL.replace("    st.global.f32 [%rd2], %f1;\n", STORES)
LONGER = images.KERNEL.replace("    st.global.f32 [%rd2], %f1;\n", STORES * 8)
EMPTY = ".visible .entry {name}(.param .u64 data)\n{{\n    ret;\n}}\n"


@functools.cache
def schema():
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))


def scan(*arguments, code=0, env=None):
    """The JSON of a scan that ends with that code. Its stderr is the JSON's `stderr`."""
    done = command("scan", "--json", *arguments, env=env)
    assert done.returncode == code, f"ended with {done.returncode}, not {code}:\n{done.stdout[-2000:]}\n{done.stderr}"
    out = json.loads(done.stdout)
    errors = [f"{'/'.join(map(str, e.absolute_path))}: {e.message}" for e in schema().iter_errors(out)]
    assert not errors, "the JSON does not fit its schema:\n" + "\n".join(errors[:10])
    out["stderr"] = done.stderr
    return out


def diff(*arguments, code=0):
    """The JSON of scan --diff."""
    done = command("scan", "--diff", "--json", *arguments)
    assert done.returncode == code, done.stderr
    out = json.loads(done.stdout)
    schema = json.loads(SCHEMA.with_name("nokernel-scan-diff-1.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(out)
    return out


def libraries(out):
    """All libraries by path."""
    return {library["path"]: library for item in out["items"] for library in item["libraries"]}


def only(out):
    """The one library that was found."""
    found = libraries(out)
    assert len(found) == 1, f"{len(found)} libraries, not one: {list(found)}"
    return next(iter(found.values()))


def archs(library, kind="sass"):
    """{"sm_80": 2}: images by target; PTX with its version."""
    return {a["arch"] + ("@" + a["isa"] if "isa" in a else ""): a["images"] for a in library[kind]}


def shared(store, **sections):
    """A shared library with containers in sections: shared(store, nv_fatbin=[path, ...], rodata=[...])."""
    names = {"nv_fatbin": ".nv_fatbin", "relfatbin": "__nv_relfatbin", "rodata": ".rodata", "data": ".data"}
    text = ""
    for section, paths in sections.items():
        flags = '"aw"' if section == "data" else '"a"'
        text += f".section {names[section]},{flags},@progbits\n.balign 8\n"
        text += "".join(f'.incbin "{path}"\n' for path in paths)
    text += '.section .note.GNU-stack,"",@progbits\n'

    def build(path):
        source = path.with_suffix(".s")
        source.write_text(text)
        subprocess.run(["gcc", "-shared", "-nostdlib", "-o", path, source], check=True, capture_output=True)

    return store.make(text + str([p.stat().st_mtime_ns for ps in sections.values() for p in ps]), "libmade.so", build)


def cubin(store, arch, **kernels):
    """A cubin with kernels by name: long, longer, empty."""
    bodies = {"long": LONG, "longer": LONGER, "empty": EMPTY}
    word = arch
    text = f".version {images.isa_of(word)}\n.target sm_{arch}\n.address_size 64\n"
    text += "".join(bodies[body].format(name=name) for name, body in kernels.items())

    def build(path):
        source = path.with_suffix(".ptx")
        source.write_text(text)
        toolkit.tool([toolkit.PTXAS[images.toolkit_of(word)],
                      f"-arch=sm_{arch}", source, "-o", path])

    return store.make(f"scan cubin\n{text}", f"sm_{arch}.cubin", build)


def fatbin(store, *parts):
    """A fat binary of ready cubins: fatbin(store, ("80", path), ...)."""
    arguments = [f"--image3=kind=elf,sm={arch},file={path}" for arch, path in parts]
    return store.make("scan fatbinary " + " ".join(arguments), "k.fatbin",
                      lambda path: toolkit.tool([toolkit.FATBINARY, "-64", f"--create={path}", *arguments]))


def forget(path):
    """Takes a file out of the page cache, as far as the system does that."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cached(path):
    """How many bytes of a file are in the page cache."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    size, page = path.stat().st_size, mmap.PAGESIZE
    pages = (ctypes.c_ubyte * (-(-size // page)))()
    with open(path, "rb") as file:
        start = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(size), mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), ctypes.c_long(0)))
    assert start.value != 2**64 - 1 and libc.mincore(start, ctypes.c_size_t(size), pages) == 0
    libc.munmap(start, ctypes.c_size_t(size))
    return sum(p & 1 for p in pages) * page


@contextlib.contextmanager
def mapped_by_a_process(path):
    """The number of a Python that has the file mapped, and does nothing."""
    code = "import mmap, sys; f = open(sys.argv[1]); m = mmap.mmap(f.fileno(), 0, prot=1); print(flush=True); sys.stdin.read()"
    process = subprocess.Popen([sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    try:
        yield process.pid
    finally:
        process.communicate()
