#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Budgets of the machine code: what the fat binaries' kernels take of a chip, read from the code that is embedded.
Each row of budgets.txt is a kernel and chip: registers and shared memory at most, no stack (so no register was spilled
to memory) but for what is written there, the least share of multiply-adds in the inner loop (of convolution: in its
straight piece; the hash multiplies nothing), and the most requests to shared memory there, instructions a hundred
multiply-adds. Kernels without a row must not have a stack of their own. Each binary has code that every chip of RUN_ON
executes, and the PTX for later ones; together they are no more than GROWTH. --first: ANY_STACK's have code of the first
chip alone (RP_GPU_CHIPS), and count as if they had as much of each. Usage: budgets.py BIN[:BIN] FOLDER BUDGETS
[--write | --table | --first]; exit 77 where the readers of machine code (cuobjdump and nvdisasm in a BIN, or on the
path) are not there."""
import math
import os
import re
import shutil
import subprocess
import sys

# What has rows: the kernels whose speed is a design, and the chips that they were designed for.
CHIPS = ["sm_80", "sm_90", "sm_100", "sm_120"]
TILES = re.compile(r"rp_gpu_(matmul_(f32|f64|bf16)_(large|middle|small|thin)_|conv_(tile|weight)_\d|sha256$)")
CHAINS = re.compile(r"rp_gpu_chain_run_")  # no loop whose share counts: what they may take is registers and stack
LARGE = re.compile(r"rp_gpu_(matmul_f32_large|conv_(tile|weight)_128)_")  # no budget of theirs is under the bar
RUN_ON = ["sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]
GROWTH = 12_000_000  # bytes of the command, at most, that the binaries are
# Kernels made of the reference's text or of many functions keep arrays in memory; no budget is claimed for them.
ANY_STACK = ("reference", "elementwise", "moving")
REFERENCE = "rp_gpu_ref_"  # wherever they are
# What a chip of the kind has for a multiprocessor: registers, threads, bytes of shared memory (CUDA programming guide).
MACHINE = {"sm_80": (65536, 2048, 164 << 10), "sm_90": (65536, 2048, 228 << 10), "sm_100": (65536, 2048, 228 << 10),
           "sm_120": (65536, 1536, 100 << 10)}


def tool(folders, name):
    return shutil.which(name, path=folders + os.pathsep + os.environ.get("PATH", ""))


def run(command, folder):
    path = folder + os.pathsep + os.environ.get("PATH", "")
    return subprocess.run(command, check=True, capture_output=True, text=True, env=dict(os.environ, PATH=path)).stdout


def resources(reader, folder, binary):
    """(chip, kernel) -> registers, stack, fixed shared memory."""
    found, chip, kernel = {}, None, None
    for line in run([reader, "-res-usage", binary], folder).splitlines():
        if m := re.match(r"arch = (\w+)", line.strip()):
            chip = m.group(1)
        elif m := re.match(r"\s*Function (\S+):", line):
            kernel = m.group(1)
        elif m := re.search(r"REG:(\d+) STACK:(\d+) SHARED:(\d+)", line):
            found[chip, kernel] = tuple(int(x) for x in m.groups())
    return found


def runs_on(chip, codes):
    """Whether one of these machine codes is the chip's, or of an earlier one of its generation, which it executes."""
    number = int(chip[3:])
    return any(code // 10 == number // 10 and code <= number for code in codes)


def not_loaded(reader, folder, binary, chips):
    """What the binary lacks of code for each of the chips."""
    name = os.path.basename(binary)
    codes = [int(n) for n in re.findall(r"\.sm_(\d+)\.cubin", run([reader, "-lelf", binary], folder))]
    wrong = [f"{name} on {chip}: no machine code" for chip in chips if not runs_on(chip, codes)]
    if not re.search(r"\.sm_80\.ptx", run([reader, "-lptx", binary], folder)):
        wrong.append(f"{name}: no PTX of compute_80, for chips that come later")
    return wrong


def requests(names, count):
    """Loads, stores and copies of shared memory to a hundred multiply-adds."""
    return 100 * sum(n.startswith(("LDS", "STS", "LDGSTS", "ATOMS")) for n in names) / max(1, count)


def inner_loop(text):
    """The share of multiply-adds in the loop that holds most of them for its length, among those with a barrier, and its
    requests to shared memory."""
    code = [(int(m.group(1), 16), m.group(2).strip())
            for m in re.finditer(r"/\*([0-9a-f]{4,6})\*/\s+(.*?);", text)]
    best = (0.0, 0.0)
    for at, what in code:
        m = re.search(r"\bBRA\b.*?(0x[0-9a-f]+)", what)
        if not m or int(m.group(1), 16) > at:
            continue
        body = [w for a, w in code if int(m.group(1), 16) <= a <= at]
        names = [re.sub(r"^@!?U?P\d+\s+", "", w).split()[0] for w in body]
        count = sum(n.startswith(("FFMA", "DFMA")) for n in names)
        if count >= 32 and any(n.startswith("BAR") for n in names):
            best = max(best, (count / len(names), requests(names, count)))
    return best


def straight_piece(text):
    """The share of multiply-adds in the piece without a branch that holds most of them, and its requests to shared
    memory: convolution's loops have several ways through them, and a chunk's end inside."""
    best = (0, 0.0, 0.0)
    for piece in re.split(r"\n\.L_|\bBRA\b", text):
        names = [re.sub(r"^@!?U?P\d+\s+", "", m.group(1).strip()).split()[0]
                 for m in re.finditer(r"/\*[0-9a-f]{4,6}\*/\s+(.*?);", piece)]
        count = sum(n.startswith("FFMA") for n in names)
        best = max(best, (count, count / max(1, len(names)), requests(names, count)))
    return best[1:]


def shares(reader, folder, binary, chip):
    parts = re.split(r"\n\s*Function : (\S+)", run([reader, "-sass", "-arch", chip, binary], folder))
    return {name: straight_piece(text) if "conv" in name else inner_loop(text)
            for name, text in zip(parts[1::2], parts[2::2]) if TILES.match(name)}


def measure(reader, folder, binaries, first):
    rows, wrong = {}, []
    for binary in binaries:
        stem = os.path.basename(binary).rsplit(".", 1)[0]
        used = resources(reader, folder, binary)
        if not used:
            sys.exit(f"budgets: {binary}: no kernels were found in it; cuobjdump's words may have changed")
        wrong += not_loaded(reader, folder, binary, RUN_ON[:1] if first and stem in ANY_STACK else RUN_ON)
        for (chip, kernel), (registers, stack, shared) in sorted(used.items()):
            if (TILES.match(kernel) or CHAINS.match(kernel)) and chip in CHIPS:
                rows[kernel, chip] = [registers, stack, shared, 0.0, 0.0]
            elif stack > 0 and stem not in ANY_STACK and not kernel.startswith(REFERENCE) and not CHAINS.match(kernel):
                wrong.append(f"{kernel} on {chip}: {stack} bytes of stack, expected none")
        if any(TILES.match(kernel) and not kernel.endswith("sha256") for _, kernel in used):  # which multiplies nothing
            for chip in CHIPS:
                for kernel, found in shares(reader, folder, binary, chip).items():
                    rows[kernel, chip][3:] = found
    return rows, wrong


def compare(rows, budgets):
    wrong = []
    for line in budgets:
        kernel, chip, *numbers = line.split()
        registers, stack, shared = (int(n) for n in numbers[:3])
        share, most_requests = float(numbers[3]), float(numbers[4])
        found = rows.pop((kernel, chip), None)
        if found is None:
            wrong.append(f"{kernel} on {chip}: is not in the fat binaries")
            continue
        for what, has, most in zip(("registers", "bytes of stack", "bytes of fixed shared memory"), found,
                                   (registers, stack, shared)):
            if has > most:
                wrong.append(f"{kernel} on {chip}: {has} {what}, the budget is {most}")
        if found[3] < share:
            wrong.append(f"{kernel} on {chip}: {found[3]:.3f} of its inner loop multiplies, the budget is {share:.3f}")
        if found[4] > most_requests:
            wrong.append(f"{kernel} on {chip}: {found[4]:.1f} requests to shared memory a hundred multiply-adds, the "
                         f"budget is {most_requests:.1f}")
        if LARGE.match(kernel) and (stack > 0 or share < 0.9):
            wrong.append(f"{kernel} on {chip}: the budget itself is under the bar: no stack, a share of 0.900")
    return wrong + [f"{kernel} on {chip}: has no budget" for kernel, chip in sorted(rows)]


def occupancy(kernel, chip, registers, fixed):
    """Threads of a block and blocks that a multiprocessor holds at once, by registers (rounded up to 8 a thread, 256 a
    warp), threads and shared memory: a model."""
    kinds = {"large": (128, 8, 4, 128 + 128, 4), "middle": (128, 16, 2, 128 + 64, 4), "small": (128, 16, 4, 96, 4),
             "thin": (128, 16, 4, 144, 4)}
    kind = re.search(r"(large|middle|small|thin)", kernel)
    if "sha256" in kernel:
        threads, steps, stages, sides, size = 32, 0, 0, 0, 4
    elif CHAINS.match(kernel):
        threads, steps, stages, sides, size, kind = 256, 0, 0, 0, 4, None  # of a chain that keeps nothing
    elif "f64" in kernel:
        threads, steps, stages, sides, size = 128, 8, 4, 128, 8
    elif kind:
        threads, steps, stages, sides, size = kinds[kind.group(1)]
        stages = 2 if "bf16" in kernel else stages
    else:
        threads, steps, stages, size = 256, 8, 4, 4
        sides = 128 + int(re.search(r"_(\d+)_", kernel).group(1))
        if kernel.endswith(("_64_e", "_64_k")):
            threads, steps, stages = 128, 16, 2
        elif kernel.endswith("_128_e"):
            threads = 128
        elif "weight_64" in kernel:
            threads = 128
    pad = 4 if size == 8 else 8
    extra = 512 * 16 + 4 * 512 // steps * 4 if "conv_weight" in kernel else 9 * 133 * 4 if "conv" in kernel else 0
    shared = stages * steps * (sides + pad) * size + fixed + extra + 1024
    have, most_threads, memory = MACHINE[chip]
    blocks = min(have // ((registers + 7) // 8 * 8 * threads), most_threads // threads, memory // shared)
    return threads, shared - 1024, blocks


def main():
    folders, where, file, *options = sys.argv[1:]
    reader, dis = tool(folders, "cuobjdump"), tool(folders, "nvdisasm")
    if reader is None or dis is None:
        print("budgets: cuobjdump and nvdisasm are not here (scripts/cuda-toolchain.sh installs them)")
        sys.exit(77)
    binaries = sorted(os.path.join(where, f) for f in os.listdir(where) if f.endswith(".fatbin"))
    first = "--first" in options
    rows, others = measure(reader, os.path.dirname(dis), binaries, first)
    if "--table" in options:
        print("| kernel | chip | registers | threads | shared memory | blocks | warps of the chip's | share | requests |\n"
              "|---|---|---|---|---|---|---|---|---|")
        for (kernel, chip), (registers, _, fixed, share, asked) in sorted(rows.items()):
            threads, shared, blocks = occupancy(kernel, chip, registers, fixed)
            print(f"| {kernel[7:]} | {chip} | {registers} | {threads} | {shared} | {blocks} | "
                  f"{blocks * threads // 32} of {MACHINE[chip][1] // 32} | {share:.2f} | {asked:.1f} |")
        return
    if "--write" in options:
        with open(file, "w", encoding="utf-8") as out:
            out.write("# SPDX-License-Identifier: Apache-2.0\n# kernel chip registers stack shared share requests: at most, "
                      "and the share at least (budgets.py --write)\n")
            for (kernel, chip), (registers, stack, shared, share, asked) in sorted(rows.items()):
                least = max(0.9, int(share * 100) / 100) if LARGE.match(kernel) else int(share * 100) / 100
                out.write(f"{kernel} {chip} {registers} {stack} {shared} {least:.2f} {math.ceil(asked * 10) / 10:.1f}\n")
        return
    with open(file, encoding="utf-8") as text:
        budgets = [line for line in text if not line.startswith("#")]
    wrong = compare(rows, budgets) + others
    alone = [b for b in binaries if first and os.path.basename(b).rsplit(".", 1)[0] in ANY_STACK]
    size = sum(map(os.path.getsize, binaries)) + (len(CHIPS) - 1) * sum(map(os.path.getsize, alone))
    if size > GROWTH:
        wrong.append(f"the binaries are {size} bytes of the command, the budget is {GROWTH}")
    kept = f"{len(budgets)} budgets are kept; {len(binaries)} binaries of {size} bytes run on {', '.join(RUN_ON)}"
    if first:
        kept += f", {', '.join(ANY_STACK)} on {RUN_ON[0]} alone"
    print("\n".join(wrong) or kept)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
