"""simcode.py - writes code for the driver from a few words: containers, cubins, PTX. Own lines: nothing is shared with the
library under test, nor with tests/fixtures.

    container(cubin(80, ["a"]), ptx(90, ["a", "b"]))      the bytes of a fat binary
    elf(80, ["a"])                                        a bare cubin
"""

import struct

import lz4.block
import zstandard

A, F = 0x100000, 0x200000


def elf(sm, kernels, variables=(), abi=7):
    """A cubin with a symbol table and no code. `variables` are (name, value of 32 bits)."""
    names, symbols, data = b"\0", [struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0)], b""
    for name in kernels:
        symbols.append(struct.pack("<IBBHQQ", len(names), 0x12, 0x10, 3, 0, 16))
        names += name.encode() + b"\0"
    for name, value in variables:
        symbols.append(struct.pack("<IBBHQQ", len(names), 0x11, 0, 4, len(data), 4))
        names += name.encode() + b"\0"
        data += struct.pack("<i", value)
    table = b"".join(symbols)
    parts = [(0, b""), (3, names), (2, table), (1, b"\0" * 16), (1, data)]
    at, body, heads = 64, b"", []
    for kind, content in parts:
        link = 1 if kind == 2 else 0
        heads.append(struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, at + len(body), len(content), link, 1, 8, 24 if kind == 2 else 0))
        body += content + b"\0" * (-len(content) % 8)
    flags = sm << 8 if abi >= 8 else sm | sm << 16
    ident = b"\x7fELF\x02\x01\x01" + bytes([0x41 if abi >= 8 else 0x33, abi]) + b"\0" * 7
    head = ident + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64 + len(body), flags, 64, 56, 0, 64, len(parts), 1)
    return head + body + b"".join(heads)


def entry(kind, sm, payload, variant="", codec=None, version=(1, 7)):
    flags = 0x11 | {"": 0, "a": A, "f": F}[variant]
    stored, sizes = payload, (0, 0)
    if codec == "lz4":
        stored, flags = lz4.block.compress(payload, store_size=False), flags | 0x2000
    if codec == "zstd":
        stored, flags = zstandard.ZstdCompressor().compress(payload), flags | 0x8000
    if codec:
        sizes = (len(stored), len(payload))
    stored += b"\0" * (-len(stored) % 8)
    head = struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(stored), sizes[0], 0, version[1], version[0], sm, 0, 0, flags, 0, sizes[1])
    assert len(head) == 64
    return head + stored


def cubin(sm, kernels, variant="", codec=None, variables=()):
    return entry(2, sm, elf(sm, kernels, variables), variant, codec)


def ptx_text(sm, kernels, variant="", version="8.0"):
    body = "".join(f".visible .entry {k}(\n)\n{{\n ret;\n}}\n" for k in kernels)
    return f"\n.version {version}\n.target sm_{sm}{variant}\n.address_size 64\n.visible .global .align 4 .u32 counter;\n{body}\0".encode()


def ptx(sm, kernels, variant="", codec=None, version="8.0", says=None):
    """`says` is the target of the text where that differs from the header's."""
    text = ptx_text(says or sm, kernels, "" if says else variant, version)
    major, minor = (int(n) for n in version.split("."))
    return entry(1, sm, text, variant, codec, (major, minor))


def container(*entries):
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body
