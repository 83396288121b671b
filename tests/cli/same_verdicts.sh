#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# reprise-verify says what `reprise` says: the same lines, the same errors, the same exit code. Asked are both
# (ask_both.c), about the archives that the makers of hostile ones come upon, the corpus of the fuzz targets, the
# archives that the library's tests make, and archives with every header and many bodies damaged. What the tests of the
# command line come upon is asked there (cli_lib.sh). Usage: tests/cli/same_verdicts.sh BUILD_DIR [short|corpora]
# short: no hostile ones, and of what tests make and what is damaged a third. corpora: nor what tests make, and two
# questions an archive: under sanitizers, where the tests and the fuzz targets have read the same archives already
set -u
export LC_ALL=C
build=$(cd "$1" && pwd)
short=${2:-}
every=${short:+3}
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
command=$build/tests/reprise_seldom # which starts in half of the time; a sanitized build has one command alone
[ -x "$command" ] || command=$build/cli/reprise
export BOTH_REPRISE=$command BOTH_VERIFIER=$build/cli/reprise-verify BOTH_LOG=$scratch/log
mkdir -p "$BOTH_LOG"
both=$build/tests/ask_both
failures=0

if [ -z "$short" ]; then
    echo "== hostile archives"
    "$build/tests/hostile" "$both" >"$scratch/said" 2>&1 || { cat "$scratch/said"; failures=1; }
fi

echo "== corpora"
cd "$scratch" || exit 1
"$BOTH_REPRISE" keygen me >/dev/null
"$BOTH_REPRISE" keygen you >/dev/null
printf '%s\n' 'policy: 1' 'groups: {builders: [me.pub.pem], committee: [you.pub.pem]}' 'builder: {of: builders}' \
    'approvals: {of: committee, count: 1}' >policy.yaml
ask() { # every way to ask about one archive
    "$both" verify "$1" --policy policy.yaml
    "$both" inspect "$1" --json
    [ "$short" != corpora ] || return
    "$both" verify "$1" --allow-unsigned
    "$both" verify "$1" --allow-unsigned --json
    "$both" verify "$1" --trust me.pub.pem
    "$both" inspect "$1"
    "$both" inspect "$1" --member run/journal.bin
} >/dev/null 2>&1
seed=
for archive in "$source_dir"/tests/fuzz/corpus/archive/* "$source_dir"/tests/fuzz/corpus/report/* \
    $(find "$source_dir/golden" -name '*.reprise' | sort); do
    ask "$archive"
    [[ $archive != *.reprise ]] || seed=$archive
done

asks_of_tests() {
    mkdir kept
    for test in test_verify test_flip test_statements test_oms; do
        RP_KEEP_ARCHIVES=$scratch/kept "$build/tests/$test" >"$scratch/said" 2>&1 || { echo "$test fails"; failures=1; }
    done
    [ "$(ls kept | wc -l)" -gt 50 ] || { echo "only $(ls kept | wc -l) archives were kept"; failures=1; }
    number=0
    for archive in kept/*.reprise; do
        [ $((number++ % ${every:-1})) -eq 0 ] || continue
        [ ! -f "$archive.pem" ] || "$both" verify "$archive" --trust "$archive.pem" >/dev/null 2>&1
        "$both" verify "$archive" --allow-unsigned >/dev/null 2>&1
        "$both" inspect "$archive" --json >/dev/null 2>&1
    done
}
if [ "$short" != corpora ]; then
    echo "== what the library's tests make in memory"
    asks_of_tests
fi

echo "== damage"
# each bit of a byte here and there: every 509th, so that headers, paddings and bodies are hit; and cut off anywhere
cp "$seed" whole.reprise
"$BOTH_REPRISE" sign whole.reprise --key me.pem >/dev/null 2>&1
size=$(stat -c %s whole.reprise)
step=$(((size / 60) | 1))
for ((at = 0; at < size; at += step * ${every:-1})); do
    cp whole.reprise damaged.reprise
    byte=$(od -An -tu1 -j $at -N 1 whole.reprise)
    printf "\\x$(printf %02x $((byte ^ (1 << (at % 8)))))" |
        dd of=damaged.reprise bs=1 seek=$at conv=notrunc status=none
    "$both" verify damaged.reprise --trust me.pub.pem >/dev/null 2>&1
    "$both" inspect damaged.reprise >/dev/null 2>&1
    head -c $at whole.reprise >cut.reprise
    "$both" verify cut.reprise --trust me.pub.pem >/dev/null 2>&1
done

echo "== what it does not do"
refuses() { # exit code, word of the error, arguments
    local expected=$1 word=$2 code
    shift 2
    "$BOTH_VERIFIER" "$@" >out 2>err
    code=$?
    [ $code -eq "$expected" ] && [ ! -s out ] && grep -q "$word" err && return
    echo "reprise-verify $*: exit $code, expected $expected and \"$word\":"
    cat out err
    failures=1
}
refuses 5 "computes nothing" verify whole.reprise --trust me.pub.pem --parent whole.reprise
refuses 5 "computes nothing" inspect whole.reprise --programs
refuses 2 "unknown command run" run small.yaml
refuses 2 "unknown command replay" replay whole.reprise
refuses 2 "no command" # and no arguments
"$BOTH_VERIFIER" help >out
[ "$(grep -cE '^  (verify|inspect|run|replay|sign|keygen) ' out)" -eq 2 ] ||
    { echo "its help lists other commands than verify and inspect"; cat out; failures=1; }

same=$(wc -l <"$BOTH_LOG/same")
different=$([ -f "$BOTH_LOG/different" ] && grep -c "reprise-verify" "$BOTH_LOG/different" || echo 0)
echo "$same answers are the same:"
sort "$BOTH_LOG/same" | uniq -c | sed 's/^/  times, exit code, command: /'
if [ "$different" -ne 0 ]; then
    echo "$different differ:"
    head -40 "$BOTH_LOG/different"
fi
# a comparison of nothing proves nothing
[ "$failures" -eq 0 ] && [ "$different" -eq 0 ] && [ "$same" -gt "$([ "$short" = corpora ] && echo 200 || echo 500)" ]
