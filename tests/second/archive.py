# SPDX-License-Identifier: Apache-2.0
"""FORMAT 2, 3, 7 and 9 in Python, as far as replaying a recipe's archive needs them: members, digests, tensors,
records."""
import hashlib
import json
import struct
import tarfile

from ieee import stored

DTYPES = ("f32", "f64", "i32", "i64", "bool", "bf16", "f16", "i8", "u8", "i16", "u32")


def members(path):
    with tarfile.open(path) as archive:
        return {m.name: archive.extractfile(m).read() for m in archive}


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def root(leaves):
    if len(leaves) == 1:
        return leaves[0]
    k = 1 << ((len(leaves) - 1).bit_length() - 1)
    return sha(b"\1", root(leaves[:k]), root(leaves[k:]))


def tensor_digest(dtype, shape, values):
    data = stored(values, dtype)
    leaves = [sha(b"\0", data[i : i + 16384]) for i in range(0, len(data), 16384)] or [sha(b"\0")]
    return sha(b"\2", bytes([DTYPES.index(dtype), len(shape)]), struct.pack("<%dQ" % len(shape), *shape), root(leaves))


def list_digest(tensors):
    """tensors: {name: (dtype, shape, values)}."""
    entries = []
    for name in sorted(n.encode() for n in tensors):
        entries += [struct.pack("<H", len(name)), name, tensor_digest(*tensors[name.decode()])]
    return sha(b"\3", struct.pack("<I", len(tensors)), *entries)


def tensors(data):
    """{name: stored bytes} of a .safetensors."""
    size = struct.unpack("<Q", data[:8])[0]
    header, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    return {n: body[slice(*t["data_offsets"])] for n, t in header.items() if n != "__metadata__"}


def records(data):
    """(program, loss type, feeds, results, states, loss) of each step."""
    found = []
    for i in range(0, len(data), 128):
        step, program, kind = struct.unpack("<QIi", data[i : i + 16])
        assert step == i // 128
        digests = [data[at : at + 32] for at in (i + 16, i + 48, i + 80)]
        found.append((program, kind, *digests, data[i + 112 : i + 120]))
    return found


def loss_record(results):
    """Type and bits of the result `loss`."""
    if "loss" not in results:
        return -1, bytes(8)
    dtype, _, values = results["loss"]
    return DTYPES.index(dtype), stored(values, dtype).ljust(8, b"\0")
