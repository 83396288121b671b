#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# reprise validate and monitor: statements are the same bytes on every level and number of threads, are made again, name
# what differs, and refuse what cannot be judged. Usage: cli_validate.sh BUILD_DIR
set -euo pipefail
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../.." && pwd)
reprise=$build/cli/reprise
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "FAILED: $*" >&2; exit 1; }
# expect CODE WORDS COMMAND...: exits so, and stderr has the words
expect() {
    local code=$1 words=$2 got=0
    shift 2
    "$@" >out 2>err || got=$?
    [ "$got" = "$code" ] || fail "$*: exit $got, expected $code: $(cat err)"
    grep -qF -- "$words" err out || fail "$*: expected \"$words\", found: $(cat err)"
}

"$reprise" run "$source/examples/loans.yaml" -o a.reprise >/dev/null 2>&1
head -1 "$source/examples/loans.csv" >new.csv
sed -n '4000,4999p' "$source/examples/loans.csv" >>new.csv
validate=("$reprise" validate a.reprise --csv new.csv)
monitor=("$reprise" monitor a.reprise)

# one statement, whatever computes it; lines of at most 80 columns
slices=(--by age --by term_months:3 --groups home --groups region)
"${validate[@]}" "${slices[@]}" --threshold 0.25 -o one.json >text
"${validate[@]}" "${slices[@]}" --threshold 0.250 --isa ref --threads 1 -o two.json >/dev/null
cmp one.json two.json || fail "the level changes the statement"
awk 'length > 80 { print; bad = 1 } END { exit bad }' text || fail "lines beyond 80 columns"
for words in "AUC" "youden_training" "band of scores" "by age" "selected: predicted \"yes\"" "(missing)" "given"; do
    grep -qF "$words" text || fail "the text lacks $words"
done
"${validate[@]}" --json | python3 -c '
import json, sys
f = json.load(sys.stdin)["statement"]["predicate"]["figures"]
d = f["discrimination"]
assert f["rows"] == 1000 and 0.5 < float(d["auc_low"]) < float(d["auc"]) < float(d["auc_high"]) < 1
assert abs(float(d["gini"]) - (2 * float(d["auc"]) - 1)) < 1e-12 and len(f["calibration"]["bands"]) == 10' ||
    fail "--json"

# rows of the training part are counted; the validation part has none of them but by chance
"$reprise" inspect a.reprise --member outputs/predictions.csv | cut -d, -f1 | tail -n +2 >held
awk 'NR == FNR { held[$1 + 2]; next } FNR == 1 || FNR in held' held "$source/examples/loans.csv" >held.csv
"$reprise" validate a.reprise --csv held.csv --json | grep -q '"seen":0,' || fail "rows of the validation part are seen"
"$reprise" validate a.reprise --csv "$source/examples/loans.csv" --json | grep -q '"seen":4000,' || fail "seen rows"

# made again; what is another archive, other rows, another figure is told apart
expect 0 "every byte the same" "${validate[@]}" --check one.json
sed 's/"positives":\([0-9]*\)/"positives":9/' one.json >wrong.json
expect 3 "positives" "${validate[@]}" --check wrong.json
head -900 new.csv >fewer.csv
expect 4 "SHA-256 differs" "$reprise" validate a.reprise --csv fewer.csv --check one.json
sed 's/seed: 2026/seed: 7/' "$source/examples/loans.yaml" >b.yaml
cp "$source/examples/loans.csv" .
"$reprise" run b.yaml -o b.reprise >/dev/null 2>&1
expect 4 "is about archive" "$reprise" validate b.reprise --csv new.csv --check one.json
printf '{}' >empty.json
expect 4 "expected a statement" "${validate[@]}" --check empty.json
expect 2 "as it was asked for" "${validate[@]}" --check one.json --by age

