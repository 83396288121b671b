#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Statements of figures in the archive, and the clauses of policies on them: each as someone would try it whose model is
# not good enough. Usage: policy_figures.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/../cli_lib.sh"
examples=$source_dir/examples
forge() { python3 "$source_dir/tests/cli/validate/forge.py" "$@"; }

head -1501 "$examples/loans.csv" >loans.csv
head -1 loans.csv >new.csv
sed -n '4000,4599p' "$examples/loans.csv" >>new.csv
awk -F, -v OFS=, 'NR > 1 { $3 = $3 * 3 } { print }' new.csv >shifted.csv
for who in builder validator modeller; do "$reprise" keygen $who >/dev/null; done
recipe() { # FILE, SECTION
    printf '%s\n' 'reprise: 1' 'name: figures' 'seed: 3' 'data: {csv: loans.csv, target: default, test: 0.2,' \
        '  columns: {loan_id: ignore}}' 'train: {task: classification}' "$2" >"$1"
}
recipe a.yaml 'validation: {by: [region, "age:3"], groups: [home, region], favourable: "no", threshold: 0.25}'
recipe blind.yaml 'validation: {by: [region]}'
run() { "$reprise" run "$1.yaml" -o "$2.reprise" --key builder.pem --force >/dev/null 2>&1; }
run a a
run blind blind
policy() { # FILE, CLAUSES...
    local file=$1
    shift
    printf '%s\n' 'policy: 1' 'groups: {builders: [builder.pub.pem], validators: [validator.pub.pem]}' \
        'builder: {of: builders}' "$@" >"$file"
}
# unmet WORDS ARCHIVE CLAUSE..., met ARCHIVE CLAUSE...
unmet() {
    local words=$1 archive=$2
    shift 2
    policy p.yaml "$@"
    gives 4 "^unmet .*$words" "$reprise" verify "$archive" --policy p.yaml
}
met() {
    local archive=$1
    shift
    policy p.yaml "$@"
    works "^verified" "$reprise" verify "$archive" --policy p.yaml
}

# ---- the run's own figures ----
met a.reprise 'metrics: {of: auc, at_least: 0.6, gap: 0.2}' \
    'slices: {column: region, of: discrimination.auc, at_least: 0.5}' \
    'selection: {column: home, favourable: "no", threshold: 0.25, ratio: 0.5}'
unmet "worst of .* parts: .* with 0" a.reprise 'slices: {column: "age:3", of: discrimination.auc, at_least: 0.99}'
unmet "the run: ratio 0" a.reprise 'selection: {column: home, favourable: "no", threshold: 0.25, ratio: 0.99}'
unmet "difference 0" a.reprise 'selection: {column: home, favourable: "no", threshold: 0.25, difference: 0.001}'
unmet "no such figure in part" a.reprise 'slices: {column: region, of: discrimination.acu, at_least: 0}'
unmet "no part has rows enough" a.reprise 'slices: {column: region, of: discrimination.auc, at_least: 0, few: 5000}'
# slices left out, another cut of the same column, the threshold and the favourable class chosen to suit
unmet "no slices by home" blind.reprise 'slices: {column: home, of: discrimination.auc, at_least: 0.5}'
unmet "no groups by region" blind.reprise 'selection: {column: region, favourable: "no", ratio: 0.5}'
unmet "no slices by age" a.reprise 'slices: {column: age, of: discrimination.auc, at_least: 0.5}'
unmet "selected at threshold 0.25" a.reprise 'selection: {column: home, favourable: "no", ratio: 0.1}'
unmet "took no as favourable" a.reprise 'selection: {column: home, favourable: "yes", threshold: 0.25, ratio: 0.1}'
unmet "no further apart than 1e-7" a.reprise 'metrics: {of: auc, gap: 0.0000001}'
# small groups make no headline, and fewer than two groups of 30 rows no comparison
sed 's/test: 0.2/test: 0.88/' a.yaml >tiny.yaml
run tiny tiny
unmet "fewer than two groups of 30 rows" tiny.reprise \
    'selection: {column: home, favourable: "no", threshold: 0.25, ratio: 0}'

