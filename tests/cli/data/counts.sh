#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Counts of successes out of trials from end to end: replay on other threads and kernels, rows without a target or
# without trials, later rows with the columns, without them and with impossible cells. Usage: counts.sh BUILD_DIR
set -euo pipefail
build=$(cd "$1" && pwd)
reprise=$build/cli/reprise
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "FAILED: $*" >&2; exit 1; }
has() { grep -qF -- "$2" "$1" || fail "$1 lacks \"$2\": $(head -c 3000 "$1")"; }
refuses() { # WORDS ARGUMENTS: exit code 1 or 4, and the words
    local words=$1 code=0
    shift
    "$reprise" "$@" >out 2>err || code=$?
    [ $code -eq 4 ] || [ $code -eq 1 ] || fail "$*: exit code $code: $(cat err)"
    has err "$words"
}

awk 'BEGIN { print "x,g,n,y"; for (i = 0; i < 200; i++) { n = (i * 7) % 23
    print i % 17 "," (i % 3 ? "u" : "v") "," n "," int(n * ((i % 17) + (i % 3)) / 20) } }' >t.csv
cat >r.yaml <<'R'
reprise: 1
data: {csv: t.csv, target: y, denominator: n, missing_target: drop}
train: {task: regression, family: binomial, l2: 0}
R
"$reprise" run r.yaml -o a.reprise >out 2>&1 || fail "run: $(cat out)"
has out "9 of 200 rows are left out by data.missing_target: drop"
for isa in ref sse2; do
    for threads in 1 3; do
        "$reprise" replay a.reprise --isa $isa --threads $threads >out 2>&1 || fail "replay: $(cat out)"
    done
done
sed 's/, missing_target: drop//' r.yaml >s.yaml
refuses "denominator column \"n\": expected trials" run s.yaml -o b.reprise

"$reprise" inspect a.reprise --member outputs/coefficients.json >c
for key in '"family":"binomial"' '"link":"logit"' '"pearson_dispersion":' '"odds":' '"rows":152'; do has c "$key"; done
"$reprise" report a.reprise -o a.html >/dev/null
has a.html "A logistic regression of counts"
has a.html "in the trials of <bdi>n</bdi>"

# Scores are proportions, and need no trials.
"$reprise" predict a.reprise --csv t.csv --id n,y -o p.csv >/dev/null
awk -F, 'NR > 1 && !($4 > 0 && $4 < 1) { exit 1 }' p.csv || fail "a proportion: $(head -3 p.csv)"
cut -d, -f1,2 t.csv >x.csv
"$reprise" predict a.reprise --csv x.csv -o q.csv >/dev/null
cut -d, -f1,4 p.csv | cmp - q.csv || fail "the trials changed a score"

# Outcomes are known where there are trials; both columns must be there, and hold counts.
"$reprise" validate a.reprise --csv t.csv -o v.json >out
has out "of which 9 without an outcome"
"$reprise" validate a.reprise --csv t.csv --check v.json >/dev/null
cut -d, -f1,2,4 t.csv >no_trials.csv
refuses "expected the column \"n\"" validate a.reprise --csv no_trials.csv -o w.json
sed '5s/[0-9]*$/99/' t.csv >more.csv
refuses "more.csv:5: target column \"y\": expected a whole number from 0 to the row's trials, 21, found \"99\"" \
    validate a.reprise --csv more.csv -o w.json
sed '7s/,[0-9]*,\([0-9]*\)$/,1.5,\1/' t.csv >half.csv
refuses "half.csv:7: denominator column \"n\": expected a whole number" \
    monitor a.reprise --csv half.csv --period p -o w.json
"$reprise" monitor a.reprise --csv t.csv --period p -o m.json >/dev/null || fail "monitor"
"$reprise" monitor a.reprise --csv x.csv --period p -o n.json >/dev/null || fail "monitor without outcomes"

# Numbers instead of names, retrained under names.
tail -n +2 t.csv >h.csv
cat >h.yaml <<'R'
reprise: 1
data: {csv: h.csv, header: false, target: 3, denominator: 2, missing_target: drop}
train: {task: regression, family: binomial, l2: 0}
R
"$reprise" run h.yaml -o h.reprise >/dev/null 2>&1 || fail "a table without header"
"$reprise" validate h.reprise --csv h.csv -o w.json >out
has out "of which 9 without an outcome"
"$reprise" retrain a.reprise --csv t.csv -o child.reprise >out 2>&1 || fail "retrain: $(cat out)"
"$reprise" inspect child.reprise --member run/recipe.json >recipe
has recipe '"denominator":"n"'
sed '1s/n/trials/' t.csv >renamed.csv
refuses "expected a column \"n\"" retrain a.reprise --csv renamed.csv -o w.reprise
