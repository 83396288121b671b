# SPDX-License-Identifier: Apache-2.0
"""Ensembles of trees of the domain ai.onnx.ml: all trees of a model are one table of nodes, and a row goes down all of
them at once, a level a step, by gathering. Sums are made in binary64 and rounded once, so that classes of equal
weight are equal whatever the order of the trees."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .graph import Node, Value, handles
from .ml import DOMAIN, data, decided, labels_of, rows, transformed, two_sided

# In the order of the numbers that version 5 has for them.
MODES = {"BRANCH_LEQ": "le", "BRANCH_LT": "lt", "BRANCH_GTE": "ge", "BRANCH_GT": "gt", "BRANCH_EQ": "eq", "BRANCH_NEQ": "ne"}
MOST_NODES, MOST_VALUES, DEEPEST = 1 << 22, 1 << 24, 256


@dataclass
class Trees:
    """A table of nodes: of a leaf both children are itself. `votes` are the leaves' weights, [nodes, targets]."""

    feature: Any
    split: Any
    mode: Any
    yes: Any
    no: Any
    missing: Any
    roots: Any
    depth: int
    votes: Any


def listed(n: Node, name: str, wanted: Any, length: int | None = None, default: float | None = None) -> Any:
    found = n.get(f"{name}_as_tensor")
    found = np.asarray(n.get(name, []) if found is None else found).reshape(-1)
    if not found.size and default is not None and length is not None:
        found = np.full(length, default)
    if length is not None and found.size != length:
        raise n.refuse(f"{name} of {found.size} elements, expected {length}")
    return found.astype(wanted)


def trees(n: Node, votes: str, targets: int) -> Trees:
    """The model's attributes as a table, in the order of the file; `votes` is the prefix of the leaves' attributes."""
    modes = [m.decode() if isinstance(m, bytes) else str(m) for m in n.get("nodes_modes", [])]
    count = len(modes)
    unknown = sorted(set(modes) - {"LEAF", *MODES})
    if not 1 <= count <= MOST_NODES or unknown or count * targets > MOST_VALUES:
        raise n.refuse(f"{count} nodes of {targets} targets, modes {unknown}")
    tree, node = (listed(n, f"nodes_{k}", np.int64, count) for k in ("treeids", "nodeids"))
    place = {key: i for i, key in enumerate(zip(tree.tolist(), node.tolist()))}
    if len(place) != count:
        raise n.refuse("a node twice")
    leaf, own = np.array([m == "LEAF" for m in modes]), np.arange(count)
    try:
        yes, no = (np.array([i if done else place[t, c] for i, (t, c, done) in enumerate(zip(tree.tolist(), k.tolist(), leaf))])
                   for k in (listed(n, f"nodes_{side}nodeids", np.int64, count) for side in ("true", "false")))
    except KeyError as e:
        raise n.refuse(f"a child that is no node: tree and node {e}") from None
    wide = np.float64 if n.value(0).dtype == "f64" else np.float32
    weights = listed(n, f"{votes}_weights", np.float64)
    ids, at_tree, at_node = (listed(n, f"{votes}_{k}", np.int64, weights.size) for k in ("ids", "treeids", "nodeids"))
    table = np.zeros((count, targets), np.float64)
    for w, target, key in zip(weights, ids.tolist(), zip(at_tree.tolist(), at_node.tolist())):
        if key not in place or not leaf[place[key]] or not 0 <= target < targets:
            raise n.refuse(f"a weight of target {target} at tree and node {key}, which is no leaf of {targets} targets")
        table[place[key], target] += w
    found = Trees(listed(n, "nodes_featureids", np.int64, count), listed(n, "nodes_values", wide, count), np.array(modes), yes, no,
                  listed(n, "nodes_missing_value_tracks_true", np.int64, count, 0), roots(n, tree, own, leaf, yes, no), 0, table)
    found.feature[leaf], found.split[leaf] = 0, 0
    return reached(n, found, leaf)


def roots(n: Node, tree: Any, own: Any, leaf: Any, yes: Any, no: Any) -> Any:
    """The first node of each tree, which no other one leads to."""
    first = own[np.r_[True, tree[1:] != tree[:-1]]]
    children = set(yes[~leaf].tolist()) | set(no[~leaf].tolist())
    if len(set(tree[first].tolist())) != len(first) or children & set(first.tolist()):
        raise n.refuse("trees whose nodes do not follow each other, or do not begin with the root")
    return first


