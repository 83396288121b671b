#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# scripts/gpu-report.sh runs to its end on the emulated device: every part passes or says why it was skipped, the file
# is signed and a changed one is found out; a device that fails makes a report that says so. Usage: report.sh BUILD
# SOURCE
set -euo pipefail
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "report: $*" >&2
    cat "$work/said" >&2
    exit 1
}

"$source/scripts/gpu-report.sh" --device emulated --build "$build" "$work/r" >"$work/said" 2>&1 || fail "a part failed"
verify() {
    python3 -B "$source/scripts/gpu-report.py" verify "$1" "$work/r-key.pub.pem"
}
verify "$work/r.json" >/dev/null || fail "its signature does not hold"
python3 - "$work/r.json" "$work/changed.json" <<'PYTHON'
import base64, json, sys
envelope = json.load(open(sys.argv[1]))
report = json.loads(base64.b64decode(envelope["payload"]))
parts = {part["name"]: part for part in report["parts"]}
for name in ("doctor", "goldens", "kernels", "loans", "hashing"):
    assert parts[name]["result"] == "passed", (name, parts[name])
rows = parts["kernels"]["rows"]
assert len(rows) >= 20 and all(row["same"] == "equal" for row in rows), rows
report["parts"][1]["seconds"] += 1
envelope["payload"] = base64.b64encode(json.dumps(report).encode()).decode()
json.dump(envelope, open(sys.argv[2], "w"))
PYTHON
! verify "$work/changed.json" >/dev/null || fail "a changed report was taken for signed"
for text in '' '{"payloadType": 1}' \
    '{"payloadType": "application/vnd.reprise.gpu-report+json", "payload": "e30=", "signatures": []}'; do
    echo "$text" >"$work/none.json"
    ! verify "$work/none.json" 2>"$work/said" >&2 || fail "$text was taken for a report"
    ! grep -q Traceback "$work/said" || fail "$text is not told as none"
done
grep -q '<svg' "$work/r.html" || fail "the page has no plots"

# What cannot end well does not begin.
for arguments in --device "--key $work/none.json" "$work/none/r"; do
    status=0
    "$source/scripts/gpu-report.sh" --build "$build" $arguments >"$work/said" 2>&1 || status=$?
    [ "$status" = 2 ] || fail "expected exit 2 of $arguments, found $status"
done

# A kernel that fails, in each command anew.
status=0 # files by their names in the folder where it is called
(cd "$work" && RP_EMULATED_FAIL=kernel:3:719 "$source/scripts/gpu-report.sh" --device emulated --build "$build" \
    --key r-key.pem bad) >"$work/said" 2>&1 || status=$?
[ "$status" = 1 ] || fail "expected exit 1 of a failing device, found $status"
verify "$work/bad.json" >/dev/null || fail "the report of a failing device is not signed"
grep -q 'kernels: FAILED' "$work/said" || fail "the failing part is not told"
echo "report: passed"
