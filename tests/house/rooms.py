#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rooms depend one way, and files do not depend on each other in circles.

From the include lines: no room (folder) includes one that stands behind it in ORDER, and the rooms of what verifies see
nothing of kernels and core. From the objects' symbols (nm): no circle between files, where A uses what B defines and B
what A defines, directly or through others; core/program alone may have them, as operations and their gradients are made
of each other. From the listing: no folder but documents and corpora holds more than MOST files. No file but rp/archive.h writes out
the name of a member, and none compares an operation with one by its identifier: what differs is a field of its row.

Usage: rooms.py SOURCE_DIR NM FILE, the file with the path of an object in each line. Every exception is named in EXCEPT_..., and
one that is no longer needed fails."""
import collections
import os
import re
import subprocess
import sys

MOST = 32
LAYERS = ["base", "determinism", "kernels", "core", "audit"]
ORDER = {
    "core": ["program", "run", "nn", "recipe", "stats", "text", "data", "train", "trials"],
    "audit": ["digest", "sign", "log", "profile", "archive", "statements", "trust", "pinned", "record", "drive", "replay", "validate", "retrain", "explain", "report"],
}
VERIFIES = ORDER["audit"][:7]  # rooms that link without kernels and core
CIRCLES_ALLOWED = "core/program/"
# Known edges "FILE -> ROOM", and circles by one of their files, with the reason. The list only shrinks.
EXCEPT_EDGES = {}
EXCEPT_CIRCLES = {}


def room_of(path):
    parts = path.split("/")
    return parts[0], parts[1] if len(parts) > 2 else ""


def included(source):
    """(file, header) of every include line with quotes in the layers."""
    for layer in LAYERS:
        for folder, _, files in os.walk(os.path.join(source, layer)):
            for name in sorted(files):
                if name.endswith((".c", ".h", ".def")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as text:
                        for header in re.findall(r'^\s*#\s*include "([^"]+)"', text.read(), re.M):
                            yield os.path.relpath(path, source), header


def wrong_edge(path, header):
    """Why the file may not include the header, or None."""
    layer, room = room_of(path)
    other, other_room = room_of(header)
    if other not in LAYERS:
        return None
    if LAYERS.index(other) > LAYERS.index(layer):
        return "a layer above"
    if layer == "audit" and room in VERIFIES and other in ("kernels", "core"):
        return "what verifies links without it"
    order = ORDER.get(layer)
    if other == layer and order and room != other_room:
        if room not in order or other_room not in order:
            return "a room that is not in the order"
        if order.index(other_room) > order.index(room):
            return "a room behind it"
    return None


def source_of(obj):
    """build/.../audit/CMakeFiles/rp_audit.dir/record/resume.c.o: audit/record/resume.c. Generated sources keep their names."""
    found = re.search(r"(\w+)/CMakeFiles/rp_\w+\.dir/(?:\./)?(.*)\.o$", obj)
    return f"{found.group(1)}/{found.group(2)}" if found else obj


def uses(nm, objects):
    """file -> file -> symbols it uses of it."""
    defined, wanted = {}, collections.defaultdict(set)
    out = subprocess.run([nm, "-A", "-P", *objects], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        obj, rest = line.split(": ", 1)
        symbol, kind = rest.split()[:2]
        if kind == "U":
            wanted[source_of(obj)].add(symbol)
        elif kind.isupper():
            defined[symbol] = source_of(obj)
    graph = collections.defaultdict(lambda: collections.defaultdict(set))
    for path, symbols in wanted.items():
        for symbol in symbols:
            if defined.get(symbol, path) != path:
                graph[path][defined[symbol]].add(symbol)
    return graph, len(defined)


def circles(graph):
    """Strongly connected sets of more than one file (Tarjan 1972), without recursion."""
    index, low, stack, on, found = {}, {}, [], set(), []
    for root in sorted(graph):
        work = [(root, iter(sorted(graph[root])))] if root not in index else []
        while work:
            node, rest = work[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                stack.append(node)
                on.add(node)
            step = next((n for n in rest if n not in index or n in on), None)
            if step is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    if len(stack) - at > 1:
                        found.append(sorted(stack[at:]))
                    on.difference_update(stack[at:])
                    del stack[at:]
            elif step in index:
                low[node] = min(low[node], index[step])
            else:
                work.append((step, iter(sorted(graph.get(step, ())))))
    return found


def folders(source):
    """folder -> number of files, whatever they are; a corpus is data."""
    count = collections.Counter()
    for top in LAYERS + ["cli", "tests", "bench", "include", "python", "scripts", "cmake", "examples", "golden"]:
        for folder, inside, files in os.walk(os.path.join(source, top)):
            inside[:] = [name for name in inside if name not in ("corpus", "__pycache__")]
            count[os.path.relpath(folder, source)] += len(files)
    return count


def written_members(source):
    """(file, name) of every string literal that is the name of a member, which include/rp/archive.h has."""
    with open(os.path.join(source, "include/rp/archive.h"), encoding="utf-8") as text:
        names = set(re.findall(r'^#define RP_\w+ (?:RP_SIGNATURES )?("[\w./]+")$', text.read(), re.M))
    for layer in LAYERS + ["cli"]:
        for folder, _, files in os.walk(os.path.join(source, layer)):
            for name in sorted(f for f in files if f.endswith((".c", ".h"))):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as text:
                    for literal in sorted(names & set(re.findall(r'"[\w./]+"', text.read()))):
                        yield os.path.relpath(path, source), literal
    yield from () if len(names) > 20 else [("include/rp/archive.h", "fewer names than there are")]


def compared_operations(source):
    """(file, comparison) of every operation that is held against one by its identifier."""
    one = r"(?:rp_op_get\()?\bRP_OP_[a-z]\w*\)?"  # flags are in capitals
    for layer in LAYERS + ["cli", "python"]:
        for folder, _, files in os.walk(os.path.join(source, layer)):
            for name in sorted(f for f in files if f.endswith((".c", ".h"))):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as text:
                    for found in re.findall(rf"[=!]= *{one}|{one} *[=!]=|case {one}|\[{one}\] *=", text.read()):
                        yield os.path.relpath(path, source), found


def main():
    source, nm, listing = sys.argv[1:]
    with open(listing, encoding="utf-8") as text:
        objects = text.read().split("\n")[:-1]
    bad, met = [], set()

    edges = 0
    for path, header in included(source):
        edges += 1
        why = wrong_edge(path, header)
        key = f"{path} -> {'/'.join(filter(None, room_of(header)))}"
        if why and key in EXCEPT_EDGES:
            met.add(key)
        elif why:
            bad.append(f"{path} includes {header}: {why}")

    bad += [f"{path} writes out {name}: rp/archive.h has its name" for path, name in written_members(source)]
    bad += [f"{path}: {found}: ask its row" for path, found in compared_operations(source)]

    graph, symbols = uses(nm, objects)
    for circle in circles(graph):
        if all(path.startswith(CIRCLES_ALLOWED) for path in circle):
            continue
        known = [path for path in circle if path in EXCEPT_CIRCLES]
        met.update(known)
        if known:
            continue
        bad.append("a circle between files:")
        for a in circle:
            for b in circle:
                if b in graph[a]:
                    bad.append(f"  {a} -> {b}: {', '.join(sorted(graph[a][b])[:4])}")

    count = folders(source)
    for folder, files in sorted(count.items()):
        if files > MOST:
            bad.append(f"{folder}: {files} files, at most {MOST}")

    for key, why in {**EXCEPT_EDGES, **EXCEPT_CIRCLES}.items():
        print(f"exception: {key}: {why}")
        if key not in met:
            bad.append(f"the exception {key} is not needed any more: take it out of the list")
    print("\n".join(bad))
    print(f"{edges} include lines, {len(objects)} objects with {symbols} symbols, {len(count)} folders: "
          f"{len(bad)} lines of complaint")
    # a check over nothing proves nothing
    return 0 if not bad and edges > 500 and len(objects) > 150 and symbols > 1000 else 1


sys.exit(main())