def reached(n: Node, t: Trees, leaf: Any) -> Trees:
    """With its depth: going down from all roots at once ends at leaves, or goes in a circle."""
    level, depth = t.roots, 0
    while not leaf[level].all():
        depth += 1
        if depth > DEEPEST:
            raise n.refuse(f"trees deeper than {DEEPEST}, or in a circle")
        level = np.unique(np.concatenate([t.yes[level], t.no[level]]))
    columns = n.value(0).shape[-1]
    if ((t.feature < 0) | (t.feature >= columns)).any():
        raise n.refuse(f"a feature outside of {columns} columns")
    t.depth = depth
    return t


def summed(n: Node, t: Trees) -> Any:
    """The sum of the votes of the leaves that each row comes to, [rows, targets] in binary64."""
    g = n.g
    if n.value(0).dtype not in ("f32", "f64"):
        raise n.refuse(f"elements of type {n.value(0).dtype}")
    x = rows(n, n.value(0).dtype)
    count, many = x.shape[0], len(t.roots)
    flat = [n.g.room(count * many)[0]]
    at = g.broadcast(g.reshape(data(g, t.roots.astype(np.int64)), [1, many]), [count, many])
    line = g.tensor(g.constant(np.arange(count, dtype=np.int64)[:, None] * x.shape[1]))
    values, kinds = g.reshape(x, [x.shape[0] * x.shape[1]]), [m for m in MODES if (t.mode == m).any()]

    def of(table: Any, index: Any) -> Any:
        return g.reshape(g.op("gather", data(g, table), g.reshape(index, flat), axis=0), [count, many])

    for _ in range(t.depth):
        goes: Any = None
        v = g.reshape(g.op("gather", values, g.reshape(g.op("add", of(t.feature, at), line), flat), axis=0), [count, many])
        split = of(t.split, at)
        for kind in kinds:
            here = g.op(MODES[kind], v, split)
            if goes is not None:
                mine = g.op("eq", of((t.mode == kind).astype(np.int32), at), g.fill(1, "i32"))
                here = g.op("where", mine, here, goes)
            goes = here
        if t.missing.any():
            tracks = g.op("eq", of(t.missing.astype(np.int32), at), g.fill(1, "i32"))
            goes = g.op("logical_or", goes, g.op("logical_and", g.op("ne", v, v), tracks))
        at = g.op("where", goes, of(t.yes.astype(np.int64), at), of(t.no.astype(np.int64), at))
    votes = g.op("gather", data(g, t.votes), g.reshape(at, flat), axis=0)
    return g.reshape(g.op("sum", g.reshape(votes, [count, many, t.votes.shape[1]]), axes=[1]), [count, t.votes.shape[1]])


@handles(f"{DOMAIN}.TreeEnsembleRegressor")
def regressor(n: Node) -> Value:
    g, targets, how = n.g, int(n.get("n_targets", 0)), str(n.get("aggregate_function", "SUM"))
    if targets < 1 or how not in ("SUM", "AVERAGE") or str(n.get("post_transform", "NONE")) != "NONE":
        raise n.refuse(f"{targets} targets, aggregate_function {how}, post_transform {n.get('post_transform', 'NONE')}")
    t = trees(n, "target", targets)
    y = summed(n, t)
    if how == "AVERAGE":
        y = g.op("div", y, g.fill(len(t.roots), "f64"))
    base = listed(n, "base_values", np.float64)
    if base.size not in (0, targets):
        raise n.refuse(f"{base.size} base values of {targets} targets")
    y = g.op("add", y, data(g, base)) if base.size else y
    return g.made(g.cast(y, "f32"), "f32", n.value(0))


