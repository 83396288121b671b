#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# No test program that shares the library (tests/shared.cmake) defines a name that the library has: elsewhere the linker
# takes the program's in its place, a shared library keeps its own.
# Usage: own_names.sh LIBRARY FILE_THAT_LISTS_THE_PROGRAMS_OBJECTS
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C
nm -D --defined-only "$1" | awk '{print $3}' | sort -u >"$work/library"
[ "$(wc -l <"$work/library")" -gt 1000 ] || { echo "FAIL: the library shows $(wc -l <"$work/library") names"; exit 1; }
while read -r object; do # not all are built everywhere
    [ ! -f "$object" ] || echo "$object"
done <"$2" >"$work/objects"
[ -s "$work/objects" ] || { echo "FAIL: no program's objects are here"; exit 1; }
xargs nm -A -g --defined-only <"$work/objects" | awk '{print $3, $1}' | sort -u >"$work/programs"
join "$work/library" "$work/programs" >"$work/both"
[ ! -s "$work/both" ] || { echo "FAIL: the library's names in programs that share it:"; cat "$work/both"; exit 1; }
echo "$(wc -l <"$work/objects") objects of programs, $(wc -l <"$work/library") names of the library"
