#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# reprise retrain: parent and child on the same rows. The statement's counts and figures are those of the predictions of
# both, counted here; it is the same bytes on every level, is made again, names what differs, and lies in the child.
# Usage: two_models.sh BUILD_DIR
set -euo pipefail
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/../../.." && pwd)
reprise=$build/cli/reprise
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "FAILED: $*" >&2; exit 1; }
# expect CODE WORDS COMMAND...: exits so, and says the words
expect() {
    local code=$1 words=$2 got=0
    shift 2
    "$@" >out 2>err || got=$?
    [ "$got" = "$code" ] || fail "$*: exit $got, expected $code: $(cat err)"
    grep -qF -- "$words" err out || fail "$*: expected \"$words\", found: $(cat err out)"
}

loans=$source/examples/loans.csv
{ head -1 "$loans"; sed -n 2,1501p "$loans"; } >old.csv
{ head -1 "$loans"; sed -n 1401,3000p "$loans" | sed '1,400s/,car,/,boat,/'; } >new.csv
sed 's/loans.csv/old.csv/; s/epochs: 12/epochs: 3/; s/^  folds.*/  folds: 5\n  test: 0.2/' \
    "$source/examples/loans.yaml" >p.yaml
"$reprise" keygen me >/dev/null
"$reprise" keygen you >/dev/null
"$reprise" run p.yaml -o p.reprise --key me.pem >/dev/null 2>&1

"$reprise" retrain p.reprise --csv new.csv -o c.reprise --statement one.json --threshold 0.25 >text 2>/dev/null
awk 'length > 80 { print; bad = 1 } END { exit bad }' text || fail "lines beyond 80 columns"
for words in "validation part" "Spearman" "bands of the parent's training" "decisions at 0.25" "CSI\|PSI" "squared"; do
    grep -q "$words" text || fail "the text lacks $words"
done
pair=("$reprise" retrain p.reprise --child c.reprise)
"${pair[@]}" --statement two.json --threshold 0.250 --isa ref --threads 1 >/dev/null
cmp one.json two.json || fail "the level changes the statement"

# counted again from what both models predict
for run in p c; do "$reprise" predict $run.reprise --csv new.csv -o $run.csv >/dev/null 2>&1; done
"$reprise" inspect c.reprise --member outputs/predictions.csv >held.csv
cat >count.py <<'P'
import csv, json, math
said = json.load(open("one.json"))["predicate"]
held = list(csv.DictReader(open("held.csv")))
rows = [int(r["row"]) for r in held]
y = [r["truth"] == "yes" for r in held]
a, b = ([float(r["p_yes"]) for r in csv.DictReader(open(name))] for name in ("p.csv", "c.csv"))
a, b = [a[i] for i in rows], [b[i] for i in rows]
n = len(rows)
def near(found, expected, what):
    assert abs(float(found) - expected) <= 1e-6 * (1 + abs(expected)), (what, found, expected)
# predictions are written with the digits of binary32: ranks are exact, differences nearly
score, d = said["scores"][0], said["decisions"]
sign = lambda x: (x > 0) - (x < 0)
pairs = [(sign(a[i] - a[j]), sign(b[i] - b[j])) for i in range(n) for j in range(i)]
near(score["kendall"], sum(p * q for p, q in pairs) / math.sqrt(sum(p != 0 for p, _ in pairs)) /
     math.sqrt(sum(q != 0 for _, q in pairs)), "kendall")
rank = lambda x: [sum(v < w for v in x) + sum(v <= w for v in x) - n for w in x]
u, v = rank(a), rank(b)
near(score["spearman"], sum(p * q for p, q in zip(u, v)) / math.sqrt(sum(p * p for p in u)) /
     math.sqrt(sum(q * q for q in v)), "spearman")
near(score["mean"], sum(q - p for p, q in zip(a, b)) / n, "mean")
edges = [float(e) for e in score["edges"]]
band = lambda x: sum(e <= x for e in edges)
table = [[0] * (len(edges) + 1) for _ in range(len(edges) + 1)]
for p, q in zip(a, b):
    table[band(p)][band(q)] += 1
