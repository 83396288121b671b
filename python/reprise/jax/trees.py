# SPDX-License-Identifier: Apache-2.0
"""Pytrees as lists of leaves with names, and leaves as arrays that programs have."""
from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .complexes import is_complex
from .graph import NAMES, Type, Unsupported


def jax() -> Any:
    return importlib.import_module("jax")


def words(x: Any) -> Any:
    """A random key as its words; all else as it is."""
    return jax().random.key_data(x) if hasattr(x, "dtype") and hasattr(x.dtype, "_impl") else x


def is_array(x: Any) -> bool:
    """What jax traces: arrays, and numbers of Python and numpy."""
    return hasattr(x, "dtype") and hasattr(x, "shape") or isinstance(x, (bool, int, float))


def is_real(x: Any) -> bool:
    return hasattr(x, "dtype") and not hasattr(x.dtype, "_impl") and (str(x.dtype) == "bfloat16" or np.dtype(x.dtype).kind == "f")


def is_trained(x: Any) -> bool:
    return is_real(x) or is_complex(x)


def host(x: Any) -> np.ndarray[Any, Any]:
    """The leaf as an array of numpy, a key as its words, complex numbers as pairs [.., 2], bf16 as jax's own type of numpy; numbers have
    jax's default types, and without jax_enable_x64 arrays of 64 bits have 32. Raises OverflowError for integers that do not fit,
    TypeError for a masked array."""
    x = words(x)
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError("a masked array of numpy: jax takes none either, give x.filled(..)")
    a = np.asarray(x) if hasattr(x, "dtype") else np.asarray(jax().numpy.asarray(x))
    a = np.stack([a.real, a.imag], -1) if is_complex(a) else a
    if a.dtype.itemsize != 8 or a.dtype.kind not in "iuf":
        return a
    kind = np.dtype(jax().dtypes.canonicalize_dtype(a.dtype))
    if kind != a.dtype and kind.kind != "f" and a.size and not (a.min() >= np.iinfo(kind).min and a.max() <= np.iinfo(kind).max):
        raise OverflowError(f"integers up to {a.max()}, which {kind} does not hold: jax_enable_x64 keeps 64 bits")
    return a.astype(kind, copy=False)


def given(x: Any) -> Any:
    """The leaf as a run takes it: an array of numpy, or a tensor of bf16, which numpy has not."""
    a = host(x)
    if str(a.dtype) != "bfloat16":
        return a
    return importlib.import_module("reprise").Tensor(a.astype(np.float32)).cast("bf16")


def taken(t: Any) -> Any:
    """A tensor as an array of numpy, bf16 as jax's own type."""
    return t.cast("f32").numpy().astype(jax().numpy.bfloat16) if t.dtype == "bf16" else t.numpy()


def type_of(a: np.ndarray[Any, Any], name: str) -> Type:
    if NAMES.get(str(a.dtype), "u64") == "u64":
        raise Unsupported(f"{name} has elements of type {a.dtype}: programs have {', '.join(sorted(NAMES))}")
    return NAMES[str(a.dtype)], a.shape


@dataclass(frozen=True)
class Tree:
    """The arrays of a pytree in order, with names; what is no array stays as it is in `build`."""

    names: list[str]
    leaves: list[Any]
    build: Callable[[list[Any]], Any]
    form: Any = None
    others: tuple[Any, ...] = ()

    @property
    def key(self) -> Any:
        """What a captured function depends on but values of arrays: names, types, numbers of Python (which jax promotes in
        another way), the form, and what is no array. Raises TypeError where that cannot be told apart."""
        weak = tuple(isinstance(x, (bool, int, float)) or bool(getattr(x, "weak_type", False)) for x in self.leaves)
        found = (tuple(zip(self.names, self.types)), weak, self.form, self.others)
        try:
            hash(found)
        except TypeError:
            raise TypeError(f"what is no array has to be hashable, as a static argument of jax.jit: {self.others}") from None
        return found

    @property
    def types(self) -> list[Type]:
        return [type_of(host(x), n) for n, x in zip(self.names, self.leaves)]

    @property
    def named(self) -> list[tuple[str, Type]]:
        return list(zip(self.names, self.types))


