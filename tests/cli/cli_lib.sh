# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the tests of the command line: a scratch folder, checks that count, small data. Sourced with the build directory
# as first argument; sets $reprise, $source_dir and leaves the shell in the scratch folder. With RP_ASK_BOTH=1 each
# question that reprise-verify can answer is put to it too, and its answer must be the same (ask_both.c). RP_COMMAND
# names another command than the build's.
set -u
export LC_ALL=C
unset RP_ISA NO_COLOR
shopt -s lastpipe # `... | check` counts in this shell

build=$(cd "$1" && pwd)
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
reprise=${RP_COMMAND:-$build/cli/reprise}
scratch=$(mktemp -d)
work=$scratch/work
log=$scratch/log
mkdir "$work" "$log"
cd "$work" || exit 1
if [ -n "${RP_ASK_BOTH:-}" ]; then
    export BOTH_REPRISE=$reprise BOTH_VERIFIER=$build/cli/reprise-verify BOTH_LOG=$scratch/both
    mkdir "$BOTH_LOG"
    reprise=$build/tests/ask_both
fi
checks=0
failures=0
unmount=

clean_up() {
    cd /
    [ -z "$unmount" ] || umount "$unmount"
    rm -rf "$scratch"
}
trap clean_up EXIT

bad() { # what...: reports a failed check with the outputs of the last command
    failures=$((failures + 1))
    echo "FAIL: $*"
    sed 's/^/  stdout: /' "$log/out" | head -5
    sed 's/^/  stderr: /' "$log/err" | head -5
}

skip() { echo "SKIP: $*"; }

# Everything in the folder, with the contents of files, in an order that stays while the folder does.
snapshot() { find . -printf '%M %n %u %g %s %p %l\n' -type f -exec cksum {} +; }

unchanged() { cmp -s "$log/before" "$log/after" || cmp -s <(sort "$log/before") <(sort "$log/after"); }

# Runs a command; its outputs are in $log/out and $log/err, its exit code in $code.
attempt() {
    code=0
    timeout 120 "$@" >"$log/out" 2>"$log/err" </dev/null || code=$?
}

# fails CODE PATTERN COMMAND...: this exit code (a glob, such as [12]), one line on stderr that matches, nothing on
# stdout, no file touched.
fails() {
    local expected=$1 pattern=$2
    shift 2
    snapshot >"$log/before" 2>/dev/null
    attempt "$@"
    snapshot >"$log/after" 2>/dev/null
    checks=$((checks + 1))
    # shellcheck disable=SC2053
    if [[ $code != $expected ]]; then
        bad "exit $code, expected $expected: $*"
    elif [ "$(wc -l <"$log/err")" -ne 1 ] || [ -n "$(tail -c1 "$log/err")" ]; then
        bad "$(wc -l <"$log/err") lines on stderr, expected 1: $*"
    elif ! grep -q '^reprise: ' "$log/err" || ! grep -Eq -- "$pattern" "$log/err"; then
        bad "stderr does not match '$pattern': $*"
    elif [ -s "$log/out" ]; then
        bad "something on stdout: $*"
    elif ! unchanged; then
        bad "files were changed: $* ($(diff "$log/before" "$log/after" | head -3 | tr '\n' ' '))"
    fi
}

# works PATTERN COMMAND...: exit 0, stdout matches, nothing on stderr.
works() { gives 0 "$@"; }

# gives CODE PATTERN COMMAND...: this exit code and stdout matches; with code 0 also nothing on stderr.
gives() {
    local expected=$1 pattern=$2
    shift 2
    attempt "$@"
    checks=$((checks + 1))
    if [ "$code" -ne "$expected" ]; then
        bad "exit $code, expected $expected: $*"
    elif ! grep -Eq -- "$pattern" "$log/out"; then
        bad "stdout does not match '$pattern': $*"
    elif [ "$expected" -eq 0 ] && [ -s "$log/err" ]; then
        bad "something on stderr: $*"
    fi
}

holds() { # what, COMMAND...
    local what=$1
    shift
    checks=$((checks + 1))
    "$@" >"$log/more" 2>&1 || { sed "s/^/  /" "$log/more" | head -5; bad "$what"; }
}

finish() {
    if [ -n "${RP_ASK_BOTH:-}" ]; then
        echo "$(wc -l <"$BOTH_LOG/same") answers of reprise-verify are the same"
        holds "reprise-verify was asked" test -s "$BOTH_LOG/same"
        holds "and gave the same answers" sh -c '[ ! -e "$0" ] || { cat "$0"; false; }' "$BOTH_LOG/different"
    fi
    echo "$checks checks, $failures failed"
    [ "$failures" -eq 0 ]
}

# rows NUMBER: a CSV with a numeric, a categorical and a two-class column, in which x and kind say something about y.
rows() {
    awk -v n="$1" 'BEGIN {
        print "id,x,kind,y"
        s = 12345
        for (i = 0; i < n; i++) {
            s = (s * 1103515245 + 12345) % 2147483648; x = int(s / 65536) % 1000
            s = (s * 1103515245 + 12345) % 2147483648; k = int(s / 65536) % 3
            s = (s * 1103515245 + 12345) % 2147483648; e = int(s / 65536) % 600
            y = x + 200 * k + e > 1000 ? "yes" : "no"
            printf "%d,%d.%d,%s,%s\n", i, x / 10, x % 10, substr("abc", k + 1, 1), y
        }
    }'
}

# recipe FILE [CSV] [EPOCHS] [further lines under train]
recipe() {
    cat >"$1" <<EOF
reprise: 1
name: Small test
seed: 3
data:
  csv: ${2:-data.csv}
  target: y
  positive: "yes"
  columns: {id: ignore}
model:
  hidden: [4]
train:
  epochs: ${3:-2}
  batch: 16
${4:-}
EOF
}
