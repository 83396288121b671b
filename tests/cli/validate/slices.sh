#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The validation: section of recipes and the test part: figures by slice and group in every run, replayed, equal
# to those of `validate` on the same rows and to a recount; counts of a forged reference are believed by nobody.
# Usage: slices.sh BUILD_DIR
set -euo pipefail
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../../.." && pwd)
reprise=$build/cli/reprise
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "FAILED: $*" >&2; exit 1; }
# expect CODE WORDS COMMAND...: exits so, and stderr or stdout has the words
expect() {
    local code=$1 words=$2 got=0
    shift 2
    "$@" >out 2>err || got=$?
    [ "$got" = "$code" ] || fail "$*: exit $got, expected $code: $(cat err)"
    grep -qF -- "$words" err out || fail "$*: expected \"$words\", found: $(cat err)"
}
forge() { python3 "$source/tests/cli/validate/forge.py" "$@"; }

head -1501 "$source/examples/loans.csv" >loans.csv
recipe() { # VALIDATION: a recipe that ignores the column home
    printf '%s\n' 'reprise: 1' 'name: slices' 'seed: 3' 'data: {csv: loans.csv, target: default, test: 0.2,' \
        '  columns: {loan_id: ignore, home: ignore}}' 'train: {task: classification}' "$1"
}
recipe 'validation: {by: ["age:3", home], groups: [home, region], favourable: "no", threshold: 0.3}' >a.yaml
"$reprise" run a.yaml -o a.reprise >/dev/null 2>&1
"$reprise" inspect a.reprise --member outputs/metrics.json >metrics.json
"$reprise" inspect a.reprise --member outputs/predictions.csv >predictions.csv

# the report: bounds of parts as contract 14.6 has them (at an edge the part above it), areas with intervals
"$reprise" report a.reprise -o a.html >/dev/null
python3 - <<'PY' || fail "slices in the report"
import json, re
parts = json.load(open("metrics.json"))["validation"]["slices"][0]["parts"]
page = open("a.html").read()
table = page[page.index("<h4>By <bdi>age:3<"):]
rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', table[:table.index("</table>")])
assert [name.split()[0] for name, _ in rows] == ["below", "from", "from"] and " to below " in rows[1][0], rows
for part, (_, cells) in zip(parts, rows):
    d = part["figures"]["discrimination"]
    low, high = re.search(r"([0-9.]+) to ([0-9.]+)</td>$", cells).groups()
    assert abs(float(low) - float(d["auc_low"])) < 5e-5 and abs(float(high) - float(d["auc_high"])) < 5e-4, (cells, d)
PY

# replayed on other kernels and threads; a run without the section has none of it, and the same weights
expect 0 "" "$reprise" replay a.reprise --isa ref --threads 1
recipe '' >plain.yaml
"$reprise" run plain.yaml -o plain.reprise >/dev/null 2>&1
"$reprise" inspect plain.reprise --member outputs/metrics.json | grep -q '"slices"\|"gap"' &&
    fail "slices without asking"
cmp <("$reprise" inspect plain.reprise --member weights/final.safetensors) \
    <("$reprise" inspect a.reprise --member weights/final.safetensors) || fail "the section changes the weights"

# the same by another hand: rows and rates recounted, and by `validate` of the same rows
awk -F, 'NR == FNR { if (FNR > 1) held[$1 + 2]; next } FNR == 1 || FNR in held' predictions.csv loans.csv >held.csv
"$reprise" validate a.reprise --csv held.csv --by age:3 --by home --groups home --groups region --favourable no \
    --threshold 0.3 -o held.json >/dev/null
python3 - <<'PY' || fail "figures by slice"
import csv, json
m, s = json.load(open("metrics.json")), json.load(open("held.json"))["predicate"]
v = m["validation"]
assert v["slices"] == s["slices"] and v["groups"] == s["groups"] and v["figures"] == s["figures"], "validate says other"
assert [t["rule"] for t in v["figures"]["thresholds"]] == ["half", "youden_training", "given"]
for key in ("accuracy", "auc", "loss"):
    assert abs(float(m["training"][key]) - float(v[key]) - float(m["gap"][key])) < 1e-15, key
