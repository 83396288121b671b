# SPDX-License-Identifier: Apache-2.0
"""Weights as safetensors: written with canonical bytes, as the library writes them, and read where they lie, one file or
the shards of an index; and given to a model of layers under other names, by the maps of the common families."""
from __future__ import annotations

import fnmatch
import json
import mmap
import os
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .archive import ArchiveError, safetensors
from .command import canonical

__all__ = ["FAMILIES", "Loaded", "Rule", "WeightsFile", "load", "renamed", "write_safetensors"]
NAMES = {"f4": "F32", "f8": "F64", "i4": "I32", "i8": "I64", "b1": "BOOL", "f2": "F16", "i1": "I8", "u1": "U8",
         "i2": "I16", "u4": "U32"}
INDEX_MOST, SHARDS_MOST, MOST_TOLD = 64 << 20, 4096, 12


def write_safetensors(path: str | os.PathLike[str], tensors: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Writes tensors; the same tensors give the same bytes."""
    header, at = {}, 0
    if "__metadata__" in tensors:
        raise ValueError("a tensor of the name __metadata__, which the format has for something else")
    order = sorted(tensors, key=lambda n: (-tensors[n].itemsize, n.encode()))
    for name in order:
        a = tensors[name]
        kind = a.dtype.str[1:]
        if kind not in NAMES:
            raise TypeError(f"tensor {name}: {a.dtype} is none of {', '.join(NAMES.values())}")
        header[name] = {"data_offsets": [at, at + a.nbytes], "dtype": NAMES[kind], "shape": list(a.shape)}
        at += a.nbytes
    text = canonical(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for name in order:
            f.write(np.ascontiguousarray(tensors[name], tensors[name].dtype.newbyteorder("<")).tobytes())


class WeightsFile(Mapping[str, "np.ndarray[Any, Any]"]):
    """The tensors of a safetensors file, of an index (`model.safetensors.index.json`) with its shards beside it, or of a
    folder with either: views of mapped files, read-only, nothing copied. bf16 is its 16 bits as u2; `float32` widens it.

    Raises ArchiveError (a ValueError) where a file is none, an index names what its shards have not, or leaves its folder."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._arrays: dict[str, np.ndarray[Any, Any]] = {}
        self._bf16: set[str] = set()
        where = self.path
        if os.path.isdir(where):
            named = [os.path.join(where, n) for n in ("model.safetensors.index.json", "model.safetensors")]
            where = next((n for n in named if os.path.exists(n)), named[1])
        if where.endswith(".json"):
            self._shards(where)
        else:
            self._arrays = self._map(where)

    def _map(self, path: str) -> dict[str, np.ndarray[Any, Any]]:
        with open(path, "rb") as f:
            if os.fstat(f.fileno()).st_size < 8:
                raise ArchiveError("no safetensors: less than 8 bytes", path)
            data = memoryview(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ))
        return safetensors(data, path, self._bf16)

    def _shards(self, index: str) -> None:
        with open(index, "rb") as f:
            text = f.read(INDEX_MOST + 1)
        if len(text) > INDEX_MOST:
            raise ArchiveError(f"an index of more than {INDEX_MOST} bytes", index)
        try:
            places = dict(json.loads(text)["weight_map"])
        except (KeyError, TypeError, ValueError, RecursionError) as e:
            raise ArchiveError(f"no index of safetensors: {e!r}", index) from None
        if any(not isinstance(s, str) for s in places.values()):
            raise ArchiveError("no index of safetensors: a shard's name is a text", index)
        shards = sorted(set(places.values()))
        if any("\0" in s or not utf8(s) for s in shards):
            raise ArchiveError("no index of safetensors: a shard's name is none of a file", index)
        if len(shards) > SHARDS_MOST or any(os.path.basename(s) != s or s in ("", ".", "..") for s in shards):
            raise ArchiveError(f"more than {SHARDS_MOST} shards, or one outside of its folder", index)
        have = {s: self._map(os.path.join(os.path.dirname(index), s)) for s in shards}
        for name, shard in places.items():
            if name not in have[shard]:
                raise ArchiveError(f"{shard} has no tensor {name}", index)
            self._arrays[str(name)] = have[shard][name]
        lost = [n for s in shards for n in have[s] if places.get(n) != s]
        if lost:
            raise ArchiveError(f"the tensor {lost[0]} lies in a shard and not in the index", index)

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def float32(self, name: str) -> np.ndarray[Any, Any]:
        """A tensor as binary32, exactly: f32 itself, bf16 and f16 widened. Wider ones are refused."""
        self.check32(name)
        a = self._arrays[name]
        if name in self._bf16:
            return (a.astype(np.uint32) << 16).view(np.float32)
        return a.astype(np.float32, copy=False)

    def check32(self, name: str) -> None:
        """Raises ValueError for a tensor whose type binary32 does not hold."""
        kind = self._arrays[name].dtype
        if name not in self._bf16 and kind not in (np.float32, np.float16):
            raise ValueError(f"tensor {name} of {self.path} is {kind}, which binary32 does not hold")


