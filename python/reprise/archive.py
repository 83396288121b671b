# SPDX-License-Identifier: Apache-2.0
"""Archives as objects: members, tensors, tables, steps and programs, read from the file's bytes where they lie.

The file is mapped, and a tensor is a view of that map: nothing is copied, and nothing is read that is not asked for. The
format is audit/FORMAT.md. Opening checks the form of headers and manifest; what a member holds is held against the
manifest's SHA-256 before it is used. Whether to believe the manifest, `Archive.verify` says: signatures are the command's."""
from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import mmap
import os
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from . import _core
from .program_text import Program
from .report_html import rows_html, table_html
from .tables import read_csv

BLOCK = 512
MANIFEST_MOST = 16 << 20
MEMBERS_MOST = 65536
NESTING_MOST = 64
RECORD = 128
# Keys of outputs/metrics.json whose texts are the table's or the recipe's own: one that looks like a number is a text.
TEXTS = frozenset(("by", "category", "class", "classes", "column", "favourable", "positive", "set", "settings", "value"))
CSV_KEYS = {"delimiter", "header", "encoding", "skip_lines"}
DTYPES = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "BOOL": "?", "BF16": "<u2", "U8": "u1", "I8": "i1",
          "F16": "<f2", "U16": "<u2", "I16": "<i2", "U32": "<u4", "U64": "<u8"}


class ArchiveError(_core.Error, ValueError):
    """A file that is no archive, or one whose bytes are not what its manifest says. ``member`` is where, ``code`` what: RP_EFORMAT,
    RP_EHASH of other bytes, RP_EUNSUPPORTED of a newer format; ``exit_code`` what the command would exit with."""

    def __init__(self, message: str, member: str | None = None, code: str = "RP_EFORMAT") -> None:
        super().__init__(message if member is None else f"{member}: {message}")
        self.message, self.member, self.code = message, member, code
        self.exit_code = 5 if code == "RP_EUNSUPPORTED" else 4

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.member, self.code)


@dataclass(frozen=True)
class Member:
    """A member's name, place in the file, size and, for all but statements and the manifest, SHA-256."""

    name: str
    offset: int
    size: int
    sha256: str | None


@dataclass(frozen=True)
class Step:
    """A record of the journal: digests of a step's feeds, results and states, and its loss."""

    step: int
    program: int
    loss: float | None
    feeds: str
    results: str
    states: str