# ---- statements in the archive ----
clause='validation: {by: validators, on: test, rows: 250, of: discrimination.auc, at_least: 0.6}'
unmet "no validation by any of them" a.reprise "$clause"
works '^attached +signatures/validation-' "$reprise" validate a.reprise --part test --groups home --favourable no \
    --attach --key validator.pem
met a.reprise "${clause/validation: /validation: [}, {by: validators, independent: true, days: 2}]"
met a.reprise 'selection: {column: home, favourable: "no", ratio: 0.2, by: validators}'
unmet "found discrimination.auc 0" a.reprise "${clause/0.6/0.99}"
unmet "judged too few rows" a.reprise "${clause/250/5000}"
unmet "judged the run's own test part" a.reprise 'validation: {by: validators, on: rows}'
unmet "no validation by any" blind.reprise "$clause"
member=$(tar tf a.reprise | grep signatures/validation)
"$reprise" inspect a.reprise --member "$member" >attached.json
works 'every byte the same' "$reprise" validate a.reprise --check attached.json
works '^validated +.* rows of the test part' "$reprise" verify a.reprise --trust builder.pub.pem \
    --trust validator.pub.pem
# rows that trained, handed in as new ones; the modeller's own word; that of a key nobody gave
cp a.reprise own.reprise
"$reprise" validate blind.reprise --csv loans.csv --attach --key validator.pem >/dev/null
unmet "judged rows that the model was trained on" blind.reprise 'validation: {by: validators}'
met blind.reprise 'validation: {by: validators, seen: 1}'
# 80 rows that trained, and 400 without an outcome, which are judged by nothing and make up no number of rows; a row
# without one that trained flatters nothing
run blind padded
sed -n '82,481s/,[a-z]*$/,/p' loans.csv >without.csv
{ head -81 loans.csv; awk -F, -v OFS=, '{ $3 += 1000000; print }' without.csv; } >padded.csv
"$reprise" validate padded.reprise --csv padded.csv --attach --key validator.pem >/dev/null
unmet "judged too few rows" padded.reprise 'validation: {by: validators, rows: 100, seen: 1}'
met padded.reprise 'validation: {by: validators, rows: 80, seen: 1}'
unmet "judged rows that the model was trained on" padded.reprise 'validation: {by: validators, rows: 50}'
run blind fresh
{ head -81 loans.csv | awk -F, -v OFS=, 'NR > 1 { $3 += 1000000 } { print }'; cat without.csv; } >fresh.csv
"$reprise" validate fresh.reprise --csv fresh.csv --attach --key validator.pem >/dev/null
met fresh.reprise 'validation: {by: validators, rows: 80, seen: 0}'
run blind alone
"$reprise" validate alone.reprise --part test --attach --key modeller.pem >/dev/null
unmet "no validation by any of them" alone.reprise "$clause"
"$reprise" validate alone.reprise --part test --attach --key builder.pem >/dev/null
unmet "made the run itself" alone.reprise 'validation: {by: builders, independent: true}'
# one that found it wanting is not outvoted by one that did not
"$reprise" validate own.reprise --csv new.csv --groups home --favourable no --threshold 0.02 --attach \
    --key validator.pem >/dev/null
unmet "selected at threshold 0.02" own.reprise 'selection: {column: home, favourable: "no", ratio: 0.2, by: validators}'
"$reprise" report own.reprise -o own.html --trust builder.pub.pem --trust validator.pub.pem >/dev/null
works 'at threshold 0.02000, <strong>which is not the recipe' cat own.html
# another archive's statement, by a copy of its member
python3 - a.reprise alone.reprise <<'PY'
import io, sys, tarfile
with tarfile.open(sys.argv[1]) as a:
    one = next(m for m in a if m.name.startswith("signatures/validation"))
    body = a.extractfile(one).read()
text = open(sys.argv[2], "rb").read()
with tarfile.open(sys.argv[2]) as b:
    names = [m.name for m in b]
    later = [m for m in b if m.name > one.name and m.name.startswith("signatures/")]
