#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# validate --part folds: every row by the trial that was not trained on it, recounted by another hand; rows of a fold
# that failed; rows that the trial knew; what nobody may take for figures of the model; forged scores.
# Usage: folds.sh BUILD_DIR
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
    grep -qF -- "$words" err out || fail "$*: expected \"$words\", found: $(cat err out)"
}
forge() { python3 "$source/tests/cli/validate/forge.py" "$@"; }

# three rows stand twice, one of them with another outcome; a part is tested, and some rows are left out
{ head -1001 "$source/examples/loans.csv"; sed -n '11p;12p' "$source/examples/loans.csv";
  sed -n 13p "$source/examples/loans.csv" | sed 's/yes$/no/; t; s/no$/yes/'; } >loans.csv
cat >a.yaml <<'Y'
reprise: 1
seed: 3
data: {csv: loans.csv, target: default, fold: all, folds: 4, test: 0.2, columns: {loan_id: ignore},
  where: [{column: home, is: "!=", value: mortgage}]}
model: {hidden: [3]}
train: {epochs: 5}
Y
"$reprise" run a.yaml -o a.reprise >/dev/null 2>err || fail "$(cat err)"
"$reprise" inspect a.reprise --member outputs/out_of_fold.csv >folds.csv
expect 0 "scored      out of fold" "$reprise" validate a.reprise --part folds --by region --groups home \
    --favourable no --threshold 0.3 -o folds.json
expect 0 "made again" "$reprise" validate a.reprise --check folds.json --isa ref --threads 1
python3 - <<'P' || fail "figures out of fold"
import csv, hashlib, json, math, struct
s = json.load(open("folds.json"))["predicate"]
table = list(csv.DictReader(open("loans.csv")))
rows = list(csv.DictReader(open("folds.csv")))
# a network's decimals are those of binary32 numbers
p = [struct.unpack("f", struct.pack("f", float(r["p_yes"])))[0] for r in rows]
y = [table[int(r["row"])]["default"] == "yes" for r in rows]
f = s["figures"]
assert f["rows"] == len(rows) == s["data"]["rows"] and s["options"]["part"] == "folds" and s["development"] is None
assert math.isclose(float(f["calibration"]["brier"]), sum((a - b) ** 2 for a, b in zip(p, y)) / len(p), rel_tol=1e-14)
assert f["thresholds"][2]["true_positives"] == sum(a >= 0.3 and b for a, b in zip(p, y)), f["thresholds"]
for part in s["slices"][0]["parts"]:
    at = [i for i, r in enumerate(rows) if table[int(r["row"])]["region"] == (part["value"] or "")]
    assert part["figures"]["rows"] == len(at) and part["figures"]["positives"] == sum(y[i] for i in at)
for part in s["groups"][0]["parts"]:
    at = [i for i, r in enumerate(rows) if table[int(r["row"])]["home"] == (part["value"] or "NA")]
    assert part["selection"]["selected"] == sum(p[i] < 0.3 for i in at), part
data = s["data"]
assert data["sha256"] == hashlib.sha256(open("loans.csv", "rb").read()).hexdigest() and data["without_score"] == 0
assert data["unfiltered"] is False and not any(table[int(r["row"])]["home"] == "mortgage" for r in rows)
key = lambda r: tuple(v for k, v in table[int(r["row"])].items() if k not in ("loan_id", "default"))
apart = sum(any(key(a) == key(b) and a["fold"] != b["fold"] for b in rows) for a in rows)
assert data["seen"] == apart, (data["seen"], apart)
P

# a fold that failed has no lines: its rows are counted, judged by nobody, and known to all other trials
forge a.reprise failed.reprise outputs/out_of_fold.csv \
    'm = b"".join(l for l in bytes(m).splitlines(True) if l.split(b",")[1] != b"2")'
expect 0 "which have no score and are not judged" "$reprise" validate failed.reprise --part folds -o failed.json
python3 - <<'P' || fail "rows of a fold that failed"
import csv, json
data = [json.load(open(name))["predicate"]["data"] for name in ("folds.json", "failed.json")]
gone = sum(r["fold"] == "2" for r in csv.DictReader(open("folds.csv")))
assert gone and data[1]["without_score"] == gone and data[1]["rows"] == data[0]["rows"] - gone
P

