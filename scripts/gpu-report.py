#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The report of scripts/gpu-report.sh: its parts as one JSON document in a signed envelope (DSSE: what is signed is "DSSEv1",
type and payload with their lengths; ECDSA P-256 by openssl), and a page of plots made from it.

    gpu-report.py make FOLDER DEVICE full|reduced KEY.pem OUT     OUT.json and OUT.html; exit 1 when a part failed
    gpu-report.py verify OUT.json KEY.pub.pem                     exit 1 when it was not signed so
    gpu-report.py html OUT.json PAGE.html [KEY.pub.pem]           with a key: exit 1, and no page, when it was not signed so"""
import base64
import hashlib
import html
import json
import os
import subprocess
import sys
import tempfile
import time

TYPE = "application/vnd.reprise.gpu-report+json"
MOST = 1 << 20  # bytes kept of a part's output
FIELDS = ("section", "work", "seconds", "rate", "unit", "peer_seconds", "same")


def envelope_text(payload):
    kind = TYPE.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def openssl(*arguments):
    try:
        return subprocess.run(["openssl", *arguments], check=True, capture_output=True).stdout
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").splitlines()
        sys.exit(f"gpu-report: openssl {arguments[0]} failed: {said[0] if said else error.returncode}")


def write(path, text):
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}")


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read(MOST).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""


def rows_of(text):
    rows = []
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) == len(FIELDS):
            row = dict(zip(FIELDS, fields))
            try:
                for name in ("seconds", "rate"):
                    row[name] = float(row[name])
                row["peer_seconds"] = None if row["peer_seconds"] == "-" else float(row["peer_seconds"])
            except ValueError:  # a part that was cut off in the midst of a line
                continue
            rows.append(row)
    return rows


def part_of(folder, line):
    name, status, seconds, command = line.rstrip("\n").split("\t")
    out, err = read(os.path.join(folder, name + ".out")), read(os.path.join(folder, name + ".err"))
    part = {"name": name, "command": command.replace(folder, "WORK"), "seconds": float(seconds), "exit": int(status),
            "result": {0: "passed", 77: "skipped"}.get(int(status), "failed"), "stdout": out.replace(folder, "WORK"),
            "stderr": err.replace(folder, "WORK")}
    rows = rows_of(out)
    if rows:
        part["rows"] = rows
    return part


def host():
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    changed = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, check=False).stdout.strip()
    return {"system": " ".join(os.uname()[i] for i in (0, 2, 4)), "processors": os.cpu_count(), "commit": commit or None,
            "changed": bool(changed), "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


def make(folder, device, form, key, out):
    with open(os.path.join(folder, "parts.tsv"), encoding="utf-8") as lines:
        parts = [part_of(folder, line) for line in lines]
    report = {"schema": 1, "kind": "reprise GPU report", "device": device, "form": form, "host": host(), "parts": parts}
    payload = json.dumps(report, sort_keys=True, separators=(",", ":")).encode()
    with tempfile.NamedTemporaryFile() as text:
        text.write(envelope_text(payload))
        text.flush()
        signature = openssl("dgst", "-sha256", "-sign", key, text.name)
    public = openssl("pkey", "-in", key, "-pubout", "-outform", "DER")
    envelope = {"payloadType": TYPE, "payload": base64.b64encode(payload).decode(),
                "signatures": [{"keyid": hashlib.sha256(public).hexdigest(), "sig": base64.b64encode(signature).decode()}]}
    write(out + ".json", json.dumps(envelope) + "\n")
    write(out + ".html", page(report, f"Signed by key {hashlib.sha256(public).hexdigest()}, with which this page was made."))
    failed = [part["name"] for part in parts if part["result"] == "failed"]
    print(f"gpu-report: {out}.json and {out}.html: {len(parts)} parts, failed: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


def opened(path):
    try:
        with open(path, encoding="utf-8") as file:
            envelope = json.load(file)
        if envelope["payloadType"] != TYPE:
            sys.exit(f"{path}: payloadType is {envelope['payloadType']!r}, expected {TYPE!r}")
        return (base64.b64decode(envelope["payload"], validate=True),
                base64.b64decode(envelope["signatures"][0]["sig"], validate=True))
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}")
    except (ValueError, KeyError, IndexError, TypeError):
        sys.exit(f"{path}: no report: expected a DSSE envelope with a payload and a signature")


def signed_by(payload, by, key):
    try:
        with open(key, "rb"):
            pass
    except OSError as error:
        sys.exit(f"{key}: {error.strerror}")
    with tempfile.NamedTemporaryFile() as text, tempfile.NamedTemporaryFile() as signature:
        text.write(envelope_text(payload))
        text.flush()
        signature.write(by)
        signature.flush()
        done = subprocess.run(["openssl", "dgst", "-sha256", "-verify", key, "-signature", signature.name, text.name],
                              capture_output=True, check=False)
    return done.returncode == 0


def verify(path, key):
    fine = signed_by(*opened(path), key)
    print(f"{path}: {'signed by this key' if fine else 'NOT signed by this key, or changed since'}")
    return 0 if fine else 1


def make_page(path, out, key=None):
    payload, by = opened(path)
    if key and not signed_by(payload, by, key):
        sys.exit(f"{path}: NOT signed by this key, or changed since: no page was made")
    try:
        text = page(json.loads(payload), f"Signed by the key in {os.path.basename(key)}." if key else None)
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError):
        sys.exit(f"{path}: no report: its payload lacks what one has, or has it otherwise")
    write(out, text)
    return 0


# ---- the page ----

def bars(title, rows, unit):
    """Horizontal bars, ours beside the peer's where there is one."""
    most = max([row["rate"] for row in rows] + [peer_rate(row) for row in rows] + [1e-300])
    lines, y = [], 8
    for row in rows:
        for rate, color, who in ((row["rate"], "#2b6cb0", "Reprise"), (peer_rate(row), "#b7791f", "peer")):
            if rate <= 0:
                continue
            width = 420 * rate / most
            lines.append(f'<rect x="300" y="{y}" width="{width:.1f}" height="9" fill="{color}"/><text x="{306 + width:.1f}" '
                         f'y="{y + 9}" font-size="10">{rate:.3g}{" " + who if who == "peer" else ""}</text>')
            y += 11
        lines.append(f'<text x="294" y="{y - 2}" font-size="10" text-anchor="end">{html.escape(row["work"])}</text>')
        y += 5
    return (f"<h3>{html.escape(title)}, {html.escape(unit)}</h3><svg width='860' height='{y + 4}' role='img' "
            f"aria-label='{html.escape(title)}'>{''.join(lines)}</svg>")