at = later[0].offset if later else max(m.offset_data + (m.size + 511) // 512 * 512 for m in tarfile.open(sys.argv[2]))
raw = open(sys.argv[1], "rb").read()[one.offset:one.offset_data + (one.size + 511) // 512 * 512]
open("moved.reprise", "wb").write(text[:at] + raw + text[at:])
PY
fails 4 'about another archive' "$reprise" verify moved.reprise --trust builder.pub.pem --trust validator.pub.pem
fails 4 'is about archive' "$reprise" validate alone.reprise --check attached.json

# ---- drift ----
drift='drift: {by: validators, psi: 0.1, csi: 0.25, days: 30}'
unmet "no monitoring by any of them" a.reprise "$drift"
"$reprise" monitor a.reprise --csv new.csv --period 2026-04 -o april.json --attach --key validator.pem >/dev/null
met a.reprise "$drift"
works '^monitored +600 rows, 2026-04, number 1' "$reprise" verify a.reprise --trust builder.pub.pem \
    --trust validator.pub.pem
unmet "looked at too few rows" a.reprise 'drift: {by: validators, psi: 0.1, rows: 700}'
# a flag that is -1 in 2 % of the rows, 0, and 1 in 5 %, which become 60 %: an index of bins sees it, and so does KS.
# What moves within a tenth, KS alone
table() { # SHARE OF FLAGS, WIDTH within which x moves to the middle
    awk -v share="$1" -v width="$2" 'BEGIN { print "flag,x,y"; for (i = 0; i < 1000; i++) {
        x = i * 37 % 1000
        print (i % 50 == 7 ? -1 : i * 37 % 100 < share ? 1 : 0) "," x - x % width + int(width / 2) "," \
            (i * 7 % 29 < 14 ? "yes" : "no") } }'
}
table 5 1 >flag5.csv
table 60 1 >flag60.csv
table 5 100 >within.csv
printf '%s\n' 'reprise: 1' 'data: {csv: flag5.csv, target: y}' 'train: {task: classification}' >flag.yaml
run flag flag
run flag within
"$reprise" monitor flag.reprise --csv flag60.csv --attach --key validator.pem >/dev/null
unmet "CSI [1-9][0-9.]* of flag, KS 0.5[0-9]* of flag, period 1" flag.reprise \
    'drift: {by: validators, csi: 0.25, seen: 1}'
unmet "KS 0.5[0-9]* of flag" flag.reprise 'drift: {by: validators, ks: 0.2, seen: 1}'
met flag.reprise 'drift: {by: validators, ks: 0.7, seen: 1}'
"$reprise" monitor within.reprise --csv within.csv --attach --key validator.pem >/dev/null
met within.reprise 'drift: {by: validators, csi: 0.1, seen: 1}'
works "CSI 0.0[0-9e-]* of [a-z]*, KS 0.0[0-9]* of x, period 1" "$reprise" verify within.reprise --policy p.yaml
unmet "KS of every score and number at most 0.03.*, KS 0.0[0-9]* of x" within.reprise \
    'drift: {by: validators, csi: 0.1, ks: 0.03, seen: 1}'
"$reprise" monitor a.reprise --csv shifted.csv --period 2026-05 --previous april.json \
    --attach --key validator.pem >/dev/null
unmet "CSI .* of income, period 2" a.reprise "$drift"
# a new beginning of the chain does not hide what it came to
"$reprise" monitor a.reprise --csv new.csv --period 2026-06 --attach --key validator.pem >/dev/null
unmet "CSI .* of income, period 2" a.reprise "$drift"
# nor does a number that somebody wrote: what is attached goes on from a statement that is signed, and by whom
python3 - april.json unsigned.json broken.json last.json <<'PY'
import base64, json, sys
april, unsigned, broken, last = sys.argv[1:]
envelope = json.load(open(april))
payload = base64.b64decode(envelope["payload"])
assert payload.count(b'"number":1,') == 1
many = payload.replace(b'"number":1,', b'"number":%d,' % (2**30 - 2))
open(unsigned, "wb").write(many)
open(last, "wb").write(payload.replace(b'"number":1,', b'"number":%d,' % 2**30))
envelope["payload"] = base64.b64encode(many).decode()
open(broken, "w").write(json.dumps(envelope, sort_keys=True, separators=(",", ":")))
PY
for name in unsigned broken; do
    fails 4 "$name.json" "$reprise" monitor a.reprise --csv new.csv --previous $name.json --attach --key validator.pem
    fails 4 "$name.json" "$reprise" monitor a.reprise --csv new.csv --previous $name.json -o x.json \
        --key validator.pem --trust builder.pub.pem --trust validator.pub.pem