# the area that later rows are held against is of the folds that did not fail, and says so
head -401 "$source/examples/loans.csv" >later.csv
for name in a failed; do
    "$reprise" validate $name.reprise --csv later.csv -o $name.later.json >$name.later.txt
    "$reprise" inspect $name.reprise --member outputs/out_of_fold.csv >$name.scores.csv
done
grep -q 'AUC out of fold' a.later.txt && ! grep -q 'have no score' a.later.txt || fail "no fold failed"
gone=$(($(wc -l <a.scores.csv) - $(wc -l <failed.scores.csv)))
grep -q "of $(($(wc -l <failed.scores.csv) - 1)) rows: $gone of folds that failed have no score" failed.later.txt ||
    fail "of how many rows the area is: $(cat failed.later.txt)"
python3 - <<'P' || fail "the area of the folds that did not fail"
import csv, json
for name in ("a", "failed"):
    rows = list(csv.DictReader(open(name + ".scores.csv")))
    yes, no = ([float(r["p_yes"]) for r in rows if (r["truth"] == "yes") == t] for t in (True, False))
    area = sum((a > b) + (a == b) / 2 for a in yes for b in no) / len(yes) / len(no)
    d = json.load(open(name + ".later.json"))["predicate"]["development"]
    assert abs(float(d["auc"]) - area) < 1e-12 and d["rows"] == len(rows) and d["part"] == "folds", d
    assert (d["without_score"] > 0) == (name == "failed"), d
P

# what no run writes
for wrong in 'm.replace(b",2,", b",x,", 1)' 'm + m.splitlines(True)[1]' 'm[:-20] + b"\n"' \
    'm.replace(b"p_yes", b"p,q", 1)' \
    'b"\n".join(l if not l.startswith(b"9") else b"9999" + l for l in bytes(m).split(b"\n"))' 'b""'; do
    forge a.reprise forged.reprise outputs/out_of_fold.csv "m = $wrong"
    expect 4 "outputs/out_of_fold.csv" "$reprise" validate forged.reprise --part folds
done
# memory by what lines of scores may hold, not by line feeds; sanitizers want more addresses
forge a.reprise forged.reprise outputs/out_of_fold.csv 'm = m.splitlines(True)[0] + b"\n" * 40000000'
if (ulimit -v 900000; exec "$reprise" --version) >/dev/null 2>&1; then
    expect 4 "line of scores 1: expected" bash -c \
        "ulimit -v 900000; exec '$reprise' validate forged.reprise --part folds --threads 1"
fi
tested=$(python3 -c '
import csv
have = {int(r["row"]) for r in csv.DictReader(open("folds.csv"))}
print(next(i for i in range(1003) if i not in have))')
forge a.reprise forged.reprise outputs/out_of_fold.csv "
h, *r = bytes(m).splitlines(True)
r.append(b'$tested' + r[0][r[0].index(b','):])
m = h + b''.join(sorted(r, key=lambda l: int(l.split(b',')[0])))"
expect 4 "row $tested is none that trained the model" "$reprise" validate forged.reprise --part folds

# a search: all folds together have chosen the settings
{ cat a.yaml; echo 'search: {over: {lr: [0.01, 0.03]}}'; } >search.yaml
"$reprise" run search.yaml -o search.reprise >/dev/null 2>err || fail "$(cat err)"
"$reprise" validate search.reprise --part folds -o search.json >/dev/null
python3 - <<'P' || fail "rows that chose the settings"
import json
chosen, plain = (json.load(open(name))["predicate"]["data"] for name in ("search.json", "folds.json"))
assert chosen["chose"] == chosen["rows"] - chosen["without_outcome"] - chosen["seen"] > 0 == plain["chose"], chosen
P

# it is about other models than the archive's: it lies beside the archive, and nothing counts it
"$reprise" keygen k >/dev/null
expect 2 "not about the archive's model" "$reprise" validate a.reprise --part folds --attach --key k.pem
expect 2 "expected test, found" "$reprise" explain a.reprise --part folds
expect 2 "expected test or folds" "$reprise" validate a.reprise --part fold
sed 's/fold: all, //' a.yaml >one.yaml
"$reprise" run one.yaml -o one.reprise >/dev/null 2>err || fail "$(cat err)"
expect 2 "a recipe with data.fold: all makes them" "$reprise" validate one.reprise --part folds
