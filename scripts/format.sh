#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Lays out the C sources by .clang-format. Usage: scripts/format.sh [check]; check only names what would change, and lines of
# shell and text over the width. Tables that programs write keep the layout that their programs give them.
set -eu
cd "$(dirname "$0")/.."
width=120
generated='^kernels/conformance/conformance_table\.h$|^kernels/cpu/functions/fast_tables\.h$|^determinism/two_over_pi\.h$'
formatter=$(command -v clang-format-14 || command -v clang-format) || { echo "format: clang-format is not installed" >&2; exit 77; }
sources() { git ls-files '*.c' '*.h' | grep -vE "$generated"; }

if [ "${1:-}" != check ]; then
    sources | xargs -P "$(nproc)" -n 20 "$formatter" -i
    exit 0
fi
failed=0
sources | xargs -P "$(nproc)" -n 20 "$formatter" --dry-run --Werror 2>&1 | grep -E 'error:' | cut -d: -f1 | sort -u |
    sed 's/$/: not laid out by .clang-format: scripts\/format.sh/' | grep . && failed=1
wide=$(git ls-files '*.c' '*.h' '*.def' '*.sh' '*.cmake' '*CMakeLists.txt' check demo | grep -vE "$generated" | xargs awk -v w=$width \
    'length > w { print FILENAME ":" FNR ": " length " columns, the width is " w }')
[ -z "$wide" ] || { printf '%s\n' "$wide"; failed=1; }
exit $failed