class Archive(os.PathLike[str]):
    """One archive, opened for reading. A context manager; views of its tensors stay valid after it is closed."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        with open(self.path, "rb") as f:
            if os.fstat(f.fileno()).st_size < 3 * BLOCK:
                raise ArchiveError(f"{self.path} has less bytes than an archive has")
            self._map: mmap.mmap | None = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            self._data = memoryview(self._map)
            places = {m.name: m for m in scan(self._data)}
            first = places.get("manifest.json")
            if first is None or first.offset != BLOCK:
                raise ArchiveError(f"{self.path} does not begin with manifest.json: it is no archive of Reprise")
            text = bytes(self._data[first.offset:first.offset + first.size])
            self.id = hashlib.sha256(text).hexdigest()
            self.manifest: dict[str, Any] = read_object(text, "manifest.json")
            self.members = listed(self.manifest, places)
        except BaseException:
            self.close()
            raise
        self._checked: set[str] = set()

    # ---- the file ----

    def close(self) -> None:
        """Forgets the file; arrays that were taken from it keep it mapped as long as they live."""
        self._data = memoryview(b"")
        self._map = None

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<Archive {self.path!r} {self.id[:16]} {self.kind}, {len(self.members)} members>"

    # ---- members ----

    def __contains__(self, name: object) -> bool:
        return name in self.members

    def __iter__(self) -> Iterator[str]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def view(self, name: str) -> memoryview:
        """A member's bytes where they lie, read-only, held against the manifest's SHA-256 the first time."""
        member = self.members.get(name)
        if member is None:
            raise KeyError(f"{self.path} has no member {name}")
        if self._map is None:
            raise ValueError(f"{self.path} is closed")
        found = self._data[member.offset:member.offset + member.size]
        if member.sha256 is not None and name not in self._checked:
            digest = hashlib.sha256(found).hexdigest()
            if digest != member.sha256:
                raise ArchiveError(f"SHA-256 differs: manifest {member.sha256}, file {digest}", name, "RP_EHASH")
            self._checked.add(name)
        return found

    def read(self, name: str) -> bytes:
        """A member's bytes."""
        return bytes(self.view(name))

    def json(self, name: str) -> Any:
        """What a member of JSON holds; reals are texts, as FORMAT 4 writes them."""
        return read_json(self.read(name), name)

    # ---- what an archive has ----

    @property
    def kind(self) -> str:
        """``recipe``, ``text`` or ``api``."""
        return str(self.manifest["kind"])

    @property
    def run(self) -> dict[str, Any]:
        return dict(self.manifest["run"])

    @property
    def withheld(self) -> list[str]:
        """Members that were left out, bound by digests."""
        return [str(w["path"]) for w in self.manifest.get("withheld", [])]

    @cached_property
    def recipe(self) -> dict[str, Any] | None:
        """The resolved recipe, every default written out; None of a run of the C API."""
        return self.json("run/recipe.json") if "run/recipe.json" in self.members else None

    @cached_property
    def metrics(self) -> dict[str, Any] | None:
        """``outputs/metrics.json`` with its reals as numbers."""
        name = "outputs/metrics.json"
        return numbers(self.json(name), TEXTS) if name in self.members else None

    @property
    def signatures(self) -> dict[str, dict[str, Any]]:
        """The statements that the file has, by member: ``key_id``, ``type`` and ``predicate``, as they stand there. Nothing
        of them is checked here: `verify` does."""
        return {n: statement(self.json(n), n) for n in self.members
                if n.startswith("signatures/") and n.endswith(".dsse.json")}

    @cached_property
    def steps(self) -> Sequence[Step]:
        """The journal's records."""
        data = self.view("run/journal.bin")
        if len(data) % RECORD:
            raise ArchiveError(f"{len(data)} bytes are no records of {RECORD}", "run/journal.bin")
        return [record(data[i:i + RECORD]) for i in range(0, len(data), RECORD)]

    @property
    def losses(self) -> np.ndarray[Any, Any]:
        """The loss of each step, NaN where it has none."""
        return np.array([np.nan if s.loss is None else s.loss for s in self.steps], dtype=np.float64)

    @cached_property
    def programs(self) -> Sequence[Program]:
        """Each distinct program of the run, in order of first use."""
        names = [n for n in self.members if n.startswith("run/programs/")]
        try:
            return [Program.from_json(self.json(n), n) for n in names]
        except ArchiveError:
            raise
        except ValueError as e:
            raise ArchiveError(str(e)) from None

    def verify(self, **options: Any) -> Any:
        """`reprise verify` of this file: keyword arguments are its options (trust, allow_unsigned, policy ...)."""
        from .command_calls import verify
        return verify(self.path, **options)

    def replay(self, **options: Any) -> Any:
        """`reprise replay` of this file."""
        from .command_calls import replay
        return replay(self.path, **options)

    # ---- tensors and tables ----

    def tensors(self, stem: str = "weights/final") -> Tensors:
        """The set of tensors STEM.safetensors (FORMAT 7.1), whole or in parts, by name."""
        whole = f"{stem}.safetensors"
        parts = re.compile(re.escape(stem) + r"-[0-9]{5}-of-([0-9]{5})\.safetensors")
        names = [whole] if whole in self.members else sorted(n for n in self.members if parts.fullmatch(n))
        if not names:
            raise KeyError(f"{self.path} has no tensors {whole}")
        if names != [whole]:
            count = str(names[0])[-17:-12]
            for i in range(max(int(count), len(names))):
                part = f"{stem}-{i + 1:05d}-of-{count}.safetensors"
                if i >= len(names) or names[i] != part:
                    raise ArchiveError(f"a set of {int(count)} parts without {part}, or with others", names[0])
        found: dict[str, np.ndarray[Any, Any]] = {}
        bf16: set[str] = set()
        for n in names:
            for key, value in safetensors(self.view(n), n, bf16).items():
                if key in found:
                    raise ArchiveError(f"tensor {key} is in another part too", n)
                found[key] = value
        return Tensors(stem, found, bf16)

    @property
    def weights(self) -> Tensors:
        """The states after the last step."""
        return self.tensors("weights/final")

    @property
    def sets(self) -> list[str]:
        """The stems of all sets of tensors."""
        return sorted({n[:-len(".safetensors")].rsplit("-of-", 1)[0].rsplit("-", 1)[0] if "-of-" in n
                       else n[:-len(".safetensors")] for n in self.members if n.endswith(".safetensors")})

    def table(self, name: str = "data/raw.csv") -> Any:
        """A member of CSV as a pandas DataFrame, or, where pandas is not installed, a dict of NumPy arrays."""
        columns = self.columns(name)
        if importlib.util.find_spec("pandas") is None:
            return columns
        return importlib.import_module("pandas").DataFrame(columns)

    def columns(self, name: str = "data/raw.csv") -> dict[str, np.ndarray[Any, Any]]:
        """A member of CSV as a dict of columns. The run's own tables are read by the recipe's `delimiter`, `header`,
        `encoding` and `skip_lines`; one with another decimal sign, groups of digits or comments is refused."""
        how: dict[str, Any] = {}
        if name in ("data/raw.csv", "data/test.csv") and self.recipe is not None:
            data = self.recipe.get("data")
            if not isinstance(data, dict):
                raise ArchiveError("`data` is no object", "run/recipe.json")
            for key, plain in (("decimal", "."), ("thousands", None), ("comment", None)):
                if data.get(key, plain) != plain:
                    raise ArchiveError(f"the recipe has {key} {data[key]!r}, which is not read here: take the member's bytes by "
                                       "`read`", name)
            how = {k: data[k] for k in CSV_KEYS if data.get(k) is not None}
        try:
            return read_csv(self.read(name), **how)
        except (LookupError, TypeError, ValueError) as e:  # of encodings that are none, and values of other types
            raise ArchiveError(str(e), name) from None

    @property
    def predictions(self) -> Any:
        """``outputs/predictions.csv`` as a table."""
        return self.table("outputs/predictions.csv")

    def _repr_html_(self) -> str:
        run = self.run
        head = rows_html("archive", [("file", self.path), ("id", self.id), ("kind", self.kind),
                                     ("steps", run.get("steps")), ("signed by", ", ".join(
                                         sorted({str(s["key_id"])[:16] for s in self.signatures.values()})) or
                                         "nobody"), ("verified", "not here: Archive.verify")])
        return head + table_html("members", ["member", "bytes", "SHA-256"],
                                 [(m.name, m.size, m.sha256) for m in self.members.values()])


