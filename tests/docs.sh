#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the documentation shows works: README.md's sh blocks run in order as one session (all but ./demo and ./check), and
# the first C program of docs/api.md compiles, runs, and its archive replays. Usage: docs.sh SOURCE_DIR BUILD_DIR CC
set -euo pipefail
source=$1
build=$2
cc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

blocks() { # file, language: the blocks' text
    awk -v open="\`\`\`$2" '$0 == open { on = 1; next } /^```/ { on = 0 } on' "$1"
}

blocks "$source/README.md" sh | grep -vx './demo\|./check' | sed "s#\$repo/build/release#$build#" >"$work/tour.sh"
grep -q 'reprise golden check' "$work/tour.sh"
(cd "$source" && sh -eu "$work/tour.sh") >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }

awk '/^```c$/ { on = 1; n++; next } /^```/ { on = 0 } on && n == 1' "$source/docs/api.md" >"$work/api.c"
grep -q 'int main' "$work/api.c"
"$cc" -std=c11 -Wall -Wextra -Werror -I"$source/include" "$work/api.c" -o "$work/api" -L"$build" -lreprise
cd "$work"
LD_LIBRARY_PATH=$build "$work/api" api.reprise

"$build/cli/reprise" replay api.reprise --threads 2 --isa ref
echo "documentation works"