# signed: the envelope holds the same statement; another's key, and none, are not this one's
"$reprise" keygen me >/dev/null
"$reprise" keygen you >/dev/null
"$reprise" sign a.reprise --key me.pem >/dev/null
"${validate[@]}" "${slices[@]}" --threshold 0.25 --key me.pem -o signed.json >/dev/null
expect 0 "every byte the same" "${validate[@]}" --check signed.json --trust me.pub.pem
python3 -c 'import base64, json, sys
sys.stdout.buffer.write(base64.b64decode(json.load(open("signed.json"))["payload"]))' | cmp - one.json ||
    fail "the payload is another statement"
expect 4 "is not signed" "${validate[@]}" --check one.json --trust me.pub.pem
"${validate[@]}" --key you.pem -o other.json >/dev/null
expect 4 "" "${validate[@]}" --check other.json --trust me.pub.pem

# what cannot be judged
expect 2 "expected a column \"hom\"" "${validate[@]}" --by hom
expect 2 "loan_id:4" "${validate[@]}" --by loan_id
expect 2 "expected numbers" "${validate[@]}" --by home:3
expect 2 "2 to 20 parts" "${validate[@]}" --by age:40
expect 2 'favourable: expected "no" or "yes"' "${validate[@]}" --groups home --favourable maybe
for threshold in x 2 -1 1.0000001 nan inf; do
    expect 2 "expected a score from 0 to 1" "${validate[@]}" --threshold $threshold
done
expect 0 "at the threshold that was given, 0.2500" "${validate[@]}" --groups home --threshold 0.25
expect 0 "at threshold 0.5" "${validate[@]}" --groups home
cut -d, -f1-12 new.csv >blind.csv
expect 1 "expected rows with an outcome" "$reprise" validate a.reprise --csv blind.csv
sed 's/,no$/,never/' new.csv >unknown.csv
expect 1 "letter for letter" "$reprise" validate a.reprise --csv unknown.csv
expect 2 "already exists" "${validate[@]}" -o one.json
"$build/examples/branch" c.reprise >/dev/null
expect 5 "C API" "$reprise" validate c.reprise --csv new.csv

# monitoring: rows without outcomes, new values, values out of range, and periods that name the one before
"${monitor[@]}" --csv blind.csv --period 2026-01 -o first.json >text
grep -q "PSI" text && ! grep -q "Gini" text || fail "rows without outcomes"
awk -F, -v OFS=, 'NR > 1 { $3 = $3 * 3; $6 = (NR % 4 ? $6 : "boat") } { print }' new.csv >later.csv
"${monitor[@]}" --csv later.csv --period 2026-02 --previous first.json -o second.json >text
grep -q "income .*shifted" text || fail "income has shifted: $(cat text)"
grep -q "training did not know: boat" text || fail "a new value"
grep -q "outside the range" text && grep -q "Gini" text || fail "values out of range, outcomes"
awk 'length > 80 { print; bad = 1 } END { exit bad }' text || fail "lines beyond 80 columns"
expect 0 "every byte the same" "${monitor[@]}" --csv later.csv --check second.json --previous first.json
expect 2 "--previous FILE" "${monitor[@]}" --csv later.csv --check second.json
"${monitor[@]}" --csv later.csv --previous second.json --period 2026-03 -o third.json >/dev/null
expect 3 "differs in number" "${monitor[@]}" --csv later.csv --check second.json --previous third.json
"${monitor[@]}" --csv later.csv --period May -o may.json >/dev/null
expect 2 'period: "May" is what the previous' "${monitor[@]}" --csv later.csv --previous may.json --period May
expect 4 "is about archive" "$reprise" monitor b.reprise --csv later.csv --previous first.json
expect 4 "expected one of monitoring" "${monitor[@]}" --csv later.csv --previous one.json
python3 -c '
import hashlib, json
s = json.load(open("second.json"))["predicate"]
assert s["number"] == 2 and s["previous"]["sha256"] == hashlib.sha256(open("first.json", "rb").read()).hexdigest()
assert s["data"]["sha256"] == hashlib.sha256(open("later.csv", "rb").read()).hexdigest()
c = {c["name"]: c for c in s["columns"]}
d, now = s["development"], s["figures"]["discrimination"]
assert abs((float(d["auc"]) - float(now["auc"])) / float(now["auc_error"]) - float(d["statistic"])) < 1e-9
assert c["purpose"]["new_values"] == ["boat"] and c["purpose"]["counts"][-2] == 250 and c["income"]["above"] > 0
assert all(x["ks"] is not None for x in s["columns"] if x["kind"] == "numeric")' || fail "the statement of period 2"

