# SPDX-License-Identifier: Apache-2.0
"""What bench/paired.sh needs beside a shell.

    paired.py code BASE NEW       functions of the kernels whose machine code differs between two built trees
    paired.py calls FILE NAME     how often a function was called, of a callgrind output
    paired.py table FOLDER N      rows of the benchmarks' outputs in N rounds, old and new"""
import re
import statistics
import subprocess
import sys
from pathlib import Path

OBJECTS = "build/release/kernels/CMakeFiles/rp_kernels.dir"
# Of each benchmark the lines that are rows: a name and times, or rates that are turned over.
NUMBER = r" +([\d.]+)"
ROWS = {
    "bandwidth": (r"^(\S.{20} +\d+ \d)" + NUMBER, ["us"]),
    "functions": (r"^(\w+)" + NUMBER * 4, ["ref", "sse2", "avx2", "avx512"]),
    "functions_bivariate": (r"^(\w+ +f\d\d)" + NUMBER * 4, ["ref", "sse2", "avx2", "avx512"]),
    "gemm": (r"^(.{19} +\d+ +\d+ +\d+ +\d+) \w\w +\d" + NUMBER, ["ms"]),
    "conv": (r"^(\S.+?) +1" + NUMBER, ["ms"]),
    "winograd": (r"^( *\d+ at \d+)" + NUMBER * 2, ["direct", "winograd"]),
    "steps": (r"^(\w+ \w+) [\d.]+ ([\d.]+)", ["best"]),
    "eager": (r"^(step, ms|memory, MiB): +eager ([\d.]+), compiled ([\d.]+)", ["eager", "compiled"]),
    "planning": (r"^ *(\d+ +\d+) +[\d.]+ +[\d.]+" + NUMBER, ["us an instruction"]),
    "regions": (r"^(\S.*?\S) *:" + NUMBER + r" ms,.*; +([\d.]+) MiB", ["ms", "MiB"]),
    "json": (r"^(\S.*?) {2,}[\d.]+ MB +read" + NUMBER + " ms.* write" + NUMBER + " ms", ["read", "write"]),
    "hashing": (r"^(\d+ MiB, leaves of 1 MiB): ([\d.]+) ms", ["best"]),
    "verify": (r"^(.*): verify ([\d.]+) GB/s", ["rate"]),
    "checkpoint": (r"^(\S[\d, ]*?) {3,}[\d.]+" + NUMBER + r" +\d+" + NUMBER, ["point", "archive"]),
    "recording": (r"^(\S.*?)" + NUMBER + " us", ["median"]),
    "overhead": (r"^(\S.*?)" + NUMBER + r" [mu]s" + NUMBER + r" [mu]s", ["first", "second"]),
}


def functions(path):
    """The instructions of each function, without what depends on where they lie."""
    text = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", path], capture_output=True, text=True).stdout
    found, name = {}, None
    for line in text.splitlines():
        head = re.match(r"^[0-9a-f]+ <(.*)>:", line)
        if head:
            name = re.sub(r"\.(constprop|isra|part)\.\d+", r".\1", head.group(1))
            found[name] = []
        elif name and "\t" in line and not re.search(r"\t(nop|data16|cs nop|xchg +%ax,%ax)", line):
            code = "R" if "R_X86" in line else line.split("\t", 1)[1].split("#")[0]
            found[name].append(re.sub(r"\b[0-9a-f]+ <[^>]*>|0x[0-9a-f]+\(%rip\)", "L", code).strip())
    return found


def code(base, new):
    print("functions of the kernels with other code than before (instructions, old and new)")
    for old in sorted(Path(base, OBJECTS).glob("*_avx*.c.o")):
        now = Path(new, OBJECTS, old.name)
        if not now.exists():
            print("%-26s gone" % old.name)
            continue
        a, b = functions(old), functions(now)
        same = sum(a[f] == b.get(f) for f in a)
        other = ["%s %d %d" % (f, len(a[f]), len(b[f])) for f in a if f in b and a[f] != b[f]]
        print("%-26s %3d same%s" % (old.name, same, "; " + ", ".join(other[:9]) + (" ..." if other[9:] else "")
                                    if other else ""))


def calls(path, name):
    """callgrind writes a call as cfn=(number) name, the name only the first time, then calls=COUNT."""
    number, callee, total = None, None, 0
    for line in open(path, encoding="utf-8"):
        head = re.match(r"(c?)fn=\((\d+)\)(?: (.*))?$", line.rstrip("\n"))
        if head:
            if head.group(3) == name:
                number = head.group(2)
            callee = head.group(2) if head.group(1) else callee
        elif line.startswith("calls=") and callee is not None:
            total += int(line[6:].split()[0]) if callee == number else 0
            callee = None
    print(total or 1)


def rows_of(path, bench):
    pattern, columns = ROWS[bench]
    rows, section = {}, ""
    for line in path.read_text(encoding="utf-8").splitlines():
        match = re.match(pattern, line)
        if not match:
            section = line if line and not line[0].isspace() and bench == "recording" else section
            continue
        for column, value in zip(columns, match.groups()[1:]):
            value = float(value)
            key = " ".join((section.split(",")[0] + " " + match.group(1)).split())
            rows[key, column] = 1 / value if column == "rate" else value
    return rows


def table(folder, rounds):
    outputs = sorted({re.sub(r"\.(base|new)\.\d+$", "", p.name) for p in Path(folder).glob("*.new.*")})
    for output in outputs:
        bench = output.split(".")[0]
        read = [[rows_of(Path(folder, "%s.%s.%d" % (output, side, i + 1)), bench) for side in ("base", "new")]
                for i in range(rounds)]
        print("\n| %s | old | new | new / old |\n|---|---|---|---|" % bench)
        for key in read[0][1]:
            pairs = [(old[key], new[key]) for old, new in read if key in old and key in new and old[key] > 0]
            if not pairs:
                continue
            ratio = statistics.median(new / old for old, new in pairs)
            least = min(new for _, new in pairs) / min(old for old, _ in pairs)
            print("| %s, %s | %.4g | %.4g | %.3f, of the least %.3f%s |" % (
                key[0], key[1], statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs), ratio,
                least, " **<**" if ratio > 1.03 and least > 1.03 else ""))


if sys.argv[1] == "code":
    code(sys.argv[2], sys.argv[3])
elif sys.argv[1] == "calls":
    calls(sys.argv[2], sys.argv[3])
else:
    table(sys.argv[2], int(sys.argv[3]))