class Tensors(Mapping[str, "np.ndarray[Any, Any]"]):
    """A set of tensors by name: read-only arrays over the file's own bytes. A bf16 tensor is its 16 bits as u2; `float32`
    widens it."""

    def __init__(self, stem: str, arrays: dict[str, np.ndarray[Any, Any]], bf16: Iterable[str] = ()) -> None:
        self.stem, self._arrays, self._bf16 = stem, arrays, frozenset(bf16)

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    @property
    def bf16(self) -> frozenset[str]:
        """The names of those whose 16 bits are bf16."""
        return self._bf16

    def float32(self, name: str) -> np.ndarray[Any, Any]:
        """A tensor as binary32; of bf16 exactly its values."""
        a = self._arrays[name]
        if name in self._bf16:
            return (a.astype(np.uint32) << 16).view(np.float32)
        return a.astype(np.float32)

    def __repr__(self) -> str:
        return f"<Tensors {self.stem}: {', '.join(f'{n} {a.dtype}{list(a.shape)}' for n, a in self._arrays.items())}>"

    def _repr_html_(self) -> str:
        rows = [(n, a.dtype, str(list(a.shape)), *summary(self.float32(n))) for n, a in self._arrays.items()]
        return table_html(self.stem, ["tensor", "type", "shape", "least", "most", "mean"], rows)


def summary(a: np.ndarray[Any, Any]) -> tuple[str, str, str]:
    finite = a[np.isfinite(a)]
    return ("", "", "") if not finite.size else (f"{finite.min():.6g}", f"{finite.max():.6g}",
                                                 f"{finite.mean(dtype=np.float64):.6g}")