rows = list(csv.DictReader(open("loans.csv")))
p = [(rows[int(r["row"])], float(r["p_yes"])) for r in csv.DictReader(open("predictions.csv"))]
assert [x["value"] for x in v["slices"][1]["parts"]] == sorted({r["home"] for r, _ in p} - {"NA"}) + [None] * any(
    r["home"] == "NA" for r, _ in p)
cut = v["groups"][0]
for part in cut["parts"]:
    mine = [(r, q) for r, q in p if r["home"] == (part["value"] or "NA")]
    chosen = [q < 0.3 for _, q in mine]
    assert part["figures"]["rows"] == len(mine)
    assert part["selection"]["selected"] == sum(chosen) and part["selection"]["rows"] == len(mine)
    assert part["selection"]["favourable"] == sum(r["default"] == "no" for r, _ in mine)
    assert part["selection"]["small"] == (len(mine) < 30)
large = [float(x["selection"]["rate"]) for x in cut["parts"] if not x["selection"]["small"]]
assert any(x["selection"]["small"] for x in cut["parts"]), "no small group: the test shows nothing"
assert abs(float(cut["summary"]["ratio"]) - min(large) / max(large)) < 1e-15
assert not cut["parts"][cut["summary"]["reference"]]["selection"]["small"]
PY

# where one of the two is not finite the gap is null: R2 of validation rows that all have one target is -inf
printf 'x,part,y\n1,train,1\n2,train,3\n3,train,2\n4,train,5\n5,valid,2\n6,valid,2\n' >flat.csv
printf '%s\n' 'reprise: 1' 'data: {csv: flat.csv, target: y, split: part}' 'train: {task: regression}' \
    'validation: {by: [x]}' >flat.yaml
"$reprise" run flat.yaml -o flat.reprise >/dev/null 2>&1
"$reprise" inspect flat.reprise --member outputs/metrics.json | python3 -c '
import json, sys
m = json.load(sys.stdin)
assert m["validation"]["r2"] == "-inf" and m["training"]["r2"] != "nan", m
assert m["gap"]["r2"] is None and float(m["gap"]["mse"]) < 0, m["gap"]' || fail "the gap of figures that are not finite"

# all is training: slices of it, and no gap
sed -i 's/test: 0.2/train_on_all: true/' a.yaml
"$reprise" run a.yaml -o all.reprise >/dev/null 2>&1
"$reprise" inspect all.reprise --member outputs/metrics.json | python3 -c '
import json, sys
m = json.load(sys.stdin)
assert "gap" not in m and len(m["training"]["slices"]) == 2 and "validation" not in m' || fail "train_on_all"

# what the table does not have is told before anything is trained
wrong() { recipe "$2" >wrong.yaml; expect 2 "$1" "$reprise" run wrong.yaml -o wrong.reprise; }
wrong 'expected a column "hom"' 'validation: {by: [hom]}'
wrong "loan_id:4" 'validation: {groups: [loan_id]}'
wrong 'favourable: expected "no" or "yes"' 'validation: {favourable: maybe}'
wrong "is there twice" 'validation: {by: [home, home]}'
wrong "0 to 1" 'validation: {threshold: 2}'
wrong "unknown key" 'validation: {cut: 1}'
wrong "a list of at most 16 columns" 'validation: {by: home}'