done
fails 4 'april.json' "$reprise" monitor a.reprise --csv new.csv --previous april.json --attach --key modeller.pem
fails 4 'of a chain that can go on' "$reprise" monitor a.reprise --csv new.csv --previous last.json
works 'verified' "$reprise" verify a.reprise --trust builder.pub.pem
fails 2 'of UTF-8' "$reprise" monitor a.reprise --csv new.csv --period $'\xff'
# a name that comes back later in the chain is told, of both periods and of no other
cp own.reprise again.reprise
previous=()
for period in 1:may 2:june 3:may; do
    "$reprise" monitor again.reprise --csv new.csv --period ${period#*:} "${previous[@]}" -o again-${period%:*}.json \
        --attach --key validator.pem >/dev/null
    previous=(--previous again-${period%:*}.json)
done
"$reprise" verify again.reprise --trust builder.pub.pem --trust validator.pub.pem >told
holds "two periods of one name" [ "$(grep -c '^monitored.* may, .*that another statement names too' told)" = 2 ]
holds "and one of its own" grep -q '^monitored.* june, number 2: by' told
"$reprise" report again.reprise -o again.html --trust builder.pub.pem --trust validator.pub.pem >/dev/null
holds "the report says it" grep -q 'a period that another statement names too' again.html
# the training rows drift from nothing, and are good in every part

cp own.reprise seen.reprise
"$reprise" monitor seen.reprise --csv loans.csv --attach --key validator.pem >/dev/null
unmet "judged rows that the model was trained on" seen.reprise "$drift"
met seen.reprise 'drift: {by: validators, psi: 0.1, csi: 0.25, seen: 1}'
cp blind.reprise parts.reprise
"$reprise" validate parts.reprise --csv loans.csv --groups home --favourable no --attach --key validator.pem >/dev/null
unmet "judged rows that the model was trained on" parts.reprise \
    'selection: {column: home, favourable: "no", ratio: 0, by: validators}'
met parts.reprise 'selection: {column: home, favourable: "no", ratio: 0, by: validators, seen: 1}'
unmet "judged rows that the model was trained on" parts.reprise \
    'slices: {column: home, of: discrimination.auc, at_least: 0, by: validators}'
met parts.reprise 'slices: {column: home, of: discrimination.auc, at_least: 0, by: validators, seen: 1}'
refused_here() { policy p.yaml "$2"; fails 2 "$1" "$reprise" verify a.reprise --policy p.yaml; }
refused_here 'only with by' 'slices: {column: home, of: auc, at_least: 0, seen: 1}'
# a test part that is a table of its own is told: who made the run chose its rows
sed 's/, test: 0.2/, test_csv: new.csv/' a.yaml >chosen.yaml
holds "the recipe has a test table" grep -q test_csv chosen.yaml
run chosen chosen
"$reprise" validate chosen.reprise --part test --attach --key validator.pem >/dev/null
policy p.yaml 'validation: {by: validators, on: test, of: discrimination.auc, at_least: 0.5}'
works 'its test part a table of its own .data.test_csv., which who made the run chose' \
    "$reprise" verify chosen.reprise --policy p.yaml
# and one that a column names, or that conditions leave rows out of; a column that parts the rows is told
awk -F, -v OFS=, 'NR == 1 { print $0, "part" }
    NR > 1 { print $0, NR % 5 == 0 ? "test" : NR % 5 == 1 ? "validation" : "train" }' loans.csv >parted.csv
sed 's/loans.csv/parted.csv/; s/, test: 0.2/, split: part/' a.yaml >parted.yaml
sed 's/, test: 0.2/, test: 0.2, where: [{column: age, is: ">", value: 25}]/' a.yaml >chosen_rows.yaml
for name in parted chosen_rows; do
    run $name $name
    "$reprise" validate $name.reprise --part test --attach --key validator.pem >/dev/null
done
policy p.yaml 'validation: {by: validators, on: test}' 'columns: {not_used: [part]}'
works 'its test part named row by row in a column .data.split., which who made the table chose' \
    "$reprise" verify parted.reprise --policy p.yaml
works '^met +columns: .*; which rows train goes by part .data.split.' "$reprise" verify parted.reprise --policy p.yaml
works "its test part without what the recipe's conditions leave out .data.where." \
    "$reprise" verify chosen_rows.reprise --policy p.yaml
# rows of the validation part: where early stopping or a search took the model by them they are no others' word for it
printf '%s\n' 'model: {hidden: [4]}' >stop.yaml
sed 's/, test: 0.2/, fold: 0, folds: 5, test: 0.2/' blind.yaml | cat - stop.yaml >plain.yaml
sed 's/task: classification/&, epochs: 4/' plain.yaml >epochs.yaml
sed 's/task: classification/&, epochs: 4, patience: 2/' plain.yaml >stops.yaml
{ cat epochs.yaml; echo 'search: {over: {lr: [0.01, 0.03]}}'; } >searches.yaml
{ cat epochs.yaml; echo 'challengers: {seeds: 2}'; } >challenged.yaml
for name in epochs stops searches challenged; do
    run $name $name
    "$reprise" inspect $name.reprise --member outputs/predictions.csv | cut -d, -f1 | tail -n +2 >held
    awk 'NR == FNR { held[$1 + 2]; next } FNR == 1 || FNR in held' held loans.csv >held.csv
    "$reprise" validate $name.reprise --csv held.csv --groups home --favourable no --attach --key validator.pem \
        -o $name.json >$name.txt
    works 'every byte the same' "$reprise" validate $name.reprise --csv held.csv --check $name.json
done
for name in epochs challenged; do
    met $name.reprise 'validation: {by: validators, seen: 0}' \
        'selection: {column: home, favourable: "no", ratio: 0, by: validators}'
    holds "$name: nothing was chosen by these rows" [ "$(grep -c '^chosen' $name.txt)" = 0 ]
done
for name in stops searches; do
    holds "$name: it is said of each row" grep -q "^chosen  *by $(($(wc -l <held.csv) - 1)) more" $name.txt
    unmet "judged rows by which the model was chosen" $name.reprise 'validation: {by: validators}'
    unmet "judged rows by which the model was chosen" $name.reprise \
        'slices: {column: home, of: discrimination.auc, at_least: 0, by: validators}'
    met $name.reprise 'validation: {by: validators, seen: 1}' \
        'slices: {column: home, of: discrimination.auc, at_least: 0, by: validators, seen: 1}'
    works '^validated .* of which the model was chosen by' "$reprise" verify $name.reprise --trust builder.pub.pem \
        --trust validator.pub.pem
done
"$reprise" report stops.reprise -o stops.html --trust builder.pub.pem --trust validator.pub.pem >/dev/null
holds "the report says it" grep -q 'more equal one that early stopping or a search chose the model by' stops.html
# the run's own test part is of no later time either
run parted unmoved_parts
awk -F, -v OFS=, 'NR == 1 || $NF == "test"' parted.csv >own_test.csv
works '^own +[0-9]+ more are in every feature' "$reprise" monitor unmoved_parts.reprise --csv own_test.csv --attach \
    --key validator.pem
unmet "looked at rows of the run's own table" unmoved_parts.reprise 'drift: {by: validators, psi: 1, csi: 1}'
met unmoved_parts.reprise 'drift: {by: validators, psi: 1, csi: 1, seen: 1}'
# rows that the recipe's conditions leave out, of a file: counted, and no more than half of them
keeps='where: [{column: age, is: ">", value: 55}]'
sed "s/, test: 0.2/, test: 0.2, $keeps/" blind.yaml >old.yaml
run old old
"$reprise" validate old.reprise --csv new.csv --attach --key validator.pem -o old.json >/dev/null
"$reprise" monitor old.reprise --csv new.csv --attach --key validator.pem -o old_drift.json >/dev/null
young=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "age") at = i } NR > 1 && !($at > 55)' new.csv | wc -l)
for name in old old_drift; do
    holds "$name: $young are left out" grep -q "\"left_out\":$young,"  <(base64 -d <(python3 -c '
import json, sys; print(json.load(open(sys.argv[1]))["payload"])' $name.json))
done
unmet "judged rows that the recipe's conditions .data.where. leave out" old.reprise 'validation: {by: validators}'
unmet "judged rows that the recipe's conditions .data.where. leave out" old.reprise \
    'drift: {by: validators, psi: 9, csi: 99}'
met old.reprise 'validation: {by: validators, left_out: 1}' 'drift: {by: validators, psi: 9, csi: 99, left_out: 1}'
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "age") at = i } NR == 1 || $at > 55' new.csv >kept.csv
run old kept
"$reprise" validate kept.reprise --csv kept.csv --attach --key validator.pem >/dev/null
met kept.reprise 'validation: {by: validators, left_out: 0}'
sed 's/, test: 0.2/, test: 0.2, where: [{column: loan_id, is: "!=", value: L00007}]/' blind.yaml >by_id.yaml
run by_id by_id
cut -d, -f2- new.csv >no_id.csv
works '^where +not applied: .*; how many is not known' "$reprise" validate by_id.reprise --csv no_id.csv --attach \
    --key validator.pem
