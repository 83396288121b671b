#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The sources of libreprise-verify in the order in which they are best read (docs/verifier.md), each with its lines, and
# the sum of each folder. Usage: scripts/verifier-files.sh [check]; check prints only where a room's lines, or all of
# them, are not those of docs/verifier.md, to a tenth.
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
if [ "${1:-}" = check ]; then
    for file in $files; do
        case $file in audit/*) room=${file#audit/} room=audit/${room%%/*} ;; *) room=${file%%/*} ;; esac
        for source in "$file" "${file%.c}.h"; do
            [ ! -f "$source" ] || printf '%s %d\n' "$room" "$(wc -l <"$source")"
        done
    done | awk '
        FNR == NR {
            if (match($0, /^\| `[a-z\/]+`[^|]*\| [0-9,]+ \|/)) {
                split($0, cell, "|")
                gsub(/[` ]|\([^)]*\)/, "", cell[2])
                gsub(/[, ]/, "", cell[3])
                said[cell[2]] = cell[3]
            } else if (match($0, /^About [0-9,]+ lines/)) {
                gsub(/,/, "", $2)
                said["in all"] = $2
            }
            next
        }
        { lines[$1] += $2; lines["in all"] += $2 }
        END {
            for (room in lines)
                if (!(room in said) || (off = said[room] - lines[room]) * off * 100 > lines[room] * lines[room]) {
                    printf "docs/verifier.md: %s: expected %d lines, found %s\n", room, lines[room], said[room]
                    failed = 1
                }
            for (room in said)
                if (!(room in lines)) {
                    printf "docs/verifier.md: %s is no room of the verifier\n", room
                    failed = 1
                }
            exit failed
        }' docs/verifier.md -
    exit
fi
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
