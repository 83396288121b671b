#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the documentation shows works: README.md's sh blocks run in order as one session (all but ./demo and ./check),
# the C programs of docs/ compile, run, and their archives replay, and its other C compiles as a part of a program.
# Usage: docs.sh SOURCE_DIR BUILD_DIR CC
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

cd "$work"
# the blocks of C that are whole programs; the others are fragments of one
awk '/^```c$/ { file = "block" ++n ".c"; next } /^```/ { file = "" } file { print > file }' \
    "$source"/docs/*.md "$source"/docs/start/*.md
programs=$(grep -l '^int main' block*.c)
[ "$(echo "$programs" | wc -l)" -ge 6 ] # eager, images, symbolic, layers, recurrent layers, the first five minutes
cat >around.h <<'C'
#include <stdio.h>
#include <rp/rp.h>
/* what the parts of programs take from around them */
rp_archive *archive;
rp_error err;
rp_job *job;
rp_job_options options;
rp_nn *nn;
rp_recorder *recorder;
rp_status status;
rp_tensor b, w, x;
rp_verification *result;
const rp_key *trusted, *const *keys;
const void *bytes;
size_t n, size;
C
parts=0
for part in $(grep -L '^int main' block*.c); do
    {
        printf '#include "around.h"\nvoid part(void);\nvoid part(void) {\n'
        cat "$part"
        echo '}'
    } >"part-$part"
    "$cc" -std=c11 -Wall -Wextra -Werror -Wno-unused -Wno-unused-but-set-variable -fsyntax-only \
        -I"$source/include" -I. "part-$part"
    parts=$((parts + 1))
done
[ "$parts" -ge 7 ]
for program in $programs; do
    program=${program%.c}
    "$cc" -std=c11 -Wall -Wextra -Werror -I"$source/include" "$program.c" -o "$program" -L"$build" -lreprise
    LD_LIBRARY_PATH=$build "./$program" "$program.reprise"
    "$build/cli/reprise" replay "$program.reprise" --threads 2 --isa ref
done
echo "documentation works"
