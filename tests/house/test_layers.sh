#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A layer cannot include upwards: with the include path that the build gives a layer, a line that includes one of its
# own headers compiles, and so does one of each layer below; a header of any layer above does not. Usage: test_layers.sh
# COMPILER LAYER=DIR:DIR...   (from the lowest layer to the highest)
set -u
compiler=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
declare -A header=([base]=base/memory.h [determinism]=determinism/bits.h [kernels]=kernels/kernel.h \
    [core]=core/recipe/recipe.h
    [verify]=audit/digest/digest.h [audit]=audit/record/recorder.h [cli]=cli/options.h)
layers=()
failures=0

compiles() { # include path, header
    local flags=()
    IFS=: read -r -a folders <<<"$1"
    for folder in "${folders[@]}"; do
        flags+=("-I$folder")
    done
    printf '#include "%s"\nextern int one_line;\n' "$2" >"$work/one.c"
    "$compiler" -std=c11 -D_POSIX_C_SOURCE=200809L "${flags[@]}" -c "$work/one.c" -o "$work/one.o" 2>"$work/log"
}

bad() {
    echo "FAIL: $*"
    sed 's/^/  /' "$work/log" | head -3
    failures=$((failures + 1))
}

for argument in "$@"; do
    layers+=("${argument%%=*}")
done
checks=0
for argument in "$@"; do
    layer=${argument%%=*}
    above=
    for other in "${layers[@]}"; do
        checks=$((checks + 1))
        # The command is above all, but sees only the public headers and base.
        # What verifies stands beside kernels and core and sees neither; recorder.h lies in its folder, but needs core.
        if [ -n "$above" ] ||
            [[ $layer/$other =~ ^(cli/(determinism|kernels|core|verify|audit)|verify/(kernels|core))$ ]]; then
            missing=${header[$other]}
            [ "$layer/$other" != verify/audit ] || missing=core/
            ! compiles "${argument#*=}" "${header[$other]}" || bad \
                "$layer includes ${header[$other]}, which is above it"
            grep -q "$missing.*\(No such file\|not found\)" "$work/log" ||
                bad "$layer: ${header[$other]} is refused, but not for being out of sight"
        else
            compiles "${argument#*=}" "${header[$other]}" || bad "$layer cannot include ${header[$other]}"
        fi
        [ "$other" != "$layer" ] || above=yes
    done
    # public headers belong to layers too: the lowest layer must not see the highest's
    if [ "$layer" != audit ] && [ "$layer" != cli ]; then
        ! compiles "${argument#*=}" rp/audit.h || bad "$layer includes rp/audit.h"
    fi
done
echo "$checks pairs of layers, $failures failed"
[ "$checks" -eq 49 ] && [ "$failures" -eq 0 ]
