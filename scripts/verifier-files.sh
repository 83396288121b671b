#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The sources of libreprise-verify in the order in which they are best read (docs/verifier.md), each with its lines, and
# the sum of each room. Usage: scripts/verifier-files.sh
set -euo pipefail
cd "$(dirname "$0")/.."
list() { # sources of a layer, as its CMakeLists.txt names them
    sed -n "/^rp_layer($1\\b/,/)/p" "$2/CMakeLists.txt" | tr -s ' \n' '\n' | grep '\.c)\?$' | tr -d ')' | sed "s,^,$2/,"
}
files=$(
    list verify audit
    list base base
    echo determinism/bits.c
    echo determinism/decimal.c
    echo determinism/philox.c
)
room= sum=0 total=0
flush() { [ -z "$room" ] || printf '%6d  %s\n\n' "$sum" "$room"; }
for file in $files; do
    [ -f "$file" ] || { echo "$file: not here" >&2; exit 1; }
    lines=$(wc -l <"$file")
    header=${file%.c}.h
    [ ! -f "$header" ] || lines=$((lines + $(wc -l <"$header")))
    if [ "$(dirname "$file")" != "$room" ]; then
        flush
        room=$(dirname "$file") sum=0
    fi
    printf '%6d  %s\n' "$lines" "$file"
    sum=$((sum + lines)) total=$((total + lines))
done
flush
printf '%6d  in all\n' "$total"
