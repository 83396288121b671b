#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# reprise-verify says what `reprise` says: the same lines, the same errors, the same exit code. Asked are both, about
# every archive that the tests of the command line and the makers of hostile archives come upon (they run here with a
# command that asks both), about the corpus of the fuzz targets, the goldens, and archives with every header and many
# bodies damaged. Usage: tests/cli/same_verdicts.sh BUILD_DIR [SCRIPT...]     without SCRIPT: all of them
set -u
export LC_ALL=C
build=$(cd "$1" && pwd)
shift
source_dir=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export BOTH_REPRISE=$build/cli/reprise BOTH_VERIFIER=$build/cli/reprise-verify BOTH_LOG=$scratch/log
mkdir -p "$scratch/build/cli" "$BOTH_LOG"
# the scripts take other programs from the build directory too
for entry in "$build"/*; do
    [ "$(basename "$entry")" = cli ] || ln -s "$entry" "$scratch/build/"
done

cat >"$scratch/build/cli/reprise" <<'END'
#!/bin/bash
# Answers as reprise does; where reprise-verify has the command too, its answer must be the same.
case ${1-} in verify | inspect) ;; *) exec "$BOTH_REPRISE" "$@" ;; esac
for word in "$@"; do
    # a parent's last states may take a replay; a member is written to a file once; what stdin holds is read once
    case $word in --parent* | --programs | -o* | --out* | --help | -h | /dev/* | -) exec "$BOTH_REPRISE" "$@" ;; esac
done
one=$(mktemp -d "$BOTH_LOG/asked.XXXXXX") || exit 99
# Answers say the second in which they were given, and the next may begin between the two: what differs is asked again.
for attempt in 1 2 3; do
    "$BOTH_REPRISE" "$@" >"$one/out" 2>"$one/err"
    code=$?
    "$BOTH_VERIFIER" "$@" >"$one/out2" 2>"$one/err2"
    second=$?
    same=no
    [ $code -ne $second ] || ! cmp -s "$one/out" "$one/out2" || ! cmp -s "$one/err" "$one/err2" || same=yes
    [ $same = no ] || break
done
if [ $same = yes ]; then
    echo "$code $1" >>"$BOTH_LOG/same"
else
    { printf '%q ' "$@"; echo "exit $code, reprise-verify $second"
      diff "$one/out" "$one/out2"; diff "$one/err" "$one/err2"; } >>"$BOTH_LOG/different"
fi
rm -rf "$one"
exec "$BOTH_REPRISE" "$@"
END
chmod +x "$scratch/build/cli/reprise"
both=$scratch/build/cli/reprise

echo "== the command's own tests"
scripts=${*:-hostile cli_test cli_bad_input cli_log cli_statements cli_policy cli_timestamp cli_x509 cli_rotation}
failures=0
for script in $scripts; do
    if [ "$script" = hostile ]; then
        "$build/tests/hostile" "$both" >"$scratch/said" 2>&1
    else
        bash "$source_dir/tests/cli/$script.sh" "$scratch/build" >"$scratch/said" 2>&1
    fi
    code=$?
    # 77: something that the script needs is not here
    [ $code -eq 0 ] || [ $code -eq 77 ] || { echo "$script fails:"; tail -5 "$scratch/said"; failures=1; }
done

echo "== corpora"
cd "$scratch" || exit 1
"$BOTH_REPRISE" keygen me >/dev/null
"$BOTH_REPRISE" keygen you >/dev/null
printf '%s\n' 'policy: 1' 'groups: {builders: [me.pub.pem], committee: [you.pub.pem]}' 'builder: {of: builders}' \
    'approvals: {of: committee, count: 1}' >policy.yaml
ask() { # every way to ask about one archive
    "$both" verify "$1" --allow-unsigned
    "$both" verify "$1" --allow-unsigned --json
    "$both" verify "$1" --trust me.pub.pem
    "$both" verify "$1" --policy policy.yaml
    "$both" inspect "$1"
    "$both" inspect "$1" --json
    "$both" inspect "$1" --member run/journal.bin
} >/dev/null 2>&1
seed=
for archive in "$source_dir"/tests/fuzz/corpus/archive/* "$source_dir"/tests/fuzz/corpus/report/* \
    $(find "$source_dir/golden" -name '*.reprise' | sort); do
    ask "$archive"
    [[ $archive != *.reprise ]] || seed=$archive
done

echo "== what the library's tests make in memory"
mkdir kept
for test in test_verify test_flip test_statements test_oms; do
    RP_KEEP_ARCHIVES=$scratch/kept "$build/tests/$test" >"$scratch/said" 2>&1 || { echo "$test fails"; failures=1; }
done
[ "$(ls kept | wc -l)" -gt 50 ] || { echo "only $(ls kept | wc -l) archives were kept"; failures=1; }
number=0
for archive in kept/*.reprise; do
    [ $((number++ % ${EVERY:-1})) -eq 0 ] || continue
    [ ! -f "$archive.pem" ] || "$both" verify "$archive" --trust "$archive.pem" >/dev/null 2>&1
    "$both" verify "$archive" --allow-unsigned >/dev/null 2>&1
    "$both" inspect "$archive" --json >/dev/null 2>&1
done

echo "== damage"
# each bit of a byte here and there: every 509th, so that headers, paddings and bodies are hit; and cut off anywhere
cp "$seed" whole.reprise
"$BOTH_REPRISE" sign whole.reprise --key me.pem >/dev/null 2>&1
size=$(stat -c %s whole.reprise)
step=$(((size / ${DAMAGES:-60}) | 1))
for ((at = 0; at < size; at += step)); do
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
[ "$failures" -eq 0 ] && [ "$different" -eq 0 ] && [ "$same" -gt 500 ]
