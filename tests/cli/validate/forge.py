#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An archive with one member changed and its manifest made to fit, without statements: what someone makes who can write files.
Usage: forge.py FROM TO MEMBER PROGRAM; the program changes m, the parsed member, or
the bytes of one that is no JSON. m = None leaves it out."""
import hashlib
import json
import sys
import tarfile


def text(value):
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def header(name, size):
    h = bytearray(512)
    h[0:len(name)] = name.encode()
    h[100:108] = b"000644 \0"
    h[108:116] = h[116:124] = b"000000 \0"
    h[124:136] = b"%011o " % size
    h[136:148] = b"00000000000 "
    h[148:156] = b" " * 8
    h[156] = 48
    h[257:265] = b"ustar\00000"
    h[329:337] = h[337:345] = b"000000 \0"
    h[148:156] = b"%06o\0 " % sum(h)
    return bytes(h)


def main():
    source, target, member, program = sys.argv[1:]
    with tarfile.open(source) as tar:
        out = [(m.name, tar.extractfile(m).read()) for m in tar if not m.name.startswith("signatures/")]
    scope = {"m": json.loads(dict(out)[member]) if member.endswith(".json") else bytearray(dict(out)[member])}
    exec(program, scope)  # the test's own text
    out = [(n, text(scope["m"]) if n == member else d) for n, d in out if n != member or scope["m"] is not None]
    manifest = json.loads(out[0][1])
    manifest["members"] = [e for e in manifest["members"] if e["path"] in dict(out)]
    for e in manifest["members"]:
        e["sha256"], e["size"] = hashlib.sha256(dict(out)[e["path"]]).hexdigest(), len(dict(out)[e["path"]])
    out[0] = ("manifest.json", text(manifest))
    with open(target, "wb") as f:
        for n, d in out:
            f.write(header(n, len(d)) + d + b"\0" * (-len(d) % 512))
        f.write(b"\0" * 1024)


main()