# the part that no step read: exactly those rows, made again, and of no other rows
"$reprise" validate a.reprise --part test --by home --groups region -o test.json >text
expect 0 "every byte the same" "$reprise" validate a.reprise --check test.json --isa ref
"$reprise" inspect a.reprise --member data/schema.json >schema.json
python3 - <<'PY' || fail "the test part"
import csv, hashlib, json
s, schema = json.load(open("test.json"))["predicate"], json.load(open("schema.json"))
rows = schema["split"]["test_rows"]
assert s["options"]["part"] == "test" and s["data"]["rows"] == rows and 290 < rows <= 300, s["data"]
assert s["data"]["sha256"] == hashlib.sha256(open("loans.csv", "rb").read()).hexdigest()
assert sum(p["figures"]["rows"] for p in s["slices"][0]["parts"]) == rows
PY
expect 2 "leave out --csv" "$reprise" validate a.reprise --check test.json --csv loans.csv
expect 2 "keeps no rows" "$reprise" validate all.reprise --part test
expect 2 "either --csv FILE or --part test" "$reprise" validate a.reprise
expect 2 "either --csv FILE or --part test" "$reprise" validate a.reprise --csv loans.csv --part test
expect 2 "expected test" "$reprise" validate a.reprise --part training
"$reprise" run plain.yaml -o withheld.reprise --withhold kept >/dev/null 2>&1
expect 5 "--withheld DIR" "$reprise" validate withheld.reprise --part test
# by a column that says which rows are tested: their figures are those of the same rows as a file
awk -F, -v OFS=, 'NR == 1 { print $0, "part"; next } 
    { print $0, (NR % 5 == 0 ? "test" : NR % 5 == 1 ? "validation" : "train") }' loans.csv >split.csv
recipe '' | sed 's/loans.csv/split.csv/; s/test: 0.2/split: part/' >split.yaml
"$reprise" run split.yaml -o split.reprise >/dev/null 2>&1
awk -F, 'NR == 1 || $14 == "test"' split.csv >tested.csv
"$reprise" validate split.reprise --part test --by age --groups home -o own.json >/dev/null
"$reprise" validate split.reprise --csv tested.csv --by age --groups home -o file.json >/dev/null
python3 - <<'PY' || fail "the test part by a column"
import json
a, b = (json.load(open(f))["predicate"] for f in ("own.json", "file.json"))
assert all(a[k] == b[k] for k in ("figures", "slices", "groups", "development")) and a["figures"]["rows"] == 300
PY

# counts that were forged: ones that do not add up in verify and monitor, ones that do where the rows are at hand
forge plain.reprise sums.reprise outputs/reference.json 'm["columns"][2]["counts"][0] += 40'
expect 4 "columns[2]: expected counts that sum to" "$reprise" verify sums.reprise --allow-unsigned
expect 4 "columns[2]: expected counts that sum to" "$reprise" monitor sums.reprise --csv loans.csv
forge plain.reprise scores.reprise outputs/reference.json 'm["scores"][0]["counts"][3] = 0'
expect 4 "scores[0]: expected counts that sum to" "$reprise" monitor scores.reprise --csv loans.csv
moved='c = m["columns"][1]["counts"]; c[0] += 5; c[1] -= 5'
forge plain.reprise moved.reprise outputs/reference.json "$moved"
expect 4 "columns[1].counts: the archive's own training rows have others" \
    "$reprise" monitor moved.reprise --csv loans.csv
forge plain.reprise text.reprise outputs/reference.json "for c in m['columns']:
    if 'edges' not in c: c['counts'][0] += 1; c['counts'][1] -= 1"
expect 4 "the archive's own training rows have others" "$reprise" monitor text.reprise --csv loans.csv
forge plain.reprise edges.reprise outputs/reference.json 'm["scores"][0]["maximum"] = "9"'
expect 4 "scores[0].maximum" "$reprise" monitor edges.reprise --csv loans.csv
# a recipe that was changed in the archive to name what is not there is the archive's fault
forge a.reprise named.reprise run/recipe.json 'm["validation"]["by"] = ["nobody"]'
expect 4 "key validation" "$reprise" replay named.reprise

echo "slices, the test part, forged references: as expected"
