#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The clause of a policy on a fall against the parent, as somebody would try it whose retrained model is worse: another
# parent, a weak one, other rows, another recipe, nobody's word. And the report shows the comparison.
# Usage: policy_fall.sh BUILD_DIR
# shellcheck source=tests/cli/cli_lib.sh
. "$(dirname "$0")/../cli_lib.sh"
loans=$source_dir/examples/loans.csv
{ head -1 "$loans"; sed -n 2,1501p "$loans"; } >old.csv
{ head -1 "$loans"; sed -n 1601,3100p "$loans"; } >new.csv
{ head -1 "$loans"; sed -n 3601,4200p "$loans"; } >later.csv
# outcomes at random: whatever is trained on these is worse than the parent
awk -F, -v OFS=, 'NR > 1 { $NF = NR * 7919 % 97 < 20 ? "yes" : "no" } { print }' new.csv >noise.csv
for who in builder validator; do "$reprise" keygen $who >/dev/null; done
cat >p.yaml <<'Y'
reprise: 1
seed: 3
data: {csv: old.csv, target: default, columns: {loan_id: ignore}}
Y
sed 's/seed: 3/seed: 4/; s/loan_id: ignore/&, late_payments: ignore, utilisation_percent: ignore/' p.yaml >weak.yaml
for run in p weak; do "$reprise" run $run.yaml -o $run.reprise --key builder.pem >/dev/null 2>&1; done
id_of() { "$reprise" inspect "$1" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["archive_id"])'; }
train() { "$reprise" retrain "$1.reprise" --csv "$2.csv" -o "$3.reprise" --key builder.pem --force >/dev/null 2>&1; }
train p new c
train p noise noise
train weak noise weak_child
held() { # PARENT CHILD OPTION...: by the validator
    local parent=$1 child=$2
    shift 2
    "$reprise" retrain "$parent.reprise" --child "$child.reprise" --attach --key validator.pem "$@" >/dev/null
}
policy() { # CLAUSES...
    printf '%s\n' 'policy: 1' 'groups: {builders: [builder.pub.pem], validators: [validator.pub.pem]}' \
        'builder: {of: builders}' "$@" >policy.yaml
}
# unmet WORDS ARCHIVE CLAUSE..., met ARCHIVE CLAUSE...
unmet() {
    local words=$1 archive=$2
    shift 2
    policy "$@"
    gives 4 "^unmet .*$words" "$reprise" verify "$archive.reprise" --policy policy.yaml
}
met() {
    local archive=$1
    shift
    policy "$@"
    works "^verified" "$reprise" verify "$archive.reprise" --policy policy.yaml
}

# nobody has said anything; then somebody has; one whose word does not count has
clause='fall: {by: validators, auc: 0.05, brier: 0.05, accuracy: 0.1}'
unmet "no comparison with its predecessor" c "$clause"
cp c.reprise own.reprise
"$reprise" retrain p.reprise --child own.reprise --attach --key builder.pem >/dev/null
unmet "no comparison with its predecessor" own "$clause"
unmet "made the run itself" own 'fall: {by: builders, auc: 0.05, independent: true}'
held p c
met c "$clause" 
met c 'fall: {by: validators, on: validation, rows: 250, log_loss: 0.1, ks: 0.2, gini: 0.2, same_recipe: true, days: 2}'
unmet "judged other rows than the test part" c 'fall: {by: validators, auc: 0.05, on: test}'
unmet "judged the run's own rows" c 'fall: {by: validators, auc: 0.05, on: rows}'
unmet "judged too few rows" c 'fall: {by: validators, auc: 0.05, rows: 5000}'
unmet "found rmse nowhere: there are auc, gini, ks, accuracy, brier, log_loss" c 'fall: {by: validators, rmse: 1}'
unmet "the run names none as its predecessor" p "$clause"

# a model that is worse, where outcomes are what they are; one statement that says so is not outvoted
cp noise.reprise twice.reprise
held p noise --rows later.csv
unmet "found auc 0[.0-9]* after 0" noise 'fall: {by: validators, auc: 0.05}'
met noise 'fall: {by: validators, auc: 0.9}'
held p twice # on its own rows, of noise
met twice 'fall: {by: validators, auc: 0.1}'
held p twice --rows later.csv
unmet "found auc 0[.0-9]* after 0" twice 'fall: {by: validators, auc: 0.1}'
met twice 'fall: {by: validators, auc: 0.1, on: validation}'

