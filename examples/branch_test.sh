#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The example's archive holds two programs, verifies, and is replayed by the command line alone, at another level and
# thread count. Usage: branch_test.sh BRANCH REPRISE
set -euo pipefail
branch=$1
reprise=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"$reprise" keygen key >/dev/null
"$branch" run.reprise key.pem | tee said
programs=$(tar -tf run.reprise | grep -c '^run/programs/')
[ "$programs" -eq 2 ] || { echo "expected 2 programs, found $programs"; exit 1; }
grep -qE ' ([1-9]|[1-5][0-9]) of them' said || { echo "expected both branches to be taken"; exit 1; }
"$reprise" verify run.reprise --trust key.pub.pem
for threads in 1 3; do
    "$reprise" replay run.reprise --threads $threads --isa ref
done
"$reprise" replay run.reprise --threads 2
id=$(sed -n 's/^archive //p' said)
"$reprise" inspect run.reprise | grep -q "$id"