unmet "does not say how many of its rows the recipe's conditions" by_id.reprise 'validation: {by: validators}'
# a recipe that cannot be read names no profile, and one that names another is none
forge blind.reprise forged.reprise run/recipe.json 'm = b"{ \"profile\":\"pinned\"}"'
fails 4 'run/recipe.json: JSON is not in canonical form' "$reprise" verify forged.reprise --allow-unsigned
forge blind.reprise forged.reprise run/recipe.json 'm = []'
fails 4 'run/recipe.json: expected an object' "$reprise" verify forged.reprise --allow-unsigned
forge blind.reprise forged.reprise run/recipe.json 'm["profile"] = ["pinned"]'
fails 4 'run/recipe.json: profile: expected' "$reprise" verify forged.reprise --allow-unsigned
forge blind.reprise forged.reprise run/recipe.json 'm["pinned"] = {"compute": "f32", "workspace": 1}'
fails 4 'run/recipe.json: pinned: belongs to' "$reprise" verify forged.reprise --allow-unsigned
fails 4 'run/recipe.json: pinned: belongs to' "$build/cli/reprise-verify" verify forged.reprise --allow-unsigned
forge blind.reprise forged.reprise run/recipe.json 'm["profile"] = "portable"'
works '^verified|not signed' "$reprise" verify forged.reprise --allow-unsigned
# more validations than the report shows: the newest, whatever their digests
run blind many
for n in 1 2 3 4 5 6 7; do
    head -$((100 + n)) new.csv >part$n.csv
    "$reprise" validate many.reprise --csv part$n.csv --by region --attach --key validator.pem >/dev/null
    sleep 1
