#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The public verifier of OpenSSF Model Signing (PyPI: model-signing) accepts extracted archives signed on each of the
# three curves, and refuses a flipped byte, an added and a missing file; the resources are those that it would sign
# itself. It is installed into a throw-away environment under BUILD_DIR. Where the format's published JSON schemas are
# present, bundle and statement keep to them. Usage: oms_public.sh REPRISE SOURCE_DIR BUILD_DIR. Exit 77 (skipped) where
# it cannot be had.
set -euo pipefail
reprise=$(realpath "$1")
source=$(realpath "$2")
venv=$(realpath "$3")/oms-public
release=model-signing==1.1.1 # which imports pyOpenSSL without asking for it
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAIL: $*"; cat "$work/log"; exit 1; }

python=$(command -v python3) || skip "no python3"
. "$source/tests/house/environment.sh"
environment complete "$release" pyOpenSSL jsonschema ||
    skip "no environment with $release: no network? (see $venv.log)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
# The verifier's command line, given to its own main in one process: to load it takes 0.4 s, for each of 42 questions.
cat >answers.py <<'PYTHON'
import os, shlex, sys
from model_signing._cli import main
answers = os.fdopen(os.dup(1), "w", buffering=1)
for line in sys.stdin:
    log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1), os.dup2(log, 2), os.close(log)
    try:
        main(shlex.split(line))
        code = 0
    except SystemExit as end:
        code = end.code or 0
    sys.stdout.flush(), sys.stderr.flush()
    print(code, file=answers)
PYTHON
coproc verifier { exec "$venv/bin/python" answers.py; }
accepts() { # FOLDER KEY
    local code
    echo "verify key $1 --signature $1/signatures/model.sigstore.json --public_key $2" >&"${verifier[1]}"
    read -r code <&"${verifier[0]}" || fail "the public verifier ended"
    [ "$code" = 0 ]
}

cat >keys.py <<'PYTHON'
from cryptography.hazmat.primitives import serialization as s
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
for name, key in [(c.name, ec.generate_private_key(c)) for c in (ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1())] + [
        ("ed25519", ed25519.Ed25519PrivateKey.generate())]:
    open(name + ".pem", "wb").write(key.private_bytes(s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()))
    open(name + ".pub.pem", "wb").write(
        key.public_key().public_bytes(s.Encoding.PEM, s.PublicFormat.SubjectPublicKeyInfo))
PYTHON
# What both sign: resources in their order, and the digest over them.
cat >signed.py <<'PYTHON'
import base64, json, sys
statement = json.loads(base64.b64decode(json.load(open(sys.argv[1]))["dsseEnvelope"]["payload"]))
print(json.dumps([statement["predicate"]["resources"], statement["subject"][0]["digest"]], sort_keys=True, indent=1))
PYTHON
cat >schemas.py <<'PYTHON'
import base64, glob, json, sys
from jsonschema import Draft202012Validator as V
from referencing import Registry, Resource
schemas = {s["$id"]: s for s in map(json.load, map(open, glob.glob(sys.argv[1] + "/*.schema.json")))}
registry = Registry().with_resources((i, Resource.from_contents(s)) for i, s in schemas.items())
bundle = json.load(open(sys.argv[2]))
V(schemas["https://model_signing/bundle/v1.0/schema"], registry=registry).validate(bundle)
V(schemas["https://model_signing/statement/v1.0/schema"], registry=registry).validate(
    json.loads(base64.b64decode(bundle["dsseEnvelope"]["payload"])))
PYTHON
schemas=$source/../shared/vectors/oms-v1.0
[ -d "$schemas" ] || echo "no schemas here: not compared with them"
"$venv/bin/python" keys.py

for curve in secp256r1 secp384r1 secp521r1; do
    "$reprise" run "$source/examples/loans.yaml" -o a.reprise --key $curve.pem --force >log
    "$reprise" verify a.reprise --trust $curve.pub.pem | grep -q 'signatures/model.sigstore.json' ||
        fail "$curve: no bundle"
    rm -rf model && mkdir model && tar -xf a.reprise -C model
    accepts model $curve.pub.pem || fail "$curve: the public verifier refuses the archive"
    [ ! -d "$schemas" ] || "$venv/bin/python" schemas.py "$schemas" model/signatures/model.sigstore.json >log 2>&1 ||
        fail "$curve: not what the schemas allow"
    accepts model $([ $curve = secp256r1 ] && echo secp384r1 || echo secp256r1).pub.pem &&
        fail "$curve: any key will do"
    for file in manifest.json run/journal.bin data/raw.csv weights/final.safetensors outputs/metrics.json; do
        cp model/$file kept
        printf '\377' | dd of=model/$file bs=1 seek=20 conv=notrunc status=none
        cmp -s kept model/$file && fail "$file: nothing changed"
        accepts model $curve.pub.pem && fail "$curve: a changed byte of $file is accepted"
        grep -q "Hash mismatch for .*$file" log || fail "$curve: $file is not named"
        rm model/$file
        accepts model $curve.pub.pem && fail "$curve: $file may be missing"
        mv kept model/$file
    done
    touch model/data/more
    accepts model $curve.pub.pem && fail "$curve: a file may be added"
    rm model/data/more
    accepts model $curve.pub.pem || fail "$curve: the restored archive is refused"
    "$venv/bin/model_signing" sign key model --private_key $curve.pem --signature theirs.json \
        --ignore-paths model/signatures >log 2>&1 || fail "$curve: the public signer does not sign"
    "$venv/bin/python" signed.py theirs.json >theirs
    "$venv/bin/python" signed.py model/signatures/model.sigstore.json >ours
    diff ours theirs >log || fail "$curve: the public signer would sign something else"
    echo "$curve: accepted, and refused after every change"
done

"$reprise" run "$source/examples/loans.yaml" -o e.reprise --key ed25519.pem >log
"$reprise" verify e.reprise --trust ed25519.pub.pem >log || fail "Ed25519: our own verifier refuses it"
tar -tf e.reprise | grep -q sigstore && fail "Ed25519: a bundle, which the public verifier cannot read"
echo "Ed25519: signed without a bundle"