assert table == score["migration"], (table, score["migration"])
moved = [(i, j, c) for i, row in enumerate(table) for j, c in enumerate(row)]
assert score["moved"] == {"same": sum(c for i, j, c in moved if i == j), "up": sum(c for i, j, c in moved if j > i),
                          "down": sum(c for i, j, c in moved if j < i),
                          "beyond_next": sum(c for i, j, c in moved if abs(i - j) > 1)}
was, now = [p >= 0.25 for p in a], [q >= 0.25 for q in b]
assert d["changed"] == sum(p != q for p, q in zip(was, now))
assert d["counts"] == [[sum(p == s and q == t for p, q in zip(was, now)) for t in (False, True)] for s in (False, True)]
assert d["child_alone"] == sum(q == t != p for p, q, t in zip(was, now, y))
assert d["parent_alone"] == sum(p == t != q for p, q, t in zip(was, now, y))
assert d["both_right"] + d["neither_right"] + d["child_alone"] + d["parent_alone"] == n == said["data"]["rows"]
# DeLong (1988), equations 3 to 5, from all pairs
def placements(x):
    kernel = lambda p, q: (p > q) + 0.5 * (p == q)
    high, low = [s for s, t in zip(x, y) if t], [s for s, t in zip(x, y) if not t]
    return [sum(kernel(p, q) for q in low) / len(low) for p in high], [sum(kernel(p, q) for p in high) / len(high)
                                                                       for q in low]
(pa, qa), (pb, qb) = placements(a), placements(b)
change = sum(pb) / len(pb) - sum(pa) / len(pa)
variance = lambda s, t: sum((x - z - change) ** 2 for x, z in zip(t, s)) / (len(s) - 1) / len(s)
paired = said["difference"]["auc"]
near(paired["difference"], change, "auc")
near(paired["error"], math.sqrt(variance(pa, pb) + variance(qa, qb)), "auc error")
near(paired["p"], math.erfc(abs(change) / float(paired["error"]) / math.sqrt(2)), "auc p")
e = [(q - t) ** 2 - (p - t) ** 2 for p, q, t in zip(a, b, y)]
near(said["difference"]["loss"]["difference"], sum(e) / n, "loss")
near(said["difference"]["loss"]["error"], math.sqrt(sum((x - sum(e) / n) ** 2 for x in e) / (n - 1) / n), "loss error")
assert said["predecessor"]["named"] and said["predecessor"]["recipe_differs"] == []
assert said["changes"]["categories"] == [{"column": "purpose", "gone": {"count": 0, "first": []},
                                          "new": {"count": 1, "first": ["boat"]}}], said["changes"]
# rows 1401 to 1501 of the table are in both files, so of the parent's training some must be seen
assert said["data"]["seen_by_parent"] > 0 and said["data"]["seen"] == 0, said["data"]
assert float(said["figures"]["child"]["discrimination"]["auc"]) == sum(map(float, [paired["difference"], said["figures"]
        ["parent"]["discrimination"]["auc"]])) or abs(change) < 1
P
python3 count.py || fail "counted again"
# the figures are those of validate on the same rows; the drift that of monitor on the child's training rows
head -1 new.csv >held_rows.csv
awk -F, 'NR == FNR { if (FNR > 1) held[$1 + 2]; next } FNR in held' held.csv new.csv >>held_rows.csv
for run in p c; do "$reprise" validate $run.reprise --csv held_rows.csv --threshold 0.25 -o $run.json >/dev/null; done
python3 - <<'P' || fail "figures beside validate's"
import json
said, p, c = (json.load(open(name))["predicate"] for name in ("one.json", "p.json", "c.json"))
assert said["figures"] == {"child": c["figures"], "parent": p["figures"]}
assert said["data"]["seen_by_parent"] == p["data"]["seen"]
P
"$reprise" inspect c.reprise --member outputs/reference.json >reference.json
"$reprise" monitor p.reprise --csv new.csv -o all.json >/dev/null
python3 - <<'P' || fail "drift"
import json
drift, child = json.load(open("one.json"))["predicate"]["drift"], json.load(open("reference.json"))
everything = json.load(open("all.json"))["predicate"]
assert drift["samples"] and sum(drift["scores"][0]["counts"]) == child["rows"]
for mine, theirs in zip(drift["columns"], everything["columns"]):
    assert sum(mine["counts"]) == child["rows"] < sum(theirs["counts"]) and mine["name"] == theirs["name"]
