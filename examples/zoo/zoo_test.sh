#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A model of the zoo trains (its own bound on the loss), is replayed by the command on another number of threads, gives
# the same bytes when it is killed on the way and goes on, and has the archive id of golden/zoo.txt.
# Usage: zoo_test.sh PROGRAM REPRISE SAVED GOLDENS, SAVED a training step behind which it has saved once.
set -euo pipefail
program=$1
reprise=$2
saved=$3
goldens=$4
name=$(basename "$program")
name=${name#zoo_}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"$program" whole.reprise | tee said
id=$(sed -n 's/^archive //p' said)
grep -qx "$id  $name" "$goldens" || { echo "$name: archive $id is not the one in golden/zoo.txt"; exit 1; }

killed=0
{ "$program" again.reprise "$saved" >/dev/null; } 2>/dev/null || killed=$?
[ "$killed" -eq 137 ] || { echo "$name: expected to be killed, exit $killed"; exit 1; }
steps=$("$reprise" inspect again.reprise --json | grep -o '"steps":[0-9]*' | head -1)
"$program" again.reprise >rest
grep -q "^steps 1 to" rest && { echo "$name: began anew instead of going on behind $steps"; exit 1; }
cmp whole.reprise again.reprise || { echo "$name: killed and resumed it has another archive"; exit 1; }
"$reprise" replay whole.reprise --threads 3
