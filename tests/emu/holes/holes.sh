#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The command on a device that lacks kernels: exit code 5, the names, and no archive. Usage: holes.sh REPRISE
# REPRISE_WITH_HOLES SOURCE_DIR, with RP_EMULATED_LIBRARY naming the device.
set -euo pipefail
reprise=$1 holed=$2 source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0

# expect CODE TEXT COMMAND...
expect() {
    local code=$1 text=$2 got=0
    shift 2
    "$@" >log 2>&1 || got=$?
    if [ "$got" != "$code" ] || ! grep -qF -- "$text" log; then
        echo "FAIL: expected $code and \"$text\", found $got: $*"
        tail -5 log
        failed=$((failed + 1))
    fi
}

head -60 "$source/examples/loans.csv" | cut -d, -f2-13 >mine.csv
printf '%s\n' 'reprise: 1' 'seed: 1' 'data: {csv: mine.csv, target: default, positive: "yes"}' \
    'model: {hidden: [4]}' 'train: {epochs: 1, batch: 16, optimizer: {lr: 0.01}}' >mine.yaml
"$reprise" run mine.yaml -o cpu.reprise >log
on="--device emulated"
told='device emulated has no kernels for program 0: uniform f32; program 1: '

export RP_HOLES=uniform:f32,matmul:f32
expect 5 "$told" "$holed" run mine.yaml -o made.reprise $on
expect 5 'matmul f32' "$holed" run mine.yaml -o made.reprise $on
expect 5 "$told" "$holed" replay cpu.reprise $on
expect 5 'has no kernels for program 0: matmul f32' "$holed" predict cpu.reprise --csv mine.csv -o scores.csv $on
[ "$(ls | tr '\n' ' ')" = "cpu.reprise log mine.csv mine.yaml " ] || {
    echo "FAIL: left: $(ls)"
    failed=$((failed + 1))
}
expect 0 '' "$holed" run mine.yaml -o made.reprise # the processor lacks nothing
cmp made.reprise cpu.reprise || failed=$((failed + 1))
export RP_HOLES=cumsum:f32
expect 0 '' "$holed" replay cpu.reprise $on

[ "$failed" = 0 ] || exit 1
echo "what a device lacks is told before anything is computed"
