#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Is anything slower than it was? Runs every benchmark of two built trees in turn, on the same processor, and prints the
# ratio of each row, new time over old: the median over the rounds of the ratio within a round.
#
#   bench/paired.sh BASE NEW [ROUNDS]     # source folders with build/release; 3 rounds
#
# First come figures that no noise moves: instructions of the processor for a training step and for a whole run, counted
# by valgrind at level avx2, and which functions of the kernels have other code than before. PARTS names what is run
# (code count and the benchmarks' names), FOLDER where the outputs go. A row over 1.03 has a mark.
set -eu
cd "$(dirname "$0")/.."
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE RP_ISA
base=$(cd "$1" && pwd)
new=$(cd "$2" && pwd)
rounds=${3:-3}
folder=${FOLDER:-$(mktemp -d)}
all="code count steps functions gemm conv winograd bandwidth verify checkpoint recording overhead"
all="$all functions_bivariate eager planning regions json hashing"
parts=${PARTS:-$all}
here=$(pwd)

has() { case " $parts " in *" $1 "*) ;; *) return 1 ;; esac; }
pair() { # name, arguments: both trees in turn
    local name=$1
    shift
    has "$name" || return 0
    for tree in "$base" "$new"; do
        [ -x "$tree/build/release/bench/$name" ] || { echo "$name: $tree has none" >&2; return 0; }
    done
    for round in $(seq "$rounds"); do # who begins changes
        for side in $([ $((round % 2)) = 1 ] && echo base new || echo new base); do
            tree=$base
            [ $side = base ] || tree=$new
            (cd "$tree" && taskset -c "${CORE:-1}" "build/release/bench/$name" "$@") \
                >"$folder/$name${1:+.${1//\//_}}.$side.$round" 2>/dev/null
        done
    done
}
count() { # label, function whose calls are counted (none: all), command in the tree
    local label=$1 function=$2
    shift 2
    for side in base new; do
        tree=$base
        [ $side = base ] || tree=$new
        (cd "$tree" && RP_ISA=avx2 valgrind --tool=callgrind ${function:+--toggle-collect=$function} \
            --callgrind-out-file="$folder/count.$side" "$@") >/dev/null 2>&1
        calls=1
        [ -z "$function" ] || calls=$(python3 "$here/bench/paired.py" calls "$folder/count.$side" "$function")
        awk -v n="$calls" '/^(summary|totals):/ { print $2 / n; exit }' "$folder/count.$side" >"$folder/ir.$side"
    done
    paste "$folder/ir.base" "$folder/ir.new" |
        awk -v what="$label" '{ mark = $2 > 1.03 * $1 ? "  <" : ""
            printf "%-44s %14.0f %14.0f  %.4f%s\n", what, $1, $2, $2 / $1, mark }'
}

if has code; then
    python3 bench/paired.py code "$base" "$new"
fi
if has count; then
    printf '\n%-44s %14s %14s  ratio\n' "instructions at avx2" old new
    count "step 61-64-2 GELU, the plan" rp_plan_run_settling build/release/bench/steps gelu 1
    count "loans.yaml, whole job" "" build/release/cli/reprise run examples/loans.yaml --no-record --threads 1
fi
pair steps gelu 1
pair steps mlp 1
pair functions 31
pair gemm --rounds 1 --threads 1
pair conv --threads 1 --rounds 1 --block 1
pair winograd --rounds 1 --block 1
pair bandwidth --threads 1 --rounds 5
pair verify 512 16
pair checkpoint /dev/shm
pair recording
pair overhead 1
pair functions_bivariate 31
pair eager
pair planning
pair regions
pair json
pair hashing 96 15
python3 bench/paired.py table "$folder" "$rounds"