def tensor_html(name: str, a: np.ndarray[Any, Any], dtype: str | None = None) -> str:
    """One tensor: type, shape, range and its first elements."""
    least, most, mean = summary(np.asarray(a, dtype=np.float64))
    return rows_html(name, [("type", dtype or a.dtype), ("shape", str(list(a.shape))), ("least", least), ("most", most),
                                     ("mean", mean), ("first", np.array2string(a.reshape(-1)[:16]))])


def open_archive(path: str | os.PathLike[str]) -> Archive:
    """Opens an archive for reading: `reprise.open`."""
    return Archive(path)


# ---- the container (FORMAT 2) ----

def header(name: bytes, size: int) -> bytes:
    """The header of a member, which is a function of name and size alone."""
    length = b"%011o " % size if size < 1 << 33 else b"\x80" + size.to_bytes(11, "big")
    zeros = b"000000 \0"
    block = (name.ljust(100, b"\0") + b"000644 \0" + zeros + zeros + length + b"00000000000 " + b" " * 8 + b"0" +
             bytes(100) + b"ustar\0" + b"00" + bytes(64) + zeros + zeros + bytes(167))
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def header_size(block: bytes) -> int:
    """The size that a header says; -1 where it is none."""
    field = block[124:136]
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field[:11]
    return int(digits, 8) if all(48 <= c < 56 for c in digits) else -1


def scan(data: memoryview) -> Iterator[Member]:
    """The members in order; every header is made again and compared."""
    at = 0
    seen: set[bytes] = set()
    while True:
        block = bytes(data[at:at + BLOCK])
        if block == bytes(BLOCK):
            if bytes(data[at + BLOCK:at + 2 * BLOCK]) != bytes(BLOCK) or len(data) != at + 2 * BLOCK:
                raise ArchiveError("two blocks of zeros, then the end of the file, are what closes an archive",
                                   "end of archive")
            return
        name = block[:100].rstrip(b"\0")
        size = header_size(block) if len(block) == BLOCK else -1
        if size < 0 or block != header(name, size):
            raise ArchiveError(f"no header of a member at byte {at}")
        if at + BLOCK + size > len(data):
            raise ArchiveError(f"{size} bytes, of which the file has {len(data) - at - BLOCK}", name.decode("latin-1"))
        if name in seen or len(seen) > MEMBERS_MOST:
            raise ArchiveError("a name twice, or more than 65,536 members", name.decode("latin-1"))
        seen.add(name)
        yield Member(name.decode("latin-1"), at + BLOCK, size, None)
        at += BLOCK + (size + BLOCK - 1) // BLOCK * BLOCK


def listed(manifest: Mapping[str, Any], places: Mapping[str, Member]) -> dict[str, Member]:
    """The members with the digests that the manifest has of them; they must be those, in path and size."""
    for key, kind in (("format", int), ("contract", int), ("kind", str), ("members", list), ("run", dict)):
        if not isinstance(manifest.get(key), kind):
            raise ArchiveError(f"`{key}` is missing or of another type", "manifest.json")
    if manifest["format"] != 1:
        raise ArchiveError(f"format {manifest['format']} is not supported: this version reads 1", "manifest.json", "RP_EUNSUPPORTED")
    found: dict[str, Member] = {"manifest.json": places["manifest.json"]}
    for m in manifest["members"]:
        if not isinstance(m, dict) or not isinstance(m.get("sha256"), str):
            raise ArchiveError("an entry of `members` is no object of path, sha256 and size", "manifest.json")
        there = places.get(str(m.get("path")))
        if there is None or there.size != m.get("size"):
            raise ArchiveError(f"the manifest has {m.get('size')} bytes, the file "
                               f"{'none' if there is None else there.size}", str(m.get("path")))
        if there.name in found:
            raise ArchiveError("`members` lists it twice", there.name)
        found[there.name] = Member(there.name, there.offset, there.size, m["sha256"])
    for name, m in places.items():
        if name not in found:
            if not name.startswith("signatures/"):
                raise ArchiveError("the manifest does not list it", name)
            found[name] = m
    return found


# ---- texts and tensors ----

def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key twice in an object")
    return found


def read_json(text: bytes, where: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=once)
    except RecursionError:
        raise ArchiveError("JSON nested too deeply", where) from None
    except (ValueError, UnicodeDecodeError) as e:
        raise ArchiveError(f"no JSON: {e}", where) from None