done
"$reprise" report many.reprise -o many.html --trust builder.pub.pem --trust validator.pub.pem >/dev/null
shown=$(sed -n '/Validations by trusted keys/,$p' many.html | grep -o 'Validation: 10[0-9]' | head -6 | tr '\n' ' ')
holds "the newest first: $shown" \
    [ "$shown" = "Validation: 106 Validation: 105 Validation: 104 Validation: 103 Validation: 102 Validation: 101 " ]
holds "how many there are" grep -q 'The newest 6 of 7' many.html

# rows that trained the run which this one started from: its test part is no test, and its parent was replayed
printf '%s\n' 'model: {hidden: [4]}' >net.yaml
sed 's/, test: 0.2/, train_on_all: true/; s/task: classification/&, epochs: 2/' blind.yaml | cat - net.yaml >before.yaml
sed 's/task: classification/&, epochs: 1/' blind.yaml | cat - net.yaml >after.yaml
echo 'parent: {archive: before.reprise, mode: retrain}' >>after.yaml
run before before
run after after
"$reprise" replay after.reprise --parent before.reprise --attest --key validator.pem >/dev/null 2>&1
cp after.reprise after2.reprise
"$reprise" validate after.reprise --part test --attach --key validator.pem >/dev/null
replayed='replay: {mode: full, by: validators}'
unmet "does not say how many of its rows trained the run or the one that it started from" after.reprise "$replayed" \
    'validation: {by: validators, on: test}'
met after.reprise "$replayed" 'validation: {by: validators, on: test, seen: 1}'
works '^validated +[0-9]* rows of the test part, how many trained the model not known: by key' \
    "$reprise" verify after.reprise --policy p.yaml
