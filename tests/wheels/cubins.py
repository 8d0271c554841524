"""cubins.py - the kernels of every cubin in a file, read in a few lines of Python that share nothing with nokernel.

    for image in images(data): image.arch ("sm_90a"), image.kernels ({name: body})

Everything is decoded whole. Layout: NVIDIA's fatbinary_section.h for the wrapper's section, ELF for cubins; the rest was
measured on containers of CUDA 10.0 to 13.5.
"""

import struct
from collections import namedtuple

import lz4.block
import zstandard

Image = namedtuple("Image", "arch bare kernels")
KEY = bytes.fromhex("50ed55ba01001000")
PTX, CUBIN, LTO = 1, 2, 8
LZ4, ZSTD, A, F = 0x2000, 0x8000, 0x100000, 0x200000


def sections(data):
    """(name, type, offset, size, link, info) of a 64-bit ELF file."""
    at, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    found = [struct.unpack_from("<IIQQQQIIQQ", data, at + i * size) for i in range(count)]
    strings = found[names][4] if found else 0

    def text(offset):
        start = strings + offset
        return data[start : data.find(b"\0", start)].decode()

    return [(text(s[0]), s[1], s[4], s[5], s[6], s[7]) for s in found]


def kernels(cubin):
    """{name: machine code}: functions that are marked as entries."""
    found = {}
    parts = sections(cubin)
    for name, kind, offset, size, link, _ in parts:
        if kind != 2:  # SHT_SYMTAB
            continue
        strings = parts[link][2]
        for word, info, other, index, value, length in struct.iter_unpack("<IBBHQQ", cubin[offset : offset + size]):
            if info & 15 == 2 and other & 0x10 and index:  # a function, an entry, defined
                start = strings + word
                at = parts[index][2] + value
                found[cubin[start : cubin.find(b"\0", start)].decode()] = cubin[at : at + length]
    return found


def entries(data, at):
    """(kind, arch, flags, payload) of the container at `at`."""
    end = at + 16 + struct.unpack_from("<Q", data, at + 8)[0]
    at += 16
    while at < end:
        kind, _, head, stored, packed = struct.unpack_from("<HHIQI", data, at)
        arch, = struct.unpack_from("<I", data, at + 28)
        flags, = struct.unpack_from("<Q", data, at + 40)
        whole, = struct.unpack_from("<Q", data, at + 56)
        body = data[at + head : at + head + (packed or stored)]
        if kind != CUBIN:
            pass
        elif flags & LZ4 and packed:
            body = lz4.block.decompress(body, uncompressed_size=whole)
        elif flags & ZSTD and packed:
            body = zstandard.ZstdDecompressor().decompress(body, max_output_size=whole)
        yield kind, arch, flags, body
        at += head + stored


def linked(data):
    """The place of __nv_relfatbin, which nothing loads."""
    if data[:4] == b"\x7fELF" and data[18:20] != b"\xbe\0":
        for name, _, offset, size, *_ in sections(data):
            if name == "__nv_relfatbin":
                return range(offset, offset + size)
    return range(0)


def next_cubin(data, at):
    while (at := data.find(b"\x7fELF\2\1", at)) >= 0 and data[at + 18 : at + 20] != b"\xbe\0":
        at += 1
    return at


def images(data):
    """Every cubin that a driver could load, in containers and bare."""
    apart, key, bare = linked(data), data.find(KEY), next_cubin(data, 0)
    while key >= 0 or bare >= 0:
        if bare < 0 or 0 <= key < bare:
            for kind, arch, flags, body in entries(data, key) if key not in apart else ():
                assert kind in (PTX, CUBIN, LTO), f"a kind that this reader does not know: {kind:#x}"
                if kind == CUBIN:
                    yield Image(f"sm_{arch}" + ("a" if flags & A else "f" if flags & F else ""), False, kernels(body))
            end = key + 16 + struct.unpack_from("<Q", data, key + 8)[0]
        else:
            flags, abi = struct.unpack_from("<I", data, bare + 48)[0], data[bare + 8]
            cubin = data[bare : bare + extent(data, bare)]
            yield Image(f"sm_{flags >> 8 & 255 if abi >= 8 else flags & 255}", True, kernels(cubin))
            end = bare + len(cubin)
        if 0 <= key < end:
            key = data.find(KEY, end)
        if 0 <= bare < end:  # stored images lie inside containers
            bare = next_cubin(data, end)


def extent(data, at):
    """Bytes of the ELF file at `at`: to the end of its last table or section."""
    programs, table = struct.unpack_from("<QQ", data, at + 32)
    program, count, size, rows = struct.unpack_from("<HHHH", data, at + 54)
    ends = [programs + program * count, table + size * rows]
    for i in range(rows):
        kind, = struct.unpack_from("<I", data, at + table + i * size + 4)
        offset, length = struct.unpack_from("<QQ", data, at + table + i * size + 24)
        ends.append(offset + (0 if kind == 8 else length))
    return max(ends)
