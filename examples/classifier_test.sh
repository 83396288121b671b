#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The classifier learns, its archive replays, and it is no longer than thirty lines, which is at most one and a half
# times its twin in PyTorch. Lines are those with anything but a comment. Usage: classifier_test.sh PROGRAM REPRISE DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

lines() {
    grep -cvE '^[[:space:]]*($|//|/\*|\*|# )' "$1"
}

here=$(lines "$3/classifier.c")
there=$(lines "$3/classifier.py")
echo "$here lines of C, $there of Python"
[ "$here" -le 30 ] && [ $((2 * here)) -le $((3 * there)) ]
"$1" | tee said
awk '$1 == 0 { first = $2 } $1 == 19 { last = $2 } END { exit !(last < first / 3) }' said
"$2" replay classifier.reprise --threads 3