@handles(f"{DOMAIN}.TreeEnsemble")
def ensemble(n: Node) -> Value:
    """The form of version 5, whose inner nodes and leaves are lists of their own. A node's number is its place."""
    g, targets, kinds = n.g, int(n.get("n_targets", 0)), list(MODES)
    how, wide = int(n.get("aggregate_function", 1)), np.float64 if n.value(0).dtype == "f64" else np.float32
    modes = listed(n, "nodes_modes", np.int64)
    weights, count = listed(n, "leaf_weights", np.float64), modes.size
    if not 1 <= count <= MOST_NODES or not 1 <= weights.size <= MOST_NODES or (count + weights.size) * max(targets, 1) > MOST_VALUES \
            or ((modes < 0) | (modes >= len(MODES))).any():
        raise n.refuse(f"{count} nodes and {weights.size} leaves of {targets} targets, modes {sorted(set(modes.tolist()) - set(range(6)))}")
    if targets < 1 or how not in (0, 1) or int(n.get("post_transform", 0)):
        raise n.refuse(f"{targets} targets, aggregate_function {how}, post_transform {n.get('post_transform', 0)}")
    sides = []
    for side in ("true", "false"):
        to, ends = (listed(n, f"nodes_{side}{k}", np.int64, count) for k in ("nodeids", "leafs"))
        if ((to < 0) | (to >= np.where(ends != 0, weights.size, count))).any() or ((ends != 0) & (ends != 1)).any():
            raise n.refuse(f"a {side} child that is no node and no leaf")
        sides.append(np.r_[to + count * ends, count + np.arange(weights.size)])
    first, of = listed(n, "tree_roots", np.int64), listed(n, "leaf_targetids", np.int64, weights.size)
    if not first.size or ((first < 0) | (first >= count)).any() or ((of < 0) | (of >= targets)).any():
        raise n.refuse(f"roots {first.tolist()[:8]} of {count} nodes, or a leaf of a target outside of {targets}")
    votes = np.zeros((count + weights.size, targets))
    votes[count + np.arange(weights.size), of] = weights

    def whole(found: Any) -> Any:
        return np.r_[found, np.zeros(weights.size, found.dtype)]

    t = Trees(whole(listed(n, "nodes_featureids", np.int64, count)), whole(listed(n, "nodes_splits", wide, count)),
              np.array([kinds[m] for m in modes] + ["LEAF"] * weights.size), sides[0], sides[1],
              whole(listed(n, "nodes_missing_value_tracks_true", np.int64, count, 0)), first, 0, votes)
    y = summed(n, reached(n, t, np.arange(count + weights.size) >= count))
    y = g.op("div", y, g.fill(len(first), "f64")) if how == 0 else y
    return g.made(g.cast(y, n.value(0).dtype), n.value(0).dtype, n.value(0))


@handles(f"{DOMAIN}.TreeEnsembleClassifier")
def classifier(n: Node) -> Sequence[Value | None]:
    g, (labels, classes) = n.g, labels_of(n, "classlabels_int64s")
    ids, weights = set(listed(n, "class_ids", np.int64).tolist()), listed(n, "class_weights", np.float64)
    how, base = str(n.get("post_transform", "NONE")), listed(n, "base_values", np.float64)
    t = trees(n, "class", classes)
    y = summed(n, t)
    if classes == 2 and len(ids) == 1:  # one score for two classes
        if ids != {0} or base.size > 1 or how != ("LOGISTIC" if (weights < 0).any() else "NONE"):
            raise n.refuse(f"two classes by one score, class_ids {sorted(ids)}, post_transform {how}: readers of the standard differ")
        one = g.op("slice", y, begin=[0, 0], end=[y.shape[0], 1])
        one = g.op("add", one, data(g, base)) if base.size else one
        both = two_sided(g, one) if how == "LOGISTIC" else g.op("concat", g.op("sub", g.fill(1, "f64"), one), one, axis=1)
        return decided(n, both, transformed(n, both, how), labels)
    if classes < 2 or base.size not in (0, classes) or classes == 2 and base.size:
        raise n.refuse(f"{classes} classes with {base.size} base values")
    if (weights < 0).any() and not everywhere(t):
        raise n.refuse("a class without a weight in some leaves, of weights below 0: readers of the standard differ")
    y = g.op("add", y, data(g, base)) if base.size else y
    return decided(n, y, transformed(n, y, how), labels)


def everywhere(t: Trees) -> bool:
    """Whether each class has a tree all of whose leaves vote for it: it is then among the scores of every row."""
    ends = np.r_[t.roots[1:], len(t.mode)]
    found = [(t.votes[a:b][t.mode[a:b] == "LEAF"] != 0).all(0) for a, b in zip(t.roots, ends)]
    return bool(np.any(found, axis=0).all())
