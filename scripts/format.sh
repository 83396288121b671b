#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Lays out the C sources by .clang-format. Usage: scripts/format.sh [check]; check only names what would change, and
# lines of C, CUDA, shell and CMake over the width. Tables that programs write keep the layout that these give them.
# Exit 77 where clang-format 14 is not installed: other versions lay out otherwise; and outside a git checkout.
set -eu
cd "$(dirname "$0")/.."
width=120
generated='^(kernels/(conformance/conformance_table|cpu/functions/fast_tables)|determinism/tables/two_over_pi)\.h$'
formatter=$(command -v clang-format-14 || command -v clang-format || true)
case $("${formatter:-false}" --version 2>/dev/null || true) in
*' version 14.'*) ;;
*)
    echo "format: clang-format 14 is not installed" >&2
    exit 77
    ;;
esac
git ls-files --error-unmatch scripts/format.sh >/dev/null 2>&1 || { echo "format: not a git checkout" >&2; exit 77; }
# The names of files that would change. Each group of files has a sed of its own, which writes whole lines: what
# several formatters say at once would mix.
unlike() {
    git ls-files '*.c' '*.h' | grep -vE "$generated" | xargs -P "$(nproc)" -n 40 sh -c '
        "$0" --dry-run --Werror "$@" 2>&1 | sed -n "s/^\([^: ]*\):[0-9]*:[0-9]*: error: .*/\1/p" | sort -u
        ' "$formatter" | sort
}

if [ "${1:-}" != check ]; then
    # A list of macros without semicolons takes clang-format several turns.
    for turn in 1 2 3 4 5 6 7 8; do
        changed=$(unlike)
        [ -n "$changed" ] || exit 0
        printf '%s\n' "$changed" | xargs "$formatter" -i
    done
    printf '%s: not settled after %d turns; name its macro in StatementMacros of .clang-format\n' "$changed" "$turn" >&2
    exit 1
fi
failed=0
unlike | sed 's|$|: not laid out by .clang-format: scripts/format.sh|' | grep . && failed=1
wide=$(git ls-files '*.c' '*.h' '*.cu' '*.def' '*.sh' '*.cmake' '*CMakeLists.txt' check demo | grep -vE "$generated" |
    xargs awk -v w=$width 'length > w { print FILENAME ":" FNR ": " length " columns, the width is " w }')
[ -z "$wide" ] || { printf '%s\n' "$wide"; failed=1; }
exit $failed