MOST_NAME = 95  # characters of a program's input or result: of a parameter there is also the result `grad.NAME`


def fitting(name: str, exact: str = "") -> str:
    """A name that programs may have: of a longer one the beginning, the end, and between them what tells it from others; of one with
    letters beyond ASCII, whose path is `exact`, that behind it."""
    most = MOST_NAME - len("grad.") * name.startswith("params.")
    digest = hashlib.sha256((exact or name).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    own = f"{name}.{digest}" if exact else name
    return own if len(own) <= most else f"{name[:36]}.{digest}.{name[-36:]}"


def name_of(prefix: str, path: Any, own: set[str]) -> str:
    """prefix and the keys of the path with dots between; a second one of a name gets a number."""
    parts, paths = [], [prefix]
    for k in path:
        part = next((str(getattr(k, a)) for a in ("key", "name", "idx") if hasattr(k, a)), str(k))
        paths.append(part)
        parts.append("".join(c if c.isascii() and c.isalnum() or c in "_-." else "." if c == "/" else "_" for c in part))
    base = ".".join([prefix, *parts])
    exact = "" if all(p.isascii() for p in paths) else ".".join(paths)
    name, count = fitting(base, exact), 1
    while name in own:
        count += 1
        name = fitting(f"{base}_{count}", exact)
    own.add(name)
    return name


def tree(prefix: str, value: Any, wanted: Callable[[Any], bool] = is_array) -> Tree:
    """The wanted leaves of a pytree; the others are kept for `build`."""
    paths, form = jax().tree_util.tree_flatten_with_path(value)
    own: set[str] = set()
    chosen = [(i, name_of(prefix, p, own)) for i, (p, x) in enumerate(paths) if wanted(x)]
    everything = [x for _, x in paths]

    def build(leaves: list[Any]) -> Any:
        full = list(everything)
        for (i, _), x in zip(chosen, leaves):
            full[i] = x
        return jax().tree_util.tree_unflatten(form, full)
    own_places = {i for i, _ in chosen}
    others = tuple(x for i, x in enumerate(everything) if i not in own_places)
    return Tree([n for _, n in chosen], [everything[i] for i, _ in chosen], build, form, others)


def alone(value: Any, wanted: Callable[[Any], bool]) -> Callable[[list[Any]], Any]:
    """The pytree of the wanted leaves alone: None in the place of the others."""
    leaves, form = jax().tree_util.tree_flatten(value)

    def build(new: list[Any]) -> Any:
        given = iter(new)
        return jax().tree_util.tree_unflatten(form, [next(given) if wanted(x) else None for x in leaves])
    return build


def variables(value: Any) -> list[tuple[str, Any]]:
    """flax's nnx variables in a pytree, each with its path: objects that a model may write into while it is traced."""
    known = sys.modules.get("flax.nnx")  # not there: nobody has made one
    if known is None:
        return []
    paths = jax().tree_util.tree_flatten_with_path(value, is_leaf=lambda x: isinstance(x, known.Variable))[0]
    return [(jax().tree_util.keystr(p), x) for p, x in paths if isinstance(x, known.Variable)]


def paired(a: np.ndarray[Any, Any]) -> Any:
    return jax().numpy.asarray(np.ascontiguousarray(a).view(f"c{2 * a.dtype.itemsize}")[..., 0])


def like(leaves: list[Any], arrays: list[Any]) -> list[Any]:
    """Arrays as jax has them, keys again as keys, pairs as complex numbers."""
    j, found = jax(), []
    for leaf, a in zip(leaves, arrays):
        if hasattr(leaf, "dtype") and hasattr(leaf.dtype, "_impl"):
            found.append(j.random.wrap_key_data(j.numpy.asarray(a), impl=str(j.random.key_impl(leaf))))
        elif is_complex(leaf):
            found.append(paired(a))
        else:
            found.append(j.numpy.asarray(a))
    return found
