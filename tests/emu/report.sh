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
for name in ("doctor", "goldens", "kernels", "large", "loans", "hashing"):
    assert parts[name]["result"] == "passed", (name, parts[name])
pinned = parts["pinned"]
assert pinned["result"] == "passed", pinned
for what in ("f32, small.yaml", "f64, exact.yaml", "bf16, C API"):
    assert what + ": two runs are one archive" in pinned["stdout"], (what, pinned)
library = json.loads(parts["doctor"]["stdout"])["host"]["device"]["pinned"]
assert library["name"] == "stand-in" and library["version"] == 130000 and len(library["sha256"]) == 64, library
assert library["file"].endswith("/libreprise-standin-cublaslt.so"), library
for name in ("kernels", "large"):
    rows = parts[name]["rows"]
    assert len(rows) >= 20 and all(row["same"] == "equal" for row in rows), (name, rows)
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

# What people see of it without unfolding anything, and that nobody has verified what they see.
page() {
    python3 -B "$source/scripts/gpu-report.py" html "$@" 2>"$work/said"
}
shown() { # PAGE TEXT; grep reads all of it, as sed fails where nobody does
    sed 's/<details>.*//' "$1" | grep -F -- "$2" >/dev/null || fail "the page does not show: $2"
}
for text in '<title>Reprise on emulated-' 'Processor ' 'no PyTorch with CUDA is installed' ' results equal' \
    'Signed by key '; do
    shown "$work/r.html" "$text"
done
page "$work/changed.json" "$work/changed.html" || fail "no page of a changed report"
shown "$work/changed.html" 'Not verified'
! page "$work/changed.json" "$work/no.html" "$work/r-key.pub.pem" || fail "a page of a changed report as a signed one"
[ ! -e "$work/no.html" ] || fail "a page was left"
page "$work/r.json" "$work/again.html" "$work/r-key.pub.pem" || fail "no page of a signed report"
shown "$work/again.html" 'Signed by the key in r-key.pub.pem'
for payload in '{}' '[]' '1' '{"device":"cuda","parts":[{}]}'; do
    printf '{"payloadType":"application/vnd.reprise.gpu-report+json","payload":"%s","signatures":[{"sig":""}]}' \
        "$(printf %s "$payload" | base64 -w0)" >"$work/none.json"
    ! page "$work/none.json" "$work/no.html" || fail "a page of $payload"
    ! grep -q Traceback "$work/said" || fail "$payload is not told as none"
done
! page "$work/r.json" "$work/none/no.html" || fail "a page where there is no folder"
! page "$work/r.json" "$work/no.html" "$work/none.pem" || fail "a page by a key that is not there"
! grep -q Traceback "$work/said" || fail "a key that is not there is not told"

# Steps of a network as bench/gpu/steps.py asks for them: the device's are the processor's.
printf '%s\n' 'compiled 2' 'recorded 2' 'cpu 2' 'same 1' |
    "$build/bench/models" --device emulated dlrm 1 "$work/first" compiled recorded cpu >"$work/said" 2>&1 ||
    fail "steps of a network"
grep -qx equal "$work/said" || fail "steps of a network are not the processor's"

# What cannot end well does not begin.
for arguments in --device "--key $work/none.json" "$work/none/r"; do
    status=0
    "$source/scripts/gpu-report.sh" --build "$build" $arguments >"$work/said" 2>&1 || status=$?
    [ "$status" = 2 ] || fail "expected exit 2 of $arguments, found $status"
done

# A kernel that fails, in each command anew.
status=0 # files by their names in the folder where it is called
(cd "$work" && RP_CUBLASLT_LIBRARY=/none RP_EMULATED_FAIL=kernel:3:719 "$source/scripts/gpu-report.sh" \
    --device emulated --build "$build" \
    --key r-key.pem bad) >"$work/said" 2>&1 || status=$?
[ "$status" = 1 ] || fail "expected exit 1 of a failing device, found $status"
verify "$work/bad.json" >/dev/null || fail "the report of a failing device is not signed"
python3 - "$work/bad.json" <<'PYTHON' || fail "a library that is not there is not told"
import base64, json, sys
report = json.loads(base64.b64decode(json.load(open(sys.argv[1]))["payload"]))
said = next(part["stdout"] for part in report["parts"] if part["name"] == "doctor")
assert "cuBLASLt is not here" in json.loads(said)["host"]["device"]["pinned"], said
PYTHON
grep -q 'kernels: FAILED' "$work/said" || fail "the failing part is not told"
echo "report: passed"