names = {c["name"]: c for c in drift["columns"]}
assert names["purpose"]["new_values"] == ["boat"]
P

# made again; other archives, other rows, other figures are told apart
expect 0 "every byte the same" "${pair[@]}" --check one.json
sed 's/"both_right":[0-9]*/"both_right":9/' one.json >wrong.json
expect 3 "decisions.both_right" "${pair[@]}" --check wrong.json
"$reprise" retrain c.reprise --csv old.csv -o d.reprise >/dev/null 2>&1
expect 4 "is about child" "$reprise" retrain p.reprise --child d.reprise --check one.json
expect 4 "is about parent" "$reprise" retrain d.reprise --child c.reprise --check one.json
expect 2 "takes --child" "$reprise" retrain p.reprise --csv new.csv -o x.reprise --check one.json
expect 2 "own rows" "${pair[@]}" --check one.json --rows old.csv
printf '{}' >empty.json
expect 4 "expected a statement" "${pair[@]}" --check empty.json
"${pair[@]}" --rows old.csv --statement rows.json >/dev/null
expect 0 "every byte the same" "${pair[@]}" --rows old.csv --check rows.json
expect 4 "SHA-256 differs" "${pair[@]}" --rows new.csv --check rows.json
grep -q '"seen_by_parent":960,' rows.json || fail "the parent's training rows: $(grep -o '"data":[^}]*' rows.json)"
"${pair[@]}" --part test --statement test.json >/dev/null
expect 0 "every byte the same" "${pair[@]}" --check test.json
grep -q '"rows":319,' test.json || fail "the test part: $(grep -o '"data":[^}]*' test.json)"
# a parent beside itself; not its predecessor; a child by another recipe
expect 0 "does not name" "$reprise" retrain c.reprise --child c.reprise --statement self.json
grep -q '"changed":0,' self.json || fail "a model's decisions differ from its own"
sed 's/lr: 0.01/lr: 0.02/; s/old.csv/new.csv/' p.yaml >other.yaml
"$reprise" run other.yaml -o other.reprise >/dev/null 2>&1
expect 0 "recipe      not the parent's in: data, predecessor, train" "$reprise" retrain p.reprise --child other.reprise

# in the child, signed; another's key, and a statement about another child, are not this one's
"$reprise" sign c.reprise --key me.pem >/dev/null
expect 0 "attached" "${pair[@]}" --attach --key me.pem --trust me.pub.pem
expect 0 "retrained" "$reprise" verify c.reprise --trust me.pub.pem
"$reprise" inspect c.reprise --json | grep -q '"kind":"retraining"' || fail "the kind of the statement"
member=$("$reprise" inspect c.reprise --json | grep -o 'signatures/retraining-[^"]*' | head -1)
"$reprise" inspect c.reprise --member "$member" >attached.json
expect 0 "every byte the same" "${pair[@]}" --check attached.json --trust me.pub.pem
expect 4 "" "${pair[@]}" --check attached.json --trust you.pub.pem
expect 4 "" "$reprise" retrain p.reprise --csv new.csv -o x.reprise --trust you.pub.pem
[ ! -e x.reprise ] || fail "trained from a parent that is not trusted"
expect 0 "attached" "$reprise" retrain p.reprise --csv new.csv -o e.reprise --key me.pem --attach --trust me.pub.pem
expect 0 "retrained" "$reprise" verify e.reprise --trust me.pub.pem
expect 2 "--attach adds a signed statement" "${pair[@]}" --attach