# a statement against another archive than its predecessor; a weak parent, which only who names the parent sees
held weak noise --rows later.csv
unmet "found auc" noise 'fall: {by: validators, auc: 0.05}'
train p noise fresh
held weak fresh --rows later.csv
unmet "held it against another archive than its predecessor" fresh 'fall: {by: validators, auc: 0.5}'
held weak weak_child
met weak_child 'fall: {by: validators, auc: 0.1}'
unmet "the run names $(id_of weak.reprise) as its predecessor" weak_child \
    "fall: {by: validators, auc: 0.1, predecessor: $(id_of p.reprise)}"
met c "fall: {by: validators, auc: 0.1, predecessor: $(id_of p.reprise)}"

# rows that trained the child; a predecessor that is only named
train p new trained
held p trained --rows new.csv
unmet "judged rows that the model was trained on" trained 'fall: {by: validators, auc: 0.5}'
met trained 'fall: {by: validators, auc: 0.5, seen: 1}'
sed "s/old.csv/new.csv/; s/^seed: 3/seed: 3\npredecessor: $(id_of p.reprise)/" p.yaml >named.yaml
echo 'train: {l2: 7}' >>named.yaml
"$reprise" run named.yaml -o named.reprise --key builder.pem >/dev/null 2>&1
held p named
met named 'fall: {by: validators, auc: 0.1}'
unmet "does not say that its recipe is the predecessor's" named 'fall: {by: validators, auc: 0.1, same_recipe: true}'
# a test part that is a table of its own is that table, and the line says that somebody chose it
sed 's/target: default/&, test_csv: later.csv/; /^train/d' named.yaml >tested.yaml
"$reprise" run tested.yaml -o tested.reprise --key builder.pem >/dev/null 2>&1
held p tested --part test
met tested 'fall: {by: validators, auc: 0.1, on: test, rows: 600}'
works "test part a table of its own" "$reprise" verify tested.reprise --policy policy.yaml --json
# rows that the archive does not hold: nobody can tell a part of them from others
"$reprise" retrain p.reprise --csv new.csv -o kept.reprise --key builder.pem --withhold kept >/dev/null 2>&1
held p kept --withheld kept
unmet "nobody can tell" kept 'fall: {by: validators, auc: 0.1}'
# what demands nothing, and what is no id
policy 'fall: {by: validators}'
fails 2 'demands nothing' "$reprise" verify c.reprise --policy policy.yaml
policy 'fall: {by: validators, auc: 0.1, predecessor: p.reprise}'
fails 2 'expected an archive id' "$reprise" verify c.reprise --policy policy.yaml
policy 'fall: {by: validators, auc: -0.1}'
fails 2 '0 or more' "$reprise" verify c.reprise --policy policy.yaml
# a statement moved from one child to another is about another archive
python3 - <<'PY'
import tarfile
def span(name):
    with tarfile.open(name) as archive:
        one = next(m for m in archive if m.name.startswith("signatures/retraining"))
    return one.offset, one.offset_data + (one.size + 511) // 512 * 512
(first, last), (begin, end) = span("c.reprise"), span("fresh.reprise")
mine, theirs = open("fresh.reprise", "rb").read(), open("c.reprise", "rb").read()
open("moved.reprise", "wb").write(mine[:begin] + theirs[first:last] + mine[end:])
PY
fails 4 'about another archive' "$reprise" verify moved.reprise --trust builder.pub.pem --trust validator.pub.pem

# what only somebody's word ties to the archive: another table's digest, other rows than its part has
cat >forge.py <<'PY'
# forge.py ARCHIVE OUT KEY.pem WAS IS: the comparison in the archive with other words, signed again by that key
import base64, hashlib, json, re, subprocess, sys
name, out, key, was, now = sys.argv[1:]
data = open(name, "rb").read()
at = data.index(b"signatures/retraining-")
size = int(data[at + 124:at + 135], 8)
end = at + 512 + (size + 511) // 512 * 512
envelope = json.loads(data[at + 512:at + 512 + size])
payload, changes = re.subn(was.encode(), now.encode(), base64.b64decode(envelope["payload"]))
assert changes == 1, changes
kind = envelope["payloadType"].encode()
open("pae", "wb").write(b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload))
while True:  # a signature has the lower of its two s: of 32 bytes, which are 33 in DER where the first bit is set
    sig = subprocess.run(["openssl", "dgst", "-sha256", "-sign", key, "pae"], check=True, capture_output=True).stdout
    if sig[4 + sig[3] + 1] <= 32 and sig[4 + sig[3] + 2] < 0x7f:
        break