# ---- names ----

@dataclass(frozen=True)
class Rule:
    """Tensors whose whole name the pattern (a regular expression) matches, and no rule before it: their name in the model,
    as `re.sub` writes it, or None where the model needs them not; and how they lie: "same"; "turned", [out, in] as PyTorch
    has linear layers, for [in, out] here; "image", [out, in, h, w] for [h, w, in, out]. `twin`: the model's parameter that a
    tensor without a name is a copy of; `load` refuses one that is none."""

    pattern: str
    name: str | None
    how: str = "same"
    twin: str | None = None


TURNED = {"same": None, "turned": (1, 0), "image": (2, 3, 1, 0)}
# Names here are those of the models of reprise.families. Patterns have what Hugging Face transformers 4 and 5 and
# torchvision write, with the prefix that a model's head gives its body or without it.
FAMILIES: dict[str, tuple[Rule, ...]] = {
    "gpt2": (
        Rule(r".*\.attn\.(bias|masked_bias)", None),  # masks that older files keep
        Rule(r"(?:transformer\.)?(wte|wpe)\.weight", r"transformer.\1.weight"),
        Rule(r"(?:transformer\.)?(h\.\d+\.(?:ln_1|ln_2|attn\.c_attn|attn\.c_proj|mlp\.c_fc|mlp\.c_proj)|ln_f)\.(weight|bias)",
             r"transformer.\1.\2"),  # its Conv1D lies as our linear layers do
        Rule(r"lm_head\.weight", None, twin="transformer.wte.weight")),
    "llama": (
        Rule(r".*rotary_emb\.inv_freq", None),
        Rule(r"(?:model\.)?embed_tokens\.weight", "model.embed_tokens.weight"),
        Rule(r"(?:model\.)?(layers\.\d+\.(?:self_attn|mlp)\.[a-z]+_proj)\.weight", r"model.\1.weight", "turned"),
        Rule(r"(?:model\.)?(layers\.\d+\.(?:self_attn|mlp)\.[a-z]+_proj)\.bias", r"model.\1.bias"),
        Rule(r"(?:model\.)?(layers\.\d+\.(?:input|post_attention)_layernorm|norm)\.weight", r"model.\1.weight"),
        Rule(r"lm_head\.weight", "lm_head.weight", "turned")),
    "bert": (
        Rule(r".*position_ids", None),
        Rule(r"(?:bert\.)?embeddings\.(word|position|token_type)_embeddings\.weight", r"bert.embeddings.\1_embeddings.weight"),
        Rule(r"(?:bert\.)?(.*LayerNorm)\.(?:weight|gamma)", r"bert.\1.weight"),
        Rule(r"(?:bert\.)?(.*LayerNorm)\.(?:bias|beta)", r"bert.\1.bias"),
        Rule(r"(?:bert\.)?((?:encoder\.layer\.\d+|pooler)\..*)\.weight", r"bert.\1.weight", "turned"),
        Rule(r"(?:bert\.)?((?:encoder\.layer\.\d+|pooler)\..*)\.bias", r"bert.\1.bias")),
    "vit": (
        Rule(r"(?:vit\.)?embeddings\.(cls_token|position_embeddings)", r"vit.embeddings.\1"),
        Rule(r"(?:vit\.)?embeddings\.patch_embeddings\.projection\.weight", "vit.embeddings.projection.weight", "image"),
        Rule(r"(?:vit\.)?embeddings\.patch_embeddings\.projection\.bias", "vit.embeddings.projection.bias"),
        Rule(r"(?:vit\.)?(?:encoder\.layer|layers)\.(\d+\.layernorm_(?:before|after))\.(weight|bias)", r"vit.layers.\1.\2"),
        *(rule for ours, theirs in (("query", r"attention\.attention\.query|attention\.q_proj"),
                                    ("key", r"attention\.attention\.key|attention\.k_proj"),
                                    ("value", r"attention\.attention\.value|attention\.v_proj"),
                                    ("out", r"attention\.output\.dense|attention\.o_proj"),
                                    ("up", r"intermediate\.dense|mlp\.fc1"), ("down", r"output\.dense|mlp\.fc2"))
          for rule in (Rule(rf"(?:vit\.)?(?:encoder\.layer|layers)\.(\d+)\.(?:{theirs})\.weight", rf"vit.layers.\1.{ours}.weight",
                            "turned"),
                       Rule(rf"(?:vit\.)?(?:encoder\.layer|layers)\.(\d+)\.(?:{theirs})\.bias", rf"vit.layers.\1.{ours}.bias"))),
        Rule(r"(?:vit\.)?layernorm\.(weight|bias)", r"vit.layernorm.\1"),
        Rule(r"classifier\.weight", "classifier.weight", "turned"), Rule(r"classifier\.bias", "classifier.bias")),
    "resnet": (
        Rule(r".*num_batches_tracked", None),
        Rule(r"((?:layer\d\.\d+\.)?conv\d)\.weight", r"\1.weight", "image"),
        Rule(r"(layer\d\.\d+\.downsample)\.0\.weight", r"\1.0.weight", "image"),
        Rule(r"((?:layer\d\.\d+\.)?bn\d|layer\d\.\d+\.downsample\.1)\.(weight|bias|running_mean|running_var)", r"\1.\2"),
        Rule(r"fc\.weight", "fc.weight", "turned"), Rule(r"fc\.bias", "fc.bias")),
}