# whose area later rows are held against: never that of training rows where others were scored
sed 's/^  fold: 0.*/  fold: all/' "$source/examples/loans.yaml" >folds.yaml
sed '/^  fold: /d; s/^  folds.*/  train_on_all: true/' "$source/examples/loans.yaml" >all.yaml
for run in folds all; do
    "$reprise" run $run.yaml -o $run.reprise >/dev/null 2>err || fail "$(cat err)"
    "$reprise" validate $run.reprise --csv loans.csv -o $run.json >$run.text
    "$reprise" inspect $run.reprise --member outputs/metrics.json >$run.metrics
done
"$reprise" inspect folds.reprise --member outputs/out_of_fold.csv >folds.csv
"$reprise" monitor folds.reprise --csv loans.csv -o period.json >/dev/null
grep -q "AUC out of fold" folds.text && grep -q "AUC in training" all.text || fail "the part is not named"
python3 - <<'P' || fail "the area out of fold"
import csv, json
of = lambda name: json.load(open(name + ".json"))["predicate"]["development"]
training = lambda name: json.load(open(name + ".metrics"))["training"]["figures"]["discrimination"]
rows = list(csv.DictReader(open("folds.csv")))
yes, no = ([float(r["p_yes"]) for r in rows if (r["truth"] == "yes") == t] for t in (True, False))
merged = sorted([(x, 1) for x in yes] + [(x, 0) for x in no])
wins = below = i = 0
while i < len(merged):  # pairs won, ties by half
    j = i
    while j < len(merged) and merged[j][0] == merged[i][0]:
        j += 1
    high = sum(t for _, t in merged[i:j])
    wins += high * (below + (j - i - high) / 2)
    below += j - i - high
    i = j
assert of("folds")["part"] == "folds" and abs(float(of("folds")["auc"]) - wins / len(yes) / len(no)) < 1e-12
assert of("period") == of("folds") and of("folds")["auc"] != training("folds")["auc"]
assert of("all")["part"] == "training" and of("all")["auc"] == training("all")["auc"]
P
python3 -c 'import json
assert json.load(open("one.json"))["predicate"]["development"]["part"] == "validation"' || fail "the validation part"

# conditions of the recipe: the test part meets them, of a file every row is judged, and that is told
keys='  folds: 5\n  test: 0.2\n  where: [{column: home, is: "=", value: rent}]'
sed "s/^  folds.*/$keys/" "$source/examples/loans.yaml" >where.yaml
"$reprise" run where.yaml -o where.reprise >/dev/null 2>err || fail "$(cat err)"
"$reprise" validate where.reprise --part test -o where.json >text
! grep -q "^where" text || fail "the test part meets the conditions"
expect 0 "where       not applied: rows that the recipe leaves out are judged too" \
    "$reprise" validate where.reprise --csv loans.csv -o file.json
expect 0 "where       not applied" "$reprise" monitor where.reprise --csv loans.csv
expect 0 "where       not applied" "$reprise" retrain where.reprise --child where.reprise --rows loans.csv
expect 0 "where       not applied" "$reprise" explain where.reprise --csv loans.csv --repeats 1 -o explained.json
python3 -c '
import json
names = ("where.json", "file.json", "one.json", "explained.json")
data = [json.load(open(name))["predicate"]["data"] for name in names]
assert [d["unfiltered"] for d in data] == [False, True, False, True], data
assert data[1]["rows"] == 5000 > data[0]["rows"]' || fail "whether conditions were applied"

