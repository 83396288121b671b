#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# reprise compare: the same rows are told from others, by table, row and outcome; what differs is shown, what does not
# is not; archives without the evidence are unknown. And a card of blanks meets no policy. Usage: compare.sh BUILD_DIR
set -euo pipefail
build=$(cd "$1" && pwd)
export reprise=$build/cli/reprise
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "FAILED: $*" >&2; exit 1; }
has() { grep -qF -- "$2" "$1" || fail "$1 lacks \"$2\": $(head -c 3000 "$1")"; }
has_not() { ! grep -qF -- "$2" "$1" || fail "$1 has \"$2\""; }

awk 'BEGIN { print "x,z,y"; for (i = 0; i < 120; i++) 
    print i % 17 "," (i * 7) % 11 "," ((i * 5) % 13 > 5 ? "yes" : "no, sir") }' |
    sed 's/no, sir/"no, sir"/' >t.csv
recipe() { printf 'reprise: 1\nname: %s\nseed: %s\ndata: {csv: %s, target: y, positive: "yes"}\n%s\n' "$@"; }
recipe first 1 t.csv '' >a.yaml
recipe second 1 t.csv 'train: {l2: 10}' >b.yaml
recipe third 2 t.csv '' >c.yaml
sed '100s/^[0-9]*,/3,/' t.csv >u.csv
cmp -s t.csv u.csv && fail "the tables are the same"
"$reprise" keygen key >/dev/null
for run in a b c; do "$reprise" run $run.yaml -o $run.reprise >/dev/null 2>err || fail "$run: $(cat err)"; done
recipe fourth 1 u.csv '' >d.yaml
"$reprise" run d.yaml -o d.reprise >/dev/null 2>&1

"$reprise" compare a.reprise b.reprise c.reprise d.reprise >text
has text "B: judged on the same rows as A"
has text "C: judged on OTHER rows than A"
has text "D: judged on OTHER rows than A"
has text "reprise validate ARCHIVE --csv"
grep -qE '^  train\.l2 +1 +10 +1 +1$' text || fail "the key that differs: $(cat text)"
has_not text "data.target"
has text "(intercept)"
"$reprise" compare a.reprise b.reprise >text
has_not text "OTHER"
"$reprise" compare a.reprise a.reprise >text
has text "the same in all"

"$reprise" compare a.reprise b.reprise d.reprise --json >json
for run in a b d; do
    "$reprise" inspect $run.reprise --member outputs/metrics.json >$run.metrics
    "$reprise" inspect $run.reprise --member outputs/coefficients.json >$run.coefficients
done
python3 - <<'P' || fail "--json"
import json
j = json.load(open("json"))
assert [r["rows_of_first"] for r in j["runs"]] == ["same", "same", "other"], j["runs"]
figures = {f["key"]: f["values"] for f in j["figures"]}
terms = {f["key"]: f["values"] for f in j["coefficients"]}
for i, run in enumerate("abd"):
    m = json.load(open(run + ".metrics"))
    assert figures["auc"][i] == m["validation"]["auc"] and figures["training.auc"][i] == m["training"]["auc"]
    assert figures["auc_low"][i] == m["validation"]["figures"]["discrimination"]["auc_low"]
    for term in json.load(open(run + ".coefficients"))["outputs"][0]["terms"]:
        assert terms[term.get("column", "(intercept)")][i] == term["estimate"]
assert [k["key"] for k in j["recipe"]] == ["name", "train.l2"], j["recipe"]
P

# what is not there is unknown; what is damaged is an error; one archive is none to compare
"$reprise" run d.yaml -o w.reprise --withhold kept >/dev/null 2>err || fail "withheld: $(cat err)"
"$reprise" compare a.reprise w.reprise >text
has text "B: not known whether"
code=0; head -c 3000 a.reprise >cut.reprise
"$reprise" compare a.reprise cut.reprise >text 2>err || code=$?
[ $code != 0 ] && [ $code != 2 ] && [ ! -s text ] || fail "damaged: exit $code"
code=0; "$reprise" compare a.reprise >text 2>err || code=$?
[ $code = 2 ] || fail "one archive: exit $code"

# a card of blanks, such as a no-break space, says nothing
printf 'policy: 1\nname: p\ngroups: {b: [key.pub.pem]}\nbuilder: {of: b}\ncard: [owner]\n' >policy.yaml
for owner in '" \xc2\xa0\\n"' '" Risk"'; do
    recipe fifth 1 t.csv "card: {owner: $(printf "$owner")}" >e.yaml
    "$reprise" run e.yaml -o e.reprise --key key.pem --force >/dev/null 2>err || fail "card: $(cat err)"
    code=0; "$reprise" verify e.reprise --policy policy.yaml >text 2>err || code=$?
    want=4
    [ "$owner" != '" Risk"' ] || want=0
    [ "$code" = $want ] || fail "a card of $owner: exit $code: $(cat text err)"
done