"$reprise" report after.reprise -o after.html --policy p.yaml >/dev/null
holds "the report says that it is not known" grep -q 'how many of them trained the model is not known' after.html
policy p.yaml "$replayed" 'metrics: {of: loss, at_most: 9}' 'trials: {at_most: 0}'
works "^met +metrics.0.: .*; it started from another run's states, which may have been trained on these rows" \
    "$reprise" verify after.reprise --policy p.yaml
works "^met +trials: .*; those of the run that it started from, whose states it has, are not among them" \
    "$reprise" verify after.reprise --policy p.yaml
works '^seen +[0-9]+ are in every feature what a training row is' "$reprise" validate after2.reprise --part test \
    --parent before.reprise -o counted.json --attach --key validator.pem
works '^validated +[0-9]* rows of the test part, [0-9]* of which trained the model: by key' "$reprise" verify \
    after2.reprise --trust builder.pub.pem --trust validator.pub.pem
unmet "judged rows that the model was trained on" after2.reprise "$replayed" 'validation: {by: validators, on: test}'
works 'every byte the same' "$reprise" validate after2.reprise --check counted.json --parent before.reprise
fails 2 'give that too .--parent' "$reprise" validate after2.reprise --check counted.json
fails 4 'the run before it started from' "$reprise" validate after2.reprise --part test --parent a.reprise
fails 2 'started from no other' "$reprise" validate a.reprise --part test --parent before.reprise
# rows that neither has seen
"$reprise" validate after2.reprise --csv new.csv --parent before.reprise -o new.json --key validator.pem >/dev/null
works '^checked' "$reprise" validate after2.reprise --csv new.csv --check new.json --parent before.reprise
works '^seen +not known: rows that trained the model are not all at hand' \
    "$reprise" validate after2.reprise --csv new.csv
run after after3
"$reprise" replay after3.reprise --parent before.reprise --attest --key validator.pem >/dev/null 2>&1
"$reprise" validate after3.reprise --csv new.csv --parent before.reprise --attach --key validator.pem >/dev/null
met after3.reprise "$replayed" 'validation: {by: validators, on: rows, seen: 0}'
# a parent of which nobody holds the rows
"$reprise" run before.yaml -o hidden.reprise --key builder.pem --withhold kept >/dev/null 2>&1
sed 's/before.reprise/hidden.reprise/' after.yaml >behind.yaml
run behind behind
works '^seen +not known' "$reprise" validate behind.reprise --csv new.csv --parent hidden.reprise
# a chain of three: the one that is not given is named
sed 's/before.reprise/after.reprise/' after.yaml >third.yaml
run third third
"$reprise" validate third.reprise --csv new.csv --parent after.reprise --parent before.reprise -o third.json >/dev/null
works 'every byte the same' "$reprise" validate third.reprise --csv new.csv --check third.json \
    --parent after.reprise --parent before.reprise
first=$("$reprise" inspect before.reprise --json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["archive_id"])')
fails 2 "archive $first is not among those given" "$reprise" validate third.reprise --csv new.csv --check third.json \
    --parent after.reprise
# a linear challenger that its penalty crushes, since its columns are in small units
awk -F, -v OFS=, 'NR > 1 { for (i = 2; i <= 4; i++) $i /= 1e9 } { print }' loans.csv >tiny.csv
sed 's/loans.csv/tiny.csv/; s/, test: 0.2/&, standardize: false/; s/task: classification/&, epochs: 1/' blind.yaml |
    cat - net.yaml >crushed.yaml
echo 'challengers: {linear: true}' >>crushed.yaml
sed 's/standardize: false/standardize: true/' crushed.yaml >standing.yaml
for name in crushed standing; do
    run $name $name
    policy p.yaml 'trials: {linear: true}'
    attempt "$reprise" verify $name.reprise --policy p.yaml
    holds "$name: whether its columns are standardised" \
        [ "$(grep -c "not standardised .data.standardize." "$log/out")" = "$([ $name = standing ]; echo $?)" ]
    "$reprise" report $name.reprise -o $name.html --trust builder.pub.pem >/dev/null
    holds "$name: the report says so" \
        [ "$(grep -c "model&rsquo;s columns are not standardised" $name.html)" = "$([ $name = standing ]; echo $?)" ]