# lines that look like rows and are comments to the recipe: counted, of whatever table
sed 's/^  folds.*/  folds: 5\n  comment: "#"/' "$source/examples/loans.yaml" >comment.yaml
"$reprise" run comment.yaml -o comment.reprise >/dev/null 2>err || fail "$(cat err)"
sed '3s/^/#/; 5s/^/#/' new.csv >comments.csv
expect 0 "2 lines may be rows" "$reprise" validate comment.reprise --csv comments.csv -o comments.json
expect 0 "2 lines may be rows" "$reprise" monitor comment.reprise --csv comments.csv
expect 0 "2 lines have as many cells as a row" "$reprise" predict comment.reprise --csv comments.csv -o comments.out
expect 0 "2 lines have as many cells as a row" "$reprise" predict comment.reprise --csv comments.csv -o -
expect 0 '"hidden":2' "$reprise" predict comment.reprise --csv comments.csv --json -o comments2.out
grep -q '"hidden":2,' comments.json || fail "lines that are passed over are not counted"
"$reprise" validate comment.reprise --csv new.csv --json | grep -q '"hidden":0,' || fail "lines that are not"

# counts with exposures: what came beside what was expected, and the family's deviance, recounted from predictions
awk 'BEGIN { print "x,n,z,g"; for (i = 0; i < 400; i++)
    print i % 17 "," (1 + i * i % 40) / 8 "," (1 + i * i % 7) * (i % 3) % 5 "," (i % 2 ? "a" : "b") }' >exposed.csv
for family in poisson gamma; do
    awk -F, -v OFS=, -v more="$([ $family = poisson ] && echo 0 || echo 0.25)" 'NR > 1 { $3 += more } { print }' \
        exposed.csv >$family.csv
    printf '%s\n' 'reprise: 1' "data: {csv: $family.csv, target: z, exposure: n, columns: {g: ignore}}" \
        "train: {task: regression, family: $family}" >$family.yaml
    "$reprise" run $family.yaml -o $family.reprise >/dev/null 2>err || fail "$(cat err)"
    expect 0 "actual / expected" "$reprise" validate $family.reprise --csv $family.csv --by g -o $family.json
    "$reprise" predict $family.reprise --csv $family.csv -o $family.out >/dev/null
    "$reprise" inspect $family.reprise --member outputs/reference.json >$family.reference
    if "$reprise" inspect $family.reprise --member outputs/metrics.json | grep -q deviance; then
        fail "a run's own figures"
    fi
done
expect 0 "mean deviance" "$reprise" monitor poisson.reprise --csv poisson.csv
python3 - <<'P' || fail "actual and expected, and the deviance"
import csv, json, math
for family in ("poisson", "gamma"):
    rows = list(csv.DictReader(open(family + ".csv")))
    p = [float(r["predicted"]) for r in csv.DictReader(open(family + ".out"))]
    rate = float(json.load(open(family + ".reference"))["rate"])
    said = json.load(open(family + ".json"))["predicate"]
    def deviance(t, p):
        if family == "gamma":
            return 2 * sum((b - a) / a - math.log(b / a) for a, b in zip(p, t)) / len(t)
        return 2 * sum((b * math.log(b / a) if b else 0) - (b - a) for a, b in zip(p, t)) / len(t)
    parts = [(part["figures"], [i for i, r in enumerate(rows) if r["g"] == part["value"]])
             for part in said["slices"][0]["parts"]]
    for figures, at in [(said["figures"], range(len(rows)))] + parts:
        t, mine = [float(rows[i]["z"]) for i in at], [p[i] for i in at]
        trivial = [rate * float(rows[i]["n"]) for i in at]
        for key, found, expected in (("actual_expected", figures["actual_expected"], sum(t) / sum(mine)),
                                     ("deviance", figures["mean_deviance"], deviance(t, mine)),
                                     ("trivial", figures["trivial"]["mean_deviance"], deviance(t, trivial))):
            assert math.isclose(float(found), expected, rel_tol=1e-9), (family, key, found, expected)
P