def read_object(text: bytes, where: str) -> dict[str, Any]:
    if len(text) > MANIFEST_MOST:
        raise ArchiveError(f"{len(text)} bytes, where {MANIFEST_MOST} are the most", where)
    found = read_json(text, where)
    if not isinstance(found, dict):
        raise ArchiveError("no object", where)
    return found


def numbers(value: Any, names: frozenset[str]) -> Any:
    """Reals, which FORMAT writes as texts, as numbers; what is under `names` stays."""
    if isinstance(value, dict):
        return {k: v if k in names else numbers(v, names) for k, v in value.items()}
    if isinstance(value, list):
        return [numbers(v, names) for v in value]
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def statement(envelope: Any, where: str) -> dict[str, Any]:
    import base64

    try:
        payload = read_object(base64.b64decode(envelope["payload"], validate=True), where)
        return {"key_id": str(envelope["signatures"][0]["keyid"]), "type": payload["predicateType"],
                "predicate": payload["predicate"]}
    except ArchiveError:
        raise
    except (KeyError, IndexError, TypeError, ValueError):
        raise ArchiveError("no statement in an envelope", where) from None


def record(data: memoryview) -> Step:
    step, program, kind = struct.unpack_from("<QIi", data)
    loss = None
    if kind in (0, 1):
        loss = float(struct.unpack_from("<f" if kind == 0 else "<d", data, 112)[0])
    return Step(step, program, loss, *(bytes(data[i:i + 32]).hex() for i in (16, 48, 80)))


def safetensors(data: memoryview, where: str, bf16: set[str] | None = None) -> dict[str, np.ndarray[Any, Any]]:
    """The tensors of a file of safetensors as views of its bytes. Every range is checked, none may overlap another. The names
    of those whose 16 bits are bf16 are added to the set."""
    if len(data) < 8:
        raise ArchiveError("no safetensors: less than 8 bytes", where)
    size = struct.unpack_from("<Q", data)[0]
    if size > min(MANIFEST_MOST, len(data) - 8):
        raise ArchiveError(f"a header of {size} bytes, where {min(MANIFEST_MOST, len(data) - 8)} are the most", where)
    entries = read_object(bytes(data[8:8 + size]), where)
    body, found, places = data[8 + size:], {}, []
    for name, entry in entries.items():
        if name != "__metadata__":
            begin, end, found[name] = safetensor(body, name, entry, where)
            if bf16 is not None and entry["dtype"] == "BF16":
                bf16.add(name)
            places.append((begin, end))
    places.sort()
    if places and (places[0][0] != 0 or places[-1][1] != len(body)) or any(
            a[1] != b[0] for a, b in zip(places, places[1:])):
        raise ArchiveError("its bytes do not belong to exactly one tensor each", where)
    return found


def safetensor(body: memoryview, name: str, entry: Any, where: str) -> tuple[int, int, np.ndarray[Any, Any]]:
    try:
        dtype, shape, (begin, end) = np.dtype(DTYPES[entry["dtype"]]), entry["shape"], entry["data_offsets"]
        whole = all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in [begin, end, *shape])
    except (KeyError, TypeError, ValueError):
        raise ArchiveError(f"tensor {name}: its dtype is none of {', '.join(DTYPES)}, or its entry is none", where) from None
    elements = 1
    for n in shape if whole else ():
        elements *= n
    if not whole or len(shape) > 32 or begin > end or end > len(body) or elements * dtype.itemsize != end - begin:
        raise ArchiveError(f"tensor {name}: shape {shape} of {dtype} is not the bytes {begin} to {end} of {len(body)}", where)
    if dtype == np.bool_ and (np.frombuffer(body[begin:end], np.uint8) > 1).any():
        raise ArchiveError(f"tensor {name}: a byte of BOOL that is neither 0 nor 1", where)
    try:
        a: np.ndarray[Any, Any] = np.frombuffer(body[begin:end], dtype=dtype).reshape(shape)
    except ValueError as e:  # nothing, times a length beyond NumPy's
        raise ArchiveError(f"tensor {name}: shape {shape}: {e}", where) from None
    return begin, end, a