# three classes, quantities, and recipes that keep no rows
awk 'BEGIN { print "x,k,y,z"; for (i = 0; i < 400; i++)
    print i % 17 "," (i * 7) % 4 "," substr("abc", i * 5 % 3 + (i % 17 > 12), 1) "," i % 17 * 2 + i % 5 }' |
    sed 's/,,/,a,/' >t.csv
sed '2,150d' t.csv >u.csv
printf 'reprise: 1\ndata: {csv: t.csv, target: y, columns: {k: categorical, z: ignore}}\n' >three.yaml
printf 'reprise: 1\ndata: {csv: t.csv, target: z, columns: {y: ignore}}\ntrain: {task: regression}\n' >line.yaml
printf 'reprise: 1\ndata: {csv: t.csv, target: z, train_on_all: true}\ntrain: {task: regression}\n' >all.yaml
for run in three line all; do
    "$reprise" run $run.yaml -o $run.reprise >/dev/null 2>err || fail "$(cat err)"
    expect 0 archive "$reprise" retrain $run.reprise --csv u.csv -o $run.child.reprise
    cp out $run.text
done
grep -q "macro AUC" three.text || fail "three classes"
grep -q "RMSE" line.text || fail "a regression"
grep -q "the recipe keeps no rows" all.text || fail "no rows"
expect 2 "keeps no rows to validate on" "$reprise" retrain all.reprise --child all.child.reprise
expect 0 "Spearman" "$reprise" retrain all.reprise --child all.child.reprise --rows t.csv
expect 1 "cannot be compared" "$reprise" retrain three.reprise --child line.child.reprise
# whose drift it is: the child's training rows, wherever in the table they stand, as if those alone were monitored;
# and cells of rows that the recipe leaves out are nobody's business, here as in the training
awk -F, -v OFS=, 'BEGIN { split("validation,test,train", part) } NR == 1 { print $0, "part"; next }
    { print $0, part[NR % 3 + 1] }' u.csv >parts.csv
cat >parts.yaml <<'Y'
reprise: 1
data: {csv: parts.csv, target: z, split: part, where: [{column: k, is: "<", value: 3}]}
train: {task: regression}
Y
"$reprise" run parts.yaml -o parts.reprise >/dev/null 2>err || fail "$(cat err)"
awk -F, -v OFS=, 'NR > 1 { $1 = $1 * 2 + NR % 5; $4 = $4 + NR % 3 } { print }' parts.csv >moved.csv
awk -F, -v OFS=, 'NR > 1 && $2 == 3 { $1 = "unreadable"; $4 = "so too" } { print }' moved.csv >left.csv
awk -F, 'NR == 1 || ($2 < 3 && $5 == "train")' moved.csv >trained.csv
"$reprise" monitor parts.reprise --csv trained.csv -o monitored.json >/dev/null
for rows in moved left; do
    expect 0 archive "$reprise" retrain parts.reprise --csv $rows.csv -o parts.child.reprise --force \
        --statement $rows.json
done
python3 - <<'P' || fail "the drift of the training rows"
import json
of = lambda name: json.load(open(name))["predicate"]
moved, left, monitored = of("moved.json"), of("left.json"), of("monitored.json")
assert moved["drift"]["columns"] == monitored["columns"] and moved["drift"]["scores"] == monitored["scores"]
assert all(moved[key] == left[key] for key in ("figures", "difference", "scores", "drift"))
P
# two classes are two classes with an output for each, too
printf 'reprise: 1\ndata: {csv: old.csv, target: default, columns: {loan_id: ignore}}
model: {hidden: [4]}\ntrain: {epochs: 2, loss: cross_entropy}\n' >both.yaml
"$reprise" run both.yaml -o both.reprise >/dev/null 2>err || fail "$(cat err)"
expect 0 archive "$reprise" retrain both.reprise --csv new.csv -o both.child.reprise --statement both.json \
    --threshold 0.3