def peer_rate(row):
    return row["rate"] * row["seconds"] / row["peer_seconds"] if row["peer_seconds"] else 0.0


def with_peers(parts):
    """Rows of the kernels and of networks' steps by section, the peers' own rows beside those of the same work."""
    rows = {p["name"]: p.get("rows", []) for p in parts}
    beside = {(r["section"], r["work"]): r["seconds"] for r in rows.get("peers", [])}
    sections = {}
    for row in rows.get("kernels", []) + rows.get("steps", []):
        row = dict(row, peer_seconds=row["peer_seconds"] or beside.get((row["section"], row["work"])))
        sections.setdefault(row["section"], []).append(row)
    return sections


def computed_on(report):
    """(device, processor) as the doctor and the driver name them; the argument where they did not come so far."""
    parts = {p["name"]: p for p in report["parts"]}
    try:
        found = json.loads(parts["doctor"]["stdout"])["host"]
        device, cpu = str(found["device"]["identity"]), str(found["cpu"])
    except (KeyError, TypeError, ValueError):
        device, cpu = report["device"] + " (the doctor names no chip)", "unknown"
    smi = parts.get("driver", {})
    if smi.get("result") == "passed" and len(smi["stdout"].splitlines()) > 1:
        device += ", by nvidia-smi " + smi["stdout"].splitlines()[1]
    return device, cpu


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no word of why"


def word_on(part):
    """Why it was skipped or failed; of one that passed whether each row has the reference's bits."""
    if part["result"] == "skipped":
        return last_line(part["stdout"])
    if part["result"] != "passed":
        return last_line(part["stderr"])
    same = [row["same"] for row in part.get("rows", []) if row["same"] != "-"]
    return f"{same.count('equal')} of {len(same)} results equal" if same else ""


def page(report, signed):
    device, cpu = computed_on(report)
    parts = "".join(f"<tr><td>{html.escape(p['name'])}</td><td class='{html.escape(p['result'])}'>{html.escape(p['result'])}</td>"
                    f"<td>{p['seconds']:.1f} s</td><td>{html.escape(word_on(p))}</td>"
                    f"<td><code>{html.escape(p['command'])}</code></td></tr>" for p in report["parts"])
    plots = "".join(bars(name, rows, rows[0]["unit"]) for name, rows in with_peers(report["parts"]).items())
    texts = "".join(f"<details><summary>{html.escape(p['name'])}</summary><pre>{html.escape(p['stdout'][-20000:])}\n"
                    f"{html.escape(p['stderr'][-20000:])}</pre></details>" for p in report["parts"])
    note = ("<p><b>The emulated device: times are those of this CPU, and say nothing of any GPU.</b></p>"
            if report["device"].startswith("emulated") else "")
    note += (f"<p>{html.escape(signed)}</p>" if signed else
             "<p><b>Not verified: nobody has looked whether the report is as it was signed, and by whom.</b> Give the "
             "signer's public key to <code>gpu-report.py html</code>.</p>")
    return (f"<!doctype html><html lang='en'><meta charset='utf-8'><title>Reprise on {html.escape(device)}</title>"
            "<style>body{font:14px sans-serif;max-width:60em;margin:2em auto}td{padding:2px 10px;vertical-align:top}"
            ".failed{color:#c00;font-weight:bold}.passed{color:#070}</style>"
            f"<h1>Reprise on {html.escape(device)}</h1><p>Processor {html.escape(cpu)}; {html.escape(report['form'])}, "
            f"{html.escape(report['host']['time'])}, {html.escape(report['host']['system'])}, commit "
            f"{html.escape(str(report['host']['commit']))}{' (changed)' if report['host']['changed'] else ''}</p>{note}"
            f"<table>{parts}</table>{plots}<h2>Outputs</h2>{texts}</html>\n")


def main():
    command, *arguments = sys.argv[1:] or [""]
    if command == "make" and len(arguments) == 5:
        return make(*arguments)
    if command == "verify" and len(arguments) == 2:
        return verify(*arguments)
    if command == "html" and len(arguments) in (2, 3):
        return make_page(*arguments)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