done
# the child of a run that was chosen among many says that it has their settings
"$reprise" retrain a.reprise --csv new.csv -o child.reprise --key builder.pem >/dev/null 2>&1
unmet "those of its predecessor, whose settings it may have, are not among them" child.reprise \
    'trials: {at_least: 1}'
# new rows in which every zero, 85 % of those that trained, is a one: no amount is below it, and no bound is met
awk -F, -v OFS=, 'NR > 1 { $10 = NR * 7 % 1000 < 850 ? 0 : NR % 50 + 2 } { print }' loans.csv >zeros.csv
sed 's/loans.csv/zeros.csv/' blind.yaml >zeros.yaml
run zeros zeros
head -601 zeros.csv | awk -F, -v OFS=, 'NR > 1 && $10 == 0 { $10 = 1 } { print }' >ones.csv
cp zeros.reprise unmoved.reprise
"$reprise" monitor zeros.reprise --csv ones.csv --attach --key validator.pem >/dev/null
unmet "CSI [0-9.]* of late_payments" zeros.reprise 'drift: {by: validators, csi: 0.25, seen: 1}'
head -601 zeros.csv >same.csv
"$reprise" monitor unmoved.reprise --csv same.csv --attach --key validator.pem >/dev/null
met unmoved.reprise 'drift: {by: validators, csi: 0.25, seen: 1}'
# counts that were forged so that drift is none: nobody believes them
forge blind.reprise forged.reprise outputs/reference.json \
    'for c in m["columns"]: c["counts"] = [x + 1 for x in c["counts"]]'
fails 4 'counts that sum to' "$reprise" monitor forged.reprise --csv shifted.csv
fails 4 'counts that sum to' "$reprise" verify forged.reprise --allow-unsigned

# ---- the report sees them ----
policy p.yaml 'replay: {mode: full, by: validators}'
attempt "$reprise" report a.reprise -o r.html --policy p.yaml
for words in 'Validated' 'test part' 'Monitored' 'By slice and by group' 'Drift, feature by feature' \
    '(<bdi>validators</bdi>)' 'lowest to highest rate of selection'; do
    holds "the report says $words" grep -qF "$words" r.html
done
evidence='home: {woe: true}, purpose: {woe: true, rare: 0.2}, age: {bins: monotonic, woe: true}'
sed "s/loan_id: ignore/loan_id: ignore, $evidence/" a.yaml >woe.yaml
run woe woe
works 'written' "$reprise" report woe.reprise -o woe.html --trust builder.pub.pem
for words in 'Information values' 'Weight of evidence by bin' 'id="woe'; do
    holds "the report says $words" grep -qF "$words" woe.html
done
holds "what is rare is pooled, and not missing" \
    grep -q '<bdi>purpose</bdi>: 1: <bdi>[a-z]*</bdi>, 2: other\. ' woe.html
first=$(grep -o '<bdi>\(age\|home\)</bdi></th><td class="n">' woe.html | head -1)
holds "the greatest information value comes first" test "$first" = '<bdi>age</bdi></th><td class="n">'

# ---- statements that are not in form ----
works '"kind":"monitoring"' "$reprise" verify a.reprise --trust builder.pub.pem --trust validator.pub.pem --json
fails 2 'give --key' "$reprise" validate a.reprise --part test --attach

# ---- clauses that say nothing, or cannot be met ----
refused() { policy p.yaml "$2"; fails 2 "$1" "$reprise" verify a.reprise --policy p.yaml; }
refused 'demands nothing' 'drift: {by: validators}'
refused 'demands nothing' 'slices: {column: region, of: auc}'
refused 'demands nothing' 'selection: {column: sex, favourable: "no"}'
refused 'favourable: is missing' 'selection: {column: sex, ratio: 0.8}'
refused 'column: is missing' 'slices: {of: auc, at_least: 1}'
refused 'only with by' 'slices: {column: region, of: auc, at_least: 1, independent: true}'
refused 'by: is missing' 'validation: {on: test}'
refused 'any, test, rows' 'validation: {by: validators, on: training}'
refused '0 to 1' 'validation: {by: validators, seen: 2}'
refused 'expected 0 or more' 'drift: {by: validators, psi: -1}'
refused 'unknown key' 'drift: {by: validators, psy: 1}'
finish
