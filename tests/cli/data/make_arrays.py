#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small images of three shapes as arrays, and programs that take them, for arrays.sh: written from the formats' texts, with nothing
but Python's own library. Usage: make_arrays.py FOLDER"""
import json
import struct
import sys

DTYPES = {"u8": ("|u1", "U8", "B"), "i64": ("<i8", "I64", "q"), "f32": ("<f4", "F32", "f"), "f16": ("<f2", "F16", "e"), "bf16": ("", "BF16", "H")}
ROWS, SIDE = 120, 4


def packed(dtype, values):
    if dtype == "bf16":  # the upper half of a binary32: of values that are that alone
        values = [struct.unpack("<I", struct.pack("<f", value))[0] >> 16 for value in values]
    return struct.pack(f"<{len(values)}{DTYPES[dtype][2]}", *values)


def npy(path, dtype, shape, values):
    head = repr({"descr": DTYPES[dtype][0], "fortran_order": False, "shape": tuple(shape)})
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + packed(dtype, values))


def tensors(path, parts):
    header, body = {}, b""
    for name, (dtype, shape, values) in parts.items():
        data = packed(dtype, values)
        header[name] = {"dtype": DTYPES[dtype][1], "shape": list(shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    head = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(head)) + head + body)


def image(i):
    """A row, a column or a diagonal, with some noise that is the same every time."""
    kind, place = i % 3, i // 3 % SIDE
    noise = [(i * 7919 + k * 104729) % 61 for k in range(SIDE * SIDE)]
    for k in range(SIDE):
        at = {0: place * SIDE + k, 1: k * SIDE + place, 2: k * SIDE + (k + place) % SIDE}[kind]
        noise[at] += 190
    return noise, kind


def program(path, inputs, instructions, outputs):
    with open(path, "w") as out:
        json.dump({"contract": 1, "inputs": inputs, "instructions": instructions, "outputs": outputs}, out,
                  sort_keys=True, separators=(",", ":"))


folder = sys.argv[1]
pixels, labels = [], []
for i in range(ROWS):
    values, kind = image(i)
    pixels += values
    labels.append(kind)
shape = (ROWS, SIDE, SIDE)
scaled = [p / 255 for p in pixels]
npy(folder + "/x.npy", "u8", shape, pixels)
npy(folder + "/y.npy", "i64", (ROWS,), labels)
npy(folder + "/x32.npy", "f32", shape, scaled)
eighths = [(p - 100) / 8 for p in pixels]
for name in ("f32", "f16"):
    npy(f"{folder}/eighths-{name}.npy", name, shape, eighths)
    npy(f"{folder}/small-{name}.npy", name, shape, [2**-24 * (p % 5 - 2) for p in pixels])
tensors(folder + "/eighths.safetensors", {"label": ("i64", (ROWS,), labels)} | {name: (name, shape, eighths) for name in ("f16", "bf16")})
npy(folder + "/inf16.npy", "f16", shape, eighths[:-1] + [float("-inf")])
npy(folder + "/short.npy", "i64", (ROWS - 1,), labels[1:])
npy(folder + "/amount.npy", "f32", (ROWS, 1), [sum(pixels[i * 16:i * 16 + 16]) / 100 for i in range(ROWS)])
npy(folder + "/nan.npy", "f32", shape, scaled[:-1] + [float("nan")])
tensors(folder + "/all.safetensors", {"label": ("i64", (ROWS,), labels), "pixels": ("u8", shape, pixels)})
tensors(folder + "/w.safetensors", {"w": ("f32", (16, 3), [(i * 37 % 11 - 5) / 8 for i in range(48)])})
with open(folder + "/all.csv", "w") as out:
    names = [f"x.{i}.{j}" for i in range(SIDE) for j in range(SIDE)] + ["y"]
    rows = [pixels[i * 16:i * 16 + 16] + labels[i:i + 1] for i in range(ROWS)]
    out.write("\n".join(",".join(map(str, r)) for r in [names] + rows) + "\n")
program(folder + "/forward.json", [[0, "feed", "x", "f32", [16, 4, 4]], [1, "state", "w", "f32", [16, 3]]],
        [["reshape", {"shape": [16, 16]}, [0], [2]], ["matmul", {}, [2, 1], [3]]], [["result", "logits", 3]])
program(folder + "/initial.json", [[0, "state", "w", "f32", [16, 3]]],
        [["fill", {"dtype": "f32", "shape": [16, 3], "value": "0"}, [], [1]]], [["state", "w", 1]])