envelope["payload"] = base64.b64encode(payload).decode()
envelope["signatures"][0]["sig"] = base64.b64encode(sig).decode()
text = json.dumps(envelope, sort_keys=True, separators=(",", ":")).encode()
header = bytearray(data[at:at + 512])
path = re.sub(rb"-[0-9a-f]{16}\.dsse", b"-%b.dsse" % hashlib.sha256(text).hexdigest()[:16].encode(),
              bytes(header[:100]))
header[:100] = path
header[124:135] = b"%011o" % len(text)
header[148:156] = b" " * 8
header[148:156] = b"%06o\0 " % sum(header)
open(out, "wb").write(data[:at] + header + text + b"\0" * (-len(text) % 512) + data[end:])
PY
forge() {
    attempt python3 forge.py c.reprise forged.reprise validator.pem "$1" "$2"
    holds "the comparison signed again" [ "$code" = 0 ]
}
forge '"classes":' '"classes":'
met forged "$clause"
forge '("data":{[^}]*"sha256":")[0-9a-f]{64}' "\\g<1>$(printf '%064d' 7)"
unmet "judged another table than the archive's" forged "$clause"
forge '("data":{[^}]*"rows":)300' '\g<1>299'
unmet "judged more or fewer rows" forged "$clause"

# a line of warm starts: whose rows trained the first is counted where that archive is given, and known to nobody else
sed 's/^data/model: {hidden: [3]}\ntrain: {epochs: 2}\ndata/' p.yaml >net.yaml
"$reprise" run net.yaml -o first.reprise --key builder.pem >/dev/null 2>&1
"$reprise" retrain first.reprise --csv new.csv --warm-start -o second.reprise --key builder.pem >/dev/null 2>&1
"$reprise" retrain second.reprise --csv later.csv --warm-start -o third.reprise --key builder.pem >/dev/null 2>&1
for child in blind_third known_third; do cp third.reprise $child.reprise; done
taken='parent: any'
held second blind_third
unmet "does not say how many of its rows trained .*and --parent .of the parent's own" blind_third "$taken" \
    'fall: {by: validators, auc: 0.5}'
works '^seen +0 equal a training row of the parent, 0 one of the child' "$reprise" retrain second.reprise \
    --child known_third.reprise --parent first.reprise --attach --key validator.pem --statement line.json
met known_third "$taken" 'fall: {by: validators, auc: 0.5, seen: 0}'
works 'every byte the same' "$reprise" retrain second.reprise --child third.reprise --parent first.reprise \
    --check line.json
fails 2 "archive $(id_of first.reprise) is not among those given" "$reprise" retrain second.reprise \
    --child third.reprise --check line.json
fails 4 'the run before it started from' "$reprise" retrain second.reprise --child third.reprise --parent p.reprise
fails 2 'started from no other' "$reprise" retrain p.reprise --child c.reprise --parent first.reprise
cp third.reprise grand.reprise
held second grand --parent first.reprise --rows old.csv
unmet "judged rows that the model was trained on" grand "$taken" 'fall: {by: validators, auc: 0.5}'
# a validation part that said when to stop is told, and may be judged on
sed 's/epochs: 2/epochs: 4, patience: 2/' net.yaml >stops.yaml
"$reprise" run stops.yaml -o stops.reprise --key builder.pem >/dev/null 2>&1
train stops new stopped
works '^chosen +by 300 of these rows' "$reprise" retrain stops.reprise --child stopped.reprise --attach \
    --key validator.pem
met stopped 'fall: {by: validators, auc: 0.5}'
works 'by 300 of whose rows the run was chosen' "$reprise" verify stopped.reprise --policy policy.yaml

# the report
cp fresh.reprise unheld.reprise
train p new unheld
attempt "$reprise" report unheld.reprise -o u.html --trust builder.pub.pem
holds "the report says that nobody compared" grep -qF 'no trusted key has held it against that one' u.html
policy 'fall: {by: validators, auc: 0.05}'
attempt "$reprise" report c.reprise -o r.html --policy policy.yaml
for words in 'Against its parent' 'This run names it as its predecessor' 'Its recipe is the parent&#39;s' 'Spearman' \
    'rows stay in theirs' 'Drift, feature by feature' 'Squared error a row'; do
    holds "the report says $words" grep -qF "$words" r.html
done
cat >look.py <<'PY'
import re
row = re.search(r'Accuracy at 0.5</th>(.*?)</tr>', open("r.html").read())[1].replace("\u2212", "-")
before, now, change = (float(x) for x in re.findall(r'<td class="n">([-0-9.]+)', row))
assert abs(now - before - change) < 2e-4, row
PY
holds "the report has the accuracy of both and its change" python3 look.py
finish
