#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A copy of a static library in which every symbol that objects share is of default visibility: the same code, of
which a shared library can give its tests all names. Only st_other of the symbol tables changes, and only its two bits
of visibility (System V ABI, "Symbol Table"). Names with two underscores in front are the compiler's, as a sanitizer's
table of this library's globals, and stay as they are. Usage: all_seen.py LIBRARY.a COPY.a"""
import struct
import sys

SYMTAB, SYMBOL, OTHER = 2, 24, 5  # sh_type; bytes of an Elf64_Sym, and where its st_other lies


def see(data, base):
    """Changes the symbol tables of the object at data[base:]."""
    if data[base + 4] != 2:
        sys.exit("all_seen: an object is not ELF of 64 bits")
    order = "<" if data[base + 5] == 1 else ">"
    (sections,) = struct.unpack_from(order + "Q", data, base + 40)
    size, count = struct.unpack_from(order + "HH", data, base + 58)
    for at in range(base + sections, base + sections + count * size, size):
        (kind,) = struct.unpack_from(order + "I", data, at + 4)
        if kind == SYMTAB:  # sh_info: the first that is not local
            start, length = struct.unpack_from(order + "QQ", data, at + 24)
            strings, first = struct.unpack_from(order + "II", data, at + 40)
            (names,) = struct.unpack_from(order + "Q", data, base + sections + strings * size + 24)
            for symbol in range(base + start + first * SYMBOL, base + start + length, SYMBOL):
                name = base + names + struct.unpack_from(order + "I", data, symbol)[0]
                if data[name:name + 2] != b"__":
                    data[symbol + OTHER] &= ~3


def main(library, copy):
    with open(library, "rb") as file:
        data = bytearray(file.read())
    if data[:8] != b"!<arch>\n":
        sys.exit("all_seen: %s is no archive" % library)
    at = 8
    while at < len(data):  # a header of 60 bytes, its decimal size at 48; members begin at even places
        member = at + 60
        if data[member:member + 4] == b"\x7fELF":
            see(data, member)
        at = member + int(data[at + 48:at + 58])
        at += at & 1
    with open(copy, "wb") as file:
        file.write(data)


if __name__ == "__main__":
    main(*sys.argv[1:])