for run in both both.child; do
    "$reprise" predict $run.reprise --csv new.csv -o $run.csv >/dev/null 2>&1
done
"$reprise" inspect both.child.reprise --member outputs/predictions.csv >held.csv
python3 - <<'P' || fail "two classes with two outputs"
import csv, json
said = json.load(open("both.json"))["predicate"]
held = list(csv.DictReader(open("held.csv")))
a, b = ([float(r["p_yes"]) for r in csv.DictReader(open(name))] for name in ("both.csv", "both.child.csv"))
a, b = ([x[int(r["row"])] for r in held] for x in (a, b))
y, n = [r["truth"] == "yes" for r in held], len(held)
said_loss = float(said["difference"]["loss"]["difference"])
assert abs(said_loss - sum((q - t) ** 2 - (p - t) ** 2 for p, q, t in zip(a, b, y)) / n) < 1e-6
area = lambda of: float(said["figures"][of]["discrimination"]["auc"])
assert abs(float(said["difference"]["auc"]["difference"]) - (area("child") - area("parent"))) < 1e-12
assert said["decisions"]["changed"] == sum((p >= 0.3) != (q >= 0.3) for p, q in zip(a, b))
P
# a parent that started from another's states, whose rows nobody has given
{ sed 's/epochs: 2/epochs: 1/' both.yaml; echo 'parent: {archive: both.reprise, mode: retrain}'; } >warm.yaml
"$reprise" run warm.yaml -o warm.reprise >/dev/null 2>err || fail "$(cat err)"
expect 0 "not known: not all rows that trained the parent are at hand" \
    "$reprise" retrain warm.reprise --child both.child.reprise --statement warm.json
grep -q '"seen":[0-9][0-9]*,"seen_by_parent":null' warm.json || fail "a parent with a parent: whose rows are known"
# an exposure is each row's own: the part is judged as the same rows by themselves; and a row that the recipe leaves out
# may lack one, whatever its target's cell says
awk 'BEGIN { print "x,k,n,z"; for (i = 0; i < 600; i++)
    print i % 17 "," i % 3 "," 1 + i * i % 40 "," int((1 + i * i % 40) * (1 + i % 17 / 8) / 4) + i % 2 }' >exposed.csv
awk -F, -v OFS=, 'NR > 1 && $2 == 2 && NR % 4 == 0 { $3 = "" } { print }' exposed.csv >gap.csv
cat >exposed.yaml <<'Y'
reprise: 1
data: {csv: exposed.csv, target: z, exposure: n, where: [{column: k, is: "<", value: 2}]}
train: {task: regression, family: poisson}
Y
"$reprise" run exposed.yaml -o exposed.reprise >/dev/null 2>err || fail "$(cat err)"
for rows in exposed gap; do
    expect 0 archive "$reprise" retrain exposed.reprise --csv $rows.csv -o exposed.child.reprise --force \
        --statement $rows.json
done
"$reprise" inspect exposed.child.reprise --member outputs/predictions.csv >held.csv
awk -F, 'NR == FNR { if (FNR > 1) held[$1 + 2]; next } FNR == 1 || FNR in held' held.csv exposed.csv >held_rows.csv
"$reprise" retrain exposed.reprise --child exposed.child.reprise --rows held_rows.csv --statement alone.json >/dev/null
"$reprise" validate exposed.child.reprise --csv held_rows.csv -o by_itself.json >/dev/null
python3 - <<'P' || fail "the exposures of the part"
import json
of = lambda name: json.load(open(name))["predicate"]
part, gap, rows, child = of("exposed.json"), of("gap.json"), of("alone.json"), of("by_itself.json")
assert part["figures"] == rows["figures"] and part["scores"] == rows["scores"], (part["figures"], rows["figures"])
assert part["figures"]["child"] == child["figures"]
assert part["figures"] == gap["figures"] and part["drift"] == gap["drift"]
P
# what the parent was chosen and judged by, and the child is not
cat >chosen.yaml <<'Y'
reprise: 1
data: {csv: t.csv, target: z, folds: 3, fold: all, test_csv: u.csv, columns: {y: ignore}}
train: {task: regression}
search: {over: {l2: [0, 1]}}
Y
"$reprise" run chosen.yaml -o chosen.reprise >/dev/null 2>err || fail "$(cat err)"
expect 0 "recipe: not made again, so without a counterpart in the child: data.fold, data.test_csv, search" \
    "$reprise" retrain chosen.reprise --csv t.csv -o x.reprise --force