# pooled categories are no drift, and no new values
sed 's/loan_id: ignore/loan_id: ignore\n    purpose: {rare: 0.2}/' "$source/examples/loans.yaml" >rare.yaml
"$reprise" run rare.yaml -o rare.reprise >/dev/null 2>&1
"$reprise" monitor rare.reprise --csv loans.csv --json | python3 -c '
import json, sys
c = [c for c in json.load(sys.stdin)["statement"]["predicate"]["columns"] if c["name"] == "purpose"][0]
assert c["new_values"] is None and float(c["psi"]) < 0.01 and c["counts"][-2] > 500, c' || fail "pooled categories"

# heavy values that move within what were their bins: 85 % zeros become ones, below every amount; a flag that is 1 in
# 5 % of the rows is so in 60 %; a cap that 15 % have is lifted. Other columns, and the same rows, have not moved
python3 - <<'P'
def table(name, zero, flag, cap):
    with open(name, "w") as out:
        print("zero,flag,top,plain,y", file=out)
        for i in range(1000):
            at = i * 7 % 1000
            t = i * 13 % 1000
            print(at + 2 if at >= 850 else zero, -1 if i < 50 else 0 if i < flag else 1,
                  t / 10 if t < 850 else cap, i * 31 % 997, "ny"[i * 17 % 100 < 40], sep=",", file=out)
table("heavy.csv", 0, 950, 99)
table("ones.csv", 1, 950, 99)
table("flags.csv", 0, 400, 99)
table("lifted.csv", 0, 950, 250)
P
printf '%s\n' 'reprise: 1' 'data: {csv: heavy.csv, target: y, train_on_all: true}' 'model: {hidden: []}' \
    'train: {epochs: 1}' >heavy.yaml
"$reprise" run heavy.yaml -o heavy.reprise >/dev/null 2>err || fail "$(cat err)"
for rows in heavy ones flags lifted; do
    "$reprise" monitor heavy.reprise --csv $rows.csv -o $rows.json >/dev/null
done
python3 -c '
import json
moved = {"heavy": None, "ones": "zero", "flags": "flag", "lifted": "top"}
for rows, column in moved.items():
    for c in json.load(open(rows + ".json"))["predicate"]["columns"]:
        psi = float(c["psi"])
        assert psi > 0.25 if c["name"] == column else psi == 0, (rows, c["name"], psi)' || fail "heavy values"

# an archive whose data were left out: bins are compared, samples are not; the folder gives them back
"$reprise" run "$source/examples/loans.yaml" -o w.reprise --withhold kept >/dev/null 2>&1
expect 2 "--withheld" "$reprise" monitor w.reprise --csv later.csv
expect 0 "Wasserst." "$reprise" monitor w.reprise --csv later.csv --withheld kept
# a table of few bytes whose recipe makes many features of them: who asks which rows trained does not pay for these
python3 - <<'P'
def table(name, rows, words):
    with open(name, "w") as out:
        print("y," + ",".join("c%d" % k for k in range(12)), file=out)
        for i in range(rows):
            print("ab"[i // 2 % 2], *("x%x" % (i * (k + 1) % words) for k in range(12)), sep=",", file=out)
table("few.csv", 400, 2)
table("many.csv", 12000, 4000)
P
printf '%s\n' 'reprise: 1' 'data: {csv: few.csv, target: y}' 'model: {hidden: [2]}' \
    'train: {task: classification, epochs: 1}' >few.yaml
"$reprise" run few.yaml -o few.reprise >/dev/null 2>err || fail "$(cat err)"
python3 "$source/tests/cli/validate/forge.py" few.reprise many.reprise data/raw.csv 'm = open("many.csv", "rb").read()'
bounded=(ulimit -v 1000000) # a sanitized program asks for more addresses
("${bounded[@]}" && "$reprise" --version >/dev/null 2>&1) || bounded=(true)
("${bounded[@]}"; expect 0 "AUC" "$reprise" validate many.reprise --csv few.csv --threads 2)
echo "statements of validation and monitoring: as expected"
