#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tables from files, from standard input, and packed by gzip and zstd: the archive is the same byte for byte, and what
# is damaged, or unpacks to more than a table would, is an error in little memory. Usage: input.sh BUILD_DIR
set -euo pipefail
build=$(cd "$1" && pwd)
reprise=$build/cli/reprise
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "FAILED: $*" >&2; exit 1; }
# refused CODE WORDS COMMAND...: exits so, stderr has the words
refused() {
    local code=$1 words=$2 got=0
    shift 2
    "$@" >out 2>err || got=$?
    [ "$got" = "$code" ] || fail "$*: exit $got, expected $code: $(cat err)"
    grep -qF -- "$words" err || fail "$*: expected \"$words\", found: $(cat err)"
}

printf 'a,y\n1,no\n2,yes\n3,no\n4,yes\n' >t.csv
gzip -kn t.csv
base64 -d >t.csv.zst <<<'KLUv/SQa0QAAYSx5CjEsbm8KMix5ZXMKMyxubwo0LHllcwr8+rU3'
recipe() { printf 'reprise: 1\ndata: {csv: "%s", target: y, train_on_all: true}\n' "$1" >r.yaml; }

# one archive, whatever the bytes came through; it holds the plain ones
recipe t.csv && "$reprise" run r.yaml -o plain.reprise >/dev/null
for packed in t.csv.gz t.csv.zst; do
    recipe "$packed" && "$reprise" run r.yaml -o packed.reprise --force >/dev/null
    cmp packed.reprise plain.reprise || fail "$packed: another archive"
    recipe - && "$reprise" run r.yaml -o packed.reprise --force <"$packed" >/dev/null
    cmp packed.reprise plain.reprise || fail "$packed through a pipe: another archive"
done
"$reprise" inspect plain.reprise --member data/raw.csv | cmp - t.csv || fail "data/raw.csv is not the plain bytes"

# every command that reads rows
"$reprise" predict plain.reprise --csv t.csv -o one.csv >/dev/null
"$reprise" predict plain.reprise --csv - -o - <t.csv.gz 2>/dev/null |
    cmp - one.csv || fail "predict from standard input"
for command in validate monitor; do
    "$reprise" $command plain.reprise --csv t.csv -o one.json --force >/dev/null 2>&1
    "$reprise" $command plain.reprise --csv - -o two.json --force <t.csv.zst >/dev/null 2>&1
    cmp one.json two.json || fail "$command from standard input: another statement"
done
"$reprise" data t.csv.gz | tail -n +2 >one
"$reprise" data - <t.csv | tail -n +2 | cmp - one || fail "data from standard input"
printf 'a,y\n1,no\n2\n' >ragged.csv
refused 1 "standard input:3" "$reprise" predict plain.reprise --csv - -o - <ragged.csv

# damaged: every third byte of the packed file in turn is another, and every third length too short; none is read as
# another table
for packed in t.csv.gz t.csv.zst; do
    size=$(stat -c %s $packed)
    for ((i = 0; i < size; i += 3)); do
        head -c $i $packed >short
        byte=$((0x$(od -An -tx1 -j$i -N1 $packed | tr -d ' ') ^ 0x21))
        { cat short; printf "\\x$(printf %02x $byte)"; tail -c +$((i + 2)) $packed; } >damaged
        for file in short damaged; do
            if "$reprise" data $file >got 2>err; then
                tail -n +2 got | cmp -s - one || fail "$packed, $file at byte $i: read as another table"
            fi
        done
    done
    head -c $((size - 1)) $packed >short
    if "$reprise" data short >/dev/null 2>&1; then fail "$packed: read without its last byte"; fi
done
cat t.csv.gz t.csv.gz >two.gz
refused 1 "several ones in one" "$reprise" data two.gz
gzip -c t.csv.gz >twice.gz
refused 1 "twice.gz: what is packed in it is packed itself; unpack it once" "$reprise" data twice.gz
: >nothing
gzip -c nothing >nothing.gz
refused 1 "nothing.gz: nothing is packed in it; expected rows of cells" "$reprise" data nothing.gz
refused 1 "standard input: nothing is packed in it" "$reprise" data - <nothing.gz
if command -v zstd >/dev/null; then
    zstd -q -c nothing >nothing.zst
    refused 1 "nothing.zst: nothing is packed in it" "$reprise" data nothing.zst
    zstd -q -c t.csv.gz >both.zst
    refused 1 "both.zst" "$reprise" data both.zst
fi

# a bomb: 40 MB in 40 kB
{ printf 'a,b\n'; head -c 40000000 /dev/zero | tr '\0' '1'; } | gzip -9 >bomb.gz
# a sanitized program asks for more memory than there is
bounded=(ulimit -v $((1024 * 1024)))
("${bounded[@]}" && "$reprise" --version >/dev/null 2>&1) || bounded=(true)
("${bounded[@]}"; refused 1 "unpacks to more than 100 times" "$reprise" data bomb.gz)
mkfifo pipe
refused 1 "not a regular file" "$reprise" data pipe