expect 0 archive "$reprise" retrain parts.reprise --csv moved.csv -o x.reprise --force
! grep -q "not made again" out || fail "left out what was not there"
# a child whose test part is a table of its own: that one is judged, as --rows does, and no row of the child's table
sed '/^search/d; s/fold: all, //; s/, test_csv: u.csv//' chosen.yaml >plain.yaml
sed '/^search/d; s/fold: all, //' chosen.yaml >tested.yaml
for name in plain tested; do
    "$reprise" run $name.yaml -o $name.reprise >/dev/null 2>err || fail "$(cat err)"
done
expect 0 "judged on" "$reprise" retrain plain.reprise --child tested.reprise --part test --statement tested.json
expect 0 "made again" "$reprise" retrain plain.reprise --child tested.reprise --check tested.json
expect 0 "judged on" "$reprise" retrain plain.reprise --child tested.reprise --rows u.csv --statement given.json
python3 - <<'P' || fail "the child's test table"
import hashlib, json
test, rows = (json.load(open(name))["predicate"] for name in ("tested.json", "given.json"))
assert test["options"]["part"] == "test" and test["data"] == rows["data"], test["data"]
assert test["data"]["sha256"] == hashlib.sha256(open("u.csv", "rb").read()).hexdigest()
assert all(test[key] == rows[key] for key in test if key != "options")
P
"$reprise" run tested.yaml -o away.reprise --withhold away >/dev/null 2>err || fail "$(cat err)"
expect 2 "was left out of this archive" "$reprise" retrain plain.reprise --child away.reprise --part test
expect 0 "judged on" "$reprise" retrain plain.reprise --child away.reprise --part test --withheld away
# the child's dates are not the parent's: each model reads the table by its own recipe, and the same rows drift from
# nothing, whatever the conditions that leave some out are on
awk 'BEGIN { print "x,d,m,z"; for (i = 0; i < 400; i++) { y = 2012 + i * 7 % 12; m = 1 + i * 5 % 12
    printf "%d,%d-%02d-%02d,%d-%02d-01,%d\n", i % 17, y, m, 1 + i % 28, y, m, y + m + i % 17 } }' >dated.csv
cat >dated.yaml <<'Y'
reprise: 1
data: {csv: dated.csv, target: z, columns: {d: {kind: date, parts: [days]}, m: categorical}}
train: {task: regression}
Y
sed 's/parts: \[days\]/parts: [days], since: 2015-01-01/' dated.yaml >origin.yaml
sed 's/parts: \[days\]/parts: [days, quarter]/; s/m: categorical/m: date/' dated.yaml >others.yaml
sed 's/target: z/target: z, where: [{column: d.quarter, is: "<", value: 5}, {column: m, is: present}]/' others.yaml \
    >where.yaml
for name in dated origin others where; do
    "$reprise" run $name.yaml -o $name.reprise >/dev/null 2>err || fail "$(cat err)"
done
for name in dated origin others where; do
    expect 0 "drift, the child's" "$reprise" retrain dated.reprise --child $name.reprise --statement $name.json
done
python3 - <<'P' || fail "a parent that reads dates as the child does"
import json
of = {name: json.load(open(name + ".json"))["predicate"] for name in ("dated", "origin", "others", "where")}
for name in of:
    assert all(float(column["psi"]) == 0 for column in of[name]["drift"]["columns"]), name
    assert of[name]["figures"]["parent"] == of["dated"]["figures"]["parent"], name