@dataclass(frozen=True)
class Loaded:
    """What became of names: `taken` of the file by the model's, `missing` of the model and `unused` of the file without a
    partner, `ignored` by a rule."""

    taken: dict[str, str]
    missing: tuple[str, ...]
    unused: tuple[str, ...]
    ignored: tuple[str, ...]


def utf8(text: str) -> bool:
    """JSON has halves of pairs, which no name of a file has."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def rules_of(map: str | Mapping[str, Any] | Iterable[Rule] | None) -> tuple[Rule, ...]:
    if map is None:
        return (Rule(r"(.*)", r"\1"),)
    if isinstance(map, str):
        if map not in FAMILIES:
            raise ValueError(f"no family {map}: there are {', '.join(FAMILIES)}")
        return FAMILIES[map]
    if isinstance(map, Mapping):  # names as they are: to a name, to (name, how), to None
        pairs = [(n, v if isinstance(v, tuple) else (v, "same")) for n, v in map.items()]
        return tuple(Rule(re.escape(n), v[0] and v[0].replace("\\", r"\\"), v[1]) for n, v in pairs)
    return tuple(map)


def renamed(names: Iterable[str], map: str | Mapping[str, Any] | Iterable[Rule] | None) -> tuple[
        dict[str, tuple[str, str]], list[str], list[str]]:
    """({the model's name: (the file's, how it lies)}, names that a rule ignores, names that no rule has)."""
    rules = [(re.compile(r.pattern), r) for r in rules_of(map)]
    found: dict[str, tuple[str, str]] = {}
    ignored, without = [], []
    for name in names:
        match = next(((m, r) for p, r in rules if (m := p.fullmatch(name))), None)
        if match is None:
            without.append(name)
        elif match[1].name is None:
            ignored.append(name)
        else:
            own = match[0].expand(match[1].name)
            if match[1].how not in TURNED:
                raise ValueError(f"the rule {match[1].pattern} says {match[1].how}: there are {', '.join(TURNED)}")
            if own in found:
                raise ValueError(f"{name} and {found[own][0]} would both be {own}")
            found[own] = name, match[1].how
    return found, ignored, without


def load(model: Any, path: str | os.PathLike[str] | WeightsFile, map: str | Mapping[str, Any] | Iterable[Rule] | None = None, *,
         missing: Sequence[str] = (), unused: Sequence[str] = ()) -> Loaded:
    """Gives a model of layers (reprise.nn.Model, before its first step) the weights of a file, index or folder.

    map      a family's name, {name in the file: name, (name, how) or None}, or Rules; None: the names are the same
    missing  patterns (as of file names) of parameters and buffers that may keep their initial values
    unused   patterns of the file's tensors that may stay without a partner

    All is checked before anything is written. Raises ValueError, which lists names without a partner, or a shape that differs."""
    file = path if isinstance(path, WeightsFile) else WeightsFile(path)
    model.build()
    own = model.parameters()
    found, ignored, without = renamed(file, map)
    lost = [n for n in own if n not in found]
    left = without + [theirs for name, (theirs, _) in found.items() if name not in own]
    wrong = [("the model's", "missing", n) for n in lost if not allowed(n, missing)] + \
        [("the file's", "unused", n) for n in left if not allowed(n, unused)]
    if wrong:
        sides = [(whose, by, [n for w, _, n in wrong if w == whose])
                 for whose, by in (("the model's", "missing"), ("the file's", "unused"))]
        words = "; ".join(f"{whose} {', '.join(names[:MOST_TOLD])}{f' and {len(names) - MOST_TOLD} more' * (len(names) > MOST_TOLD)} "
                          f"(allow by {by}=)" for whose, by, names in sides if names)
        raise ValueError(f"{file.path}: names without a partner: {words}")
    taken = {name: pair for name, pair in found.items() if name in own}
    for name, (theirs, how) in taken.items():
        file.check32(theirs)
        shape, order = file[theirs].shape, TURNED[how]
        if order is not None and len(shape) != len(order):
            raise ValueError(f"{theirs} of {file.path} is {list(shape)}, which cannot be {how}")
        shape = tuple(shape[i] for i in order) if order is not None else shape
        if shape != tuple(own[name]):
            raise ValueError(f"{theirs} of {file.path} is {list(shape)}{' when turned' * (order is not None)}, "
                             f"the model's {name} {list(own[name])}")
    refuse_other_twins(file, map, ignored, taken)
    for name, (theirs, how) in taken.items():  # one at a time, so that one is copied
        array = file.float32(theirs)
        model.write(name, np.ascontiguousarray(np.transpose(array, TURNED[how]) if TURNED[how] else array))
    return Loaded({name: theirs for name, (theirs, _) in taken.items()}, tuple(lost), tuple(left), tuple(ignored))


def refuse_other_twins(file: WeightsFile, map: Any, ignored: Sequence[str], taken: Mapping[str, tuple[str, str]]) -> None:
    """Raises ValueError where a tensor that is left out as a copy of another is none."""
    for name in ignored:
        twin = next(r.twin for r in rules_of(map) if re.fullmatch(r.pattern, name))
        if twin is not None and twin in taken:
            a, b = file[name], file[taken[twin][0]]
            if a.shape != b.shape or a.dtype != b.dtype or a.tobytes() != b.tobytes():
                raise ValueError(f"{name} of {file.path} is no copy of {taken[twin][0]}, and the model has one for both")


def allowed(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, p) for p in ([patterns] if isinstance(patterns, str) else patterns))
