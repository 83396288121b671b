#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults planted in the PTX of kernels.cu, to see that the emulated device shows them: plant.py KERNELS.ptx OUT.ptx
writes a module with a copy of a kernel for each, named KERNEL_without_... An edit that finds nothing is an error."""
import re
import sys

BARRIER = r"\tbar\.sync \t0;\n"
# kernel, the copy's ending, what is looked for, which of those found (from 0), what comes in its place
FAULTS = [
    ("emu_add", "without_bound", r"\t@%p1 bra \t\$L\w+;\n", 0, ""),
    ("emu_scale", "contracted", r"mul\.rn\.f32 \t(%f\d+), (%f\d+), (%f\d+);((?:(?!add\.rn).)*)add\.rn\.f32 \t(%f\d+), \1, (%f\d+);",
     0, r"\4fma.rn.f32 \5, \2, \3, \6;"),
    ("emu_product", "without_first_barrier", BARRIER, 0, ""),
    ("emu_product", "without_second_barrier", BARRIER, 1, ""),
    ("emu_product", "without_wait", r"cp\.async\.wait_group 1;", 0, ""),
    ("emu_product", "waiting_for_one_too_few", r"cp\.async\.wait_group 1;", 0, "cp.async.wait_group 2;"),
    ("emu_product", "over_padding", r"min\.u32 \t(%r\d+), %r\d+, 8;", 0, r"mov.u32 \t\1, 8;"),
    ("emu_product", "without_edge", r"\t@%p15 bra \t\$L\w+;\n", 0, ""),
    ("emu_product", "without_commit", r"cp\.async\.commit_group;", 1, ""),
]


def body(text, kernel):
    found = re.search(r"^\.visible \.entry " + kernel + r"\(.*?^\}\n", text, re.M | re.S)
    if not found:
        sys.exit(f"plant: no kernel {kernel}")
    return found.group(0)


def planted(text, kernel, ending, pattern, which, instead):
    code = body(text, kernel)
    found = list(re.finditer(pattern, code, re.S))
    if len(found) <= which:
        sys.exit(f"plant: {kernel}_{ending}: nothing there that looks like {pattern}")
    place = found[which]
    code = code[:place.start()] + place.expand(instead) + code[place.end():]
    return code.replace(kernel + "(", f"{kernel}_{ending}(").replace(kernel + "_param", f"{kernel}_{ending}_param")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write(text[:text.index(".address_size")] + ".address_size 64\n\n")
        for fault in FAULTS:
            out.write(planted(text, *fault))


main()