P
# nor is what is missing to the parent missing where the child's conditions look
awk 'BEGIN { print "x,k,z"; for (i = 0; i < 400; i++) { k = i % 4 == 1 ? -9 : i % 6
    print i % 17 "," k "," i % 17 / 2 + i * 7 % 11 / 10 + (k > 0 ? k : 2) } }' >coded.csv
coded=0
for words in "" ', missing: ["", "-9"]' ', where: [{column: k, is: "<", value: 9}]'; do
    name=coded$((++coded))
    printf 'reprise: 1\ndata: {csv: coded.csv, target: z%s}\ntrain: {task: regression}\n' "$words" >$name.yaml
    "$reprise" run $name.yaml -o $name.reprise >/dev/null 2>err || fail "$(cat err)"
done
for child in 1 3; do
    expect 0 "drift, the child's" "$reprise" retrain coded2.reprise --child coded$child.reprise --statement $child.json
done
python3 - <<'P' || fail "a parent that looks at what the child's conditions keep"
import json
all_rows, kept = (json.load(open(name + ".json"))["predicate"] for name in "13")
assert all(all_rows[key] == kept[key] for key in ("figures", "drift"))
P
# a model of six scores has a band for each, and bands between: a table that no terminal holds
awk 'BEGIN { print "k,z"; for (i = 0; i < 400; i++) print i % 6 "," i % 6 + i * 7 % 11 / 10 }' >six.csv
printf 'reprise: 1\ndata: {csv: six.csv, target: z}\ntrain: {task: regression}\n' >six.yaml
"$reprise" run six.yaml -o six.reprise >/dev/null 2>err || fail "$(cat err)"
expect 0 "a table of 13, which --json has" "$reprise" retrain six.reprise --child six.reprise
awk 'length > 80 && !/^parent / { print; bad = 1 } END { exit bad }' out || fail "lines beyond 80 columns"
"$reprise" retrain six.reprise --child six.reprise --json | grep -q '"migration":\[\[' || fail "--json has no table"
# data that were left out come back from their folders
"$reprise" retrain p.reprise --csv new.csv -o w.reprise --withhold kept --statement w.json >/dev/null 2>&1
expect 2 "left out of this archive" "$reprise" retrain p.reprise --child w.reprise
expect 0 "every byte the same" "$reprise" retrain p.reprise --child w.reprise --check w.json --withheld kept
# a line of which each left its data out: each is trained again, and its rows are counted, by whoever has the folders
{ head -1 "$loans"; sed -n 1501,3000p "$loans"; } >next.csv
"$reprise" run p.yaml -o first.reprise --withhold first >/dev/null 2>&1
expect 2 "give --parent-withheld DIR" "$reprise" retrain first.reprise --csv next.csv -o second.reprise
expect 2 "nothing was left out" "$reprise" retrain p.reprise --csv next.csv -o second.reprise --parent-withheld first
expect 0 archive "$reprise" retrain first.reprise --csv next.csv -o second.reprise --warm-start --withhold second \
    --parent-withheld first
expect 0 archive "$reprise" retrain second.reprise --csv next.csv -o third.reprise --warm-start --parent first.reprise \
    --parent-withheld second --parent-withheld first --statement third.json
grep -q '"seen_by_parent":[0-9]' third.json || fail "a line without its data: $(cat third.json)"
line=("$reprise" validate third.reprise --csv old.csv --parent second.reprise --parent first.reprise)
expect 0 "not known" "${line[@]}" --parent-withheld second
expect 0 "are in every feature what a training row is" "${line[@]}" --parent-withheld second --parent-withheld first \
    -o seen.json
expect 0 "every byte the same" "${line[@]}" --parent-withheld second --parent-withheld first --check seen.json
expect 4 "" "${line[@]}" --parent-withheld first --parent-withheld second
expect 2 "--parent-withheld first: nothing was left out" "${line[@]}" --parent-withheld second --parent-withheld first \
    --parent-withheld first
echo "two models: all as expected"
