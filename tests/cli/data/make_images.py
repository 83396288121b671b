#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small PNG images by the format's text, with zlib alone, their list, and the table that they are: for images.sh.
Usage: make_images.py FOLDER"""
import os
import struct
import sys
import zlib

ROWS, SIDE = 90, 6


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(path, channels, pixels):
    """Every other image has its rows as differences from the row above (filter 2)."""
    width, rows = SIDE * channels, []
    for r in range(SIDE):
        row = pixels[r * width:(r + 1) * width]
        above = pixels[(r - 1) * width:r * width] if r else [0] * width
        rows.append(bytes([2]) + bytes((a - b) % 256 for a, b in zip(row, above)) if r % 2 else bytes([0]) + bytes(row))
    with open(path, "wb") as out:
        out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2 if channels == 3 else 0, 0, 0, 0)) +
                  chunk(b"IDAT", zlib.compress(b"".join(rows))) + chunk(b"IEND", b""))


folder = sys.argv[1]
os.makedirs(folder + "/pictures", exist_ok=True)
names = ["left", 'the "right" one', "both, mixed"]
table = [",".join(f"x.{r}.{c}.{k}" for r in range(SIDE) for c in range(SIDE) for k in range(3)) + ",y"]
listed = ["file,label"]
for i in range(ROWS):
    kind = i % 3
    pixels = []
    for r in range(SIDE):
        for c in range(SIDE):
            lit = (c < 3) if kind == 0 else (c >= 3) if kind == 1 else (c + r) % 2 == 0
            pixels += [(i * 31 + r * 7 + c) % 60 + 150 * lit, (r * c + i) % 50, 10 * k if (k := i % 9) else 0]
    png(f"{folder}/pictures/{i}.png", 3, pixels)
    quoted = '"' + names[kind].replace('"', '""') + '"'
    listed.append(f"{i}.png,{quoted}")
    table.append(",".join(map(str, pixels)) + "," + quoted)
png(f"{folder}/pictures/grey.png", 1, [7] * SIDE * SIDE)
for path, lines in (("labels.csv", listed), ("all.csv", table)):
    with open(f"{folder}/{path}", "w") as out:
        out.write("\n".join(lines) + "\n")
