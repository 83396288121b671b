#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compiles one .cu to the PTX of compute_80, and that PTX to a fat binary: machine code of the chips named here, and
# the PTX itself for chips that come later. So what is tested as PTX is what all machine code was made of. sm_86 and
# sm_89 execute sm_80's code; only kernels whose speed is a design (tests/kernels/gpu/budgets.py) have other code there,
# sm_86's, which ptxas makes of it for sm_89 too, as it takes as long for each chip. The many kernels of the
# reference's text, which are there for what has no other, are assembled with less effort (-O1), in two thirds of the
# time. What was compiled once is kept by the digest of its preprocessed text, compiler and this script, for builds of
# other presets.
# CHIPS is ALL, or FIRST: kernels without a budget have machine code of the first chip alone, and later ones the PTX.
# Usage: scripts/gpu-compile.sh NVCC ROOT SOURCE OUT CACHE [CHIPS] (whole paths; makes OUT.ptx, OUT.fatbin and OUT.d)
set -euo pipefail
script=$(realpath "$0")
nvcc=$1 root=$2 source=$3 out=$4 cache=$5 which=${6:-ALL}
# Nothing contracted, flushed or approximate: the contract's operations are the source's.
flags=(-std=c++20 -O3 -fmad=false -ftz=false -prec-div=true -prec-sqrt=true "-I$root" "-I$root/include"
    -arch=compute_80 --Werror all-warnings)
chips=sm_80,sm_90,sm_100,sm_120,compute_80
assembler=()
case ${source##*/} in
matmul.cu | conv*.cu | winograd.cu | chain.cu) chips+=,sm_86 ;; # SHA-256's is sm_80's
reference.cu) assembler=(-Xptxas -O1) ;;
esac
case $which:${source##*/} in # ANY_STACK of tests/kernels/gpu/budgets.py
FIRST:reference.cu | FIRST:elementwise.cu | FIRST:moving.cu) chips=sm_80,compute_80 ;;
esac

# One pass of the preprocessor for the text and what it is made of: all that a build does whose kernels are kept. Names
# that hold a comma would be several of -Xcompiler's, so it writes in its folder.
made=${out##*/}
cd "${out%/*}"
key=$({ "$nvcc" --version && cat "$script" && echo "$chips" &&
    "$nvcc" "${flags[@]}" -E -Xcompiler "-P,-MD,-MF,$made.includes,-MT,it" "$source"; } | sha256sum | cut -c1-64)
{ printf '%s:' "$out.fatbin" && sed '1s/^it://' "$made.includes"; } >"$out.d"
rm "$made.includes"
if [ ! -e "$cache/$key.fatbin" ] || [ ! -e "$cache/$key.ptx" ]; then
    "$nvcc" "${flags[@]}" -ptx -o "$out.ptx" "$source"
    "$nvcc" -fatbin --compress-mode=size "${assembler[@]}" -gencode "arch=compute_80,code=[$chips]" \
        -o "$out.fatbin" "$out.ptx"
    mkdir -p "$cache"
    for kind in ptx fatbin; do # whole or not at all, whoever else does the same
        cp "$out.$kind" "$cache/$key.$kind.$$"
        mv "$cache/$key.$kind.$$" "$cache/$key.$kind"
    done
fi
cp "$cache/$key.ptx" "$out.ptx"
cp "$cache/$key.fatbin" "$out.fatbin"
