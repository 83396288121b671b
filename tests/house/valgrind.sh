#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Run, verify, replay, diff and predict under Valgrind's memcheck, and the quick test programs: no error, no leak.
# Usage: valgrind.sh SOURCE_DIR BUILD_DIR. Exit 77 (skipped) without valgrind.
set -euo pipefail
source=$1
build=$2
command -v valgrind >/dev/null || { echo "skipped: no valgrind"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
memcheck() {
    valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect,possible "$@" \
        >"$work/out" 2>"$work/err" ||
        { code=$?; echo "failed with $code: $*"; tail -n 40 "$work/out"; tail -n 40 "$work/err"; exit 1; }
    echo "clean: ${*##*/}"
}
reprise=$build/cli/reprise
memcheck "$reprise" keygen "$work/key"
# Under Valgrind's emulation the conformance vectors of binary64 products do not hold; memory alone is asked here.
memcheck "$reprise" run "$source/golden/small.yaml" -o "$work/a.reprise" --key "$work/key.pem" --threads 2 \
    --allow-nonconforming
memcheck "$reprise" verify "$work/a.reprise" --trust "$work/key.pub.pem"
memcheck "$reprise" replay "$work/a.reprise" --threads 3 --isa ref --allow-nonconforming
memcheck "$reprise" replay "$source/golden/branch.reprise" --allow-nonconforming
memcheck "$reprise" predict "$work/a.reprise" --csv "$source/golden/small.csv" -o "$work/predicted.csv"
memcheck "$reprise" inspect "$work/a.reprise"
sed 's/lr: 0.01/lr: 0.02/' "$source/golden/small.yaml" >"$work/b.yaml"
cp "$source/golden/small.csv" "$work/"
memcheck "$reprise" run "$work/b.yaml" -o "$work/b.reprise"
# diff exits 3 when the archives differ
code=0
valgrind -q --error-exitcode=99 --leak-check=full "$reprise" diff "$work/a.reprise" "$work/b.reprise" >"$work/out" \
    2>"$work/err" || code=$?
[ $code -eq 3 ] || { echo "diff: expected 3, found $code"; cat "$work/err"; exit 1; }
# (not test_fpenv: Valgrind does not model flush-to-zero)
for name in test_recipe test_table test_dataset test_dataset_cells test_metrics test_philox test_safetensors \
    test_archive test_bits; do
    memcheck "$build/tests/$name"
done