# ---- diff: metrics of both, and whom to blame ----
different() {
    local code=0
    "$reprise" diff "$@" >text || code=$?
    test $code = 3 || fail "diff $*: exit code $code"
}
different a.reprise b.reprise
has text "metrics   of A: validation part"
has_not text "of the same rows"
has_not text "doctor"
grep -qE '^metric    loss: A 0\.[0-9]+, B 0\.[0-9]+$' text || fail "metrics: $(cat text)"
python3 - <<'P' || fail "scores: $(cat text)"
import csv, io, json, re, subprocess, os
def table(name):
    text = subprocess.run([os.environ["reprise"], "inspect", name, "--member", "outputs/predictions.csv"],
                          capture_output=True, text=True).stdout
    return {r["row"]: r for r in csv.DictReader(io.StringIO(text))}
a, b = table("a.reprise"), table("b.reprise")
scores = [c for c in next(iter(a.values())) if c not in ("row", "truth")]
both = [(a[r], b[r]) for r in a if r in b]
apart = sum(x[c] != y[c] for x, y in both for c in scores)
far = max(abs(float(x[c]) - float(y[c])) for x, y in both for c in scores if c != "predicted")
said = re.search(r"^scores    of (\d+) rows of A and (\d+) of them in B: (\d+) of (\d+) cells",
                 open("text").read(), re.M)
assert [int(n) for n in said.groups()] == [len(a), len(both), apart, len(both) * len(scores)], said.groups()
assert apart and abs(float(re.search(r"numbers: (\S+) apart", open("text").read())[1]) - far) < 1e-6
P
different a.reprise c.reprise
has text "metrics   are not of the same rows"
different a.reprise d.reprise
has text 'table     line 100, column "x"'
has_not text "doctor"
"$reprise" diff a.reprise a.reprise >text
has_not text "metric"
# a's archive as a host would have written it whose last step had another bit
python3 - <<'P'
import hashlib, tarfile
whole = bytearray(open("a.reprise", "rb").read())
member = tarfile.open("a.reprise").getmember("run/journal.bin")
end = member.offset_data + member.size
old = hashlib.sha256(whole[member.offset_data:end]).hexdigest().encode()
whole[end - 20] ^= 1
whole = whole.replace(old, hashlib.sha256(whole[member.offset_data:end]).hexdigest().encode())
open("bit.reprise", "wb").write(whole)
P
different a.reprise bit.reprise
has text "host      recipe and table are the same and bits are not"
has text "reprise doctor"
has text "metrics   all are the same"
different a.reprise bit.reprise --json
python3 - <<'P' || fail "diff --json"
import json
j = json.load(open("text"))
m = json.load(open("a.metrics"))["validation"]
assert j["host_suspected"] is True and j["metrics_rows"] == "same", j
assert {f["key"]: f["values"] for f in j["metrics"]}["auc"] == [m["auc"]] * 2, j["metrics"]
P

# of folds the means decide, with their deviation; the final model's own figures are of rows that trained it
printf '%s\n' 'reprise: 1' 'data: {csv: t.csv, target: y, positive: "yes", fold: all, folds: 4}' \
    'search: {over: {l2: [0.1, 1000]}}' >f.yaml
"$reprise" run f.yaml -o f.reprise >/dev/null 2>&1
sed 's/1000\]/10]/' f.yaml >g.yaml
"$reprise" run g.yaml -o g.reprise >/dev/null 2>&1
"$reprise" compare f.reprise g.reprise a.reprise >text
has text "means over folds, each by a model that did not see it, 120 rows"
has text "B: judged on the same rows as A"
has text "C: judged on OTHER rows than A"
"$reprise" compare f.reprise g.reprise a.reprise --json >json
"$reprise" inspect f.reprise --member outputs/metrics.json >f.metrics
"$reprise" inspect a.reprise --member outputs/metrics.json >a.metrics
"$reprise" inventory f.reprise --json >register
python3 - <<'P' || fail "folds"
import json
figures = {f["key"]: f["values"] for f in json.load(open("json"))["figures"]}
m = json.load(open("f.metrics"))
chosen = m["trials"]["variants"][m["trials"]["chosen"]]
assert figures["auc"][0] == chosen["mean"]["auc"] != m["training"]["auc"], figures["auc"]
assert figures["auc.deviation"][0] == chosen["deviation"]["auc"] and figures["auc.deviation"][2] is None
assert figures["training.auc"][0] == m["training"]["auc"]
assert figures["auc"][2] == json.load(open("a.metrics"))["validation"]["auc"]
row = json.load(open("register"))["archives"][0]
assert (row["metric"], row["value"]) == ("auc (mean of folds)", chosen["mean"]["auc"]), row
P
"$reprise" report f.reprise -o f.html >/dev/null
has f.html "Mean and deviation of 4 folds, each by a model that was not trained on it"
has f.html "These means chose its settings"
has f.html "mean of the folds"
has_not f.html "none were kept.</li>"
