#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A member of 8 GiB and more, whose size does not fit eleven octal digits (audit/FORMAT.md 2): an archive that holds
# one, made here from the text alone and sparse on disk, is verified by the command and listed alike by every tar reader
# at hand. Usage: large_member.sh REPRISE
set -eu
reprise=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
command -v python3 >/dev/null || { echo "large_member: python3 is not installed" >&2; exit 77; }

# SHA-256 of 2^33 zero bytes is a fact, not ours: head -c 8589934592 /dev/zero | sha256sum
python3 - "$work/large.reprise" "$work/octal.reprise" <<'PY'
import hashlib, json, sys
SIZE, ZEROS = 1 << 33, "ebfb4ef19ae410f190327b5ebd312711263bc7579970e87d9c1e2d84e06b3c25"
def header(name, size, binary):
    h = bytearray(512)
    h[:len(name)] = name.encode()
    h[100:108] = b"000644 \0"
    h[108:116] = h[116:124] = h[329:337] = h[337:345] = b"000000 \0"
    h[124:136] = b"\x80" + size.to_bytes(11, "big") if binary else b"%011o " % size
    h[136:148] = b"00000000000 "
    h[156:157] = b"0"
    h[257:265] = b"ustar\0" + b"00"
    h[148:156] = b" " * 8
    h[148:156] = b"%06o\0 " % sum(h)
    return bytes(h)
def manifest(name, size, digest):
    member = {"path": name, "sha256": digest, "size": size}
    whole = {"contract": 1, "format": 1, "kind": "api", "members": [member], "profile": "portable", "run": {}}
    return json.dumps(whole, separators=(",", ":"), sort_keys=True).encode()
def write(path, name, size, digest, binary):
    text = manifest(name, size, digest)
    with open(path, "wb") as f:
        f.write(header("manifest.json", len(text), False) + text + bytes(-len(text) % 512) + header(name, size, binary))
        f.truncate(f.tell() + -(-size // 512) * 512 + 1024)
write(sys.argv[1], "weights/final.safetensors", SIZE, ZEROS, True)
# the other form of a size that fits eleven digits: every tar reader takes it, a strict one must not
write(sys.argv[2], "data/x", 6, hashlib.sha256(bytes(6)).hexdigest(), True)
PY

readers=0
lists() { # name, command...
    name=$1
    shift
    "$@" >list 2>&1 || { echo "FAIL: $name cannot list it"; cat list; exit 1; }
    grep -q '8589934592.*weights/final\.safetensors' list || { echo "FAIL: $name lists it otherwise"; cat list; exit \
        1; }
    readers=$((readers + 1))
}
lists "tarfile of Python" python3 -c 'import sys, tarfile
for m in tarfile.open(sys.argv[1], "r:"): print(m.size, m.name)' large.reprise
for tar in tar bsdtar "busybox tar"; do
    ! command -v ${tar%% *} >/dev/null || lists "$tar" $tar -tvf large.reprise
done
"$reprise" verify --allow-unsigned large.reprise >out 2>&1 || { echo "FAIL: verify refuses it"; cat out; exit 1; }
if "$reprise" verify --allow-unsigned octal.reprise >out 2>&1; then
    echo "FAIL: a second form of a size is accepted"; exit 1
elif ! grep -q 'data/x: header byte 124 ' out; then
    echo "FAIL: refused for another reason"; cat out; exit 1
fi
echo "a member of 8 GiB: verified, and listed alike by $readers other readers"
