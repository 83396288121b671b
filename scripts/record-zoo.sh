#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints golden/zoo.txt: the archive id of each model of examples/zoo. Usage: scripts/record-zoo.sh BUILD_DIR, whose
# zoo_* are built.
set -eu
[ $# -eq 1 ] || { echo "usage: scripts/record-zoo.sh BUILD_DIR" >&2; exit 2; }
build=$(cd "$1" && pwd)
models=$(cd "$(dirname "$0")/../examples/zoo" && ls ./*.c | sed 's|./\(.*\)\.c|\1|')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for model in $models; do
    "$build/examples/zoo_$model" "$work/$model.reprise" >"$work/said"
    echo "$(sed -n 's/^archive //p' "$work/said")  $model"
done
