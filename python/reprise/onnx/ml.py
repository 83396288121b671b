# SPDX-License-Identifier: Apache-2.0
"""Operators of the domain ai.onnx.ml in the operations of programs: linear models, scalers, encoders of numbers and what
converters of scikit-learn put between them. The standard's text leaves much open: where its reference and onnxruntime read
it differently the form is refused. Texts have no place in a program: labels that are texts are left out, and ZipMap's maps
are the matrix of their values, a column a class."""
from __future__ import annotations

import hashlib
import importlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import MOST_KNOWN, Array, Graph, Node, Value, handles

DOMAIN = "ai.onnx.ml"
MOST_COUPLED = 32  # classes whose probabilities come of those of each two
MOST_CLASSES = 256  # of votes of each two


def real(n: Node, i: int = 0) -> Any:
    """Operand i as binary32, in which these operators compute whatever numbers they are given."""
    v = n.value(i)
    if v.dtype not in ("f32", "f64", "i32", "i64"):
        raise n.refuse(f"elements of type {v.dtype}")
    return n.g.cast(n.tensor(i), "f32")


def rows(n: Node, dtype: str = "f32") -> Any:
    """The operand as [rows, columns]; a vector is one row."""
    t = n.g.cast(real(n), "f32") if dtype == "f32" else n.tensor(0)
    if len(t.shape) not in (1, 2) or not math.prod(t.shape):
        raise n.refuse(f"an input {list(t.shape)}, expected rows and columns")
    return t if len(t.shape) == 2 else n.g.reshape(t, [1, t.shape[0]])


def numbers(n: Node, name: str, dtype: str = "f32") -> Any:
    """An attribute's numbers as an array; of none where it is not there."""
    return np.asarray(n.get(name, []), {"f32": np.float32, "i64": np.int64}[dtype]).reshape(-1)


def data(g: Graph, array: Array) -> Any:
    return g.tensor(g.constant(array))


def weight(n: Node, name: str, array: Array) -> Any:
    """An attribute that is trained: a state under the name of the operator's first output."""
    g, key = n.g, (n.name, name, array.shape, hashlib.sha256(array.tobytes()).digest())
    if key not in g.constants:
        g.constants[key] = g.input("state", f"{n.name}.{name}", array)
    return g.constants[key]


def per_column(n: Node, name: str, columns: int, otherwise: float) -> Any:
    found = numbers(n, name)
    if found.size not in (0, 1, columns):
        raise n.refuse(f"{name} of {found.size} elements, the input has {columns} columns")
    return found if found.size else np.array([otherwise], np.float32)


@handles(f"{DOMAIN}.Scaler")
def scaler(n: Node) -> Value:
    g, v = n.g, n.value(0)
    wide = "f64" if v.dtype == "f64" else "f32"
    columns = v.shape[-1] if v.rank else 1
    t = n.tensor(0) if wide == "f64" else real(n)
    offset, scale = (per_column(n, name, columns, d).astype(np.float64 if wide == "f64" else np.float32)
                     for name, d in (("offset", 0.0), ("scale", 1.0)))
    t = g.op("mul", g.op("sub", t, data(g, offset)), data(g, scale))
    return g.made(g.cast(t, "f32"), "f32", v)


@handles(f"{DOMAIN}.Normalizer")
def normalizer(n: Node) -> Value:
    g, v, norm, t = n.g, n.value(0), str(n.get("norm", "MAX")), rows(n)
    if norm not in ("L1", "L2"):
        raise n.refuse(f"norm {norm}: of the largest element, or of the largest without its sign, as readers of the standard differ")
    each = g.op("abs", t) if norm == "L1" else g.op("mul", t, t)
    size = g.reshape(g.op("sum", each, axes=[1]), [t.shape[0], 1])
    size = g.op("sqrt", size) if norm == "L2" else size
    size = g.op("where", g.op("eq", size, g.fill(0, "f32")), g.fill(1, "f32"), size)
    return g.made(g.reshape(g.op("div", t, size), v.shape), "f32", v)


@handles(f"{DOMAIN}.Binarizer")
def binarizer(n: Node) -> Value:
    g, v = n.g, n.value(0)
    if v.dtype not in ("f32", "f64"):
        raise n.refuse(f"elements of type {v.dtype}")
    above = g.op("gt", n.tensor(0), g.fill(float(np.float32(n.get("threshold", 0.0))), v.dtype))
    return g.made(g.cast(above, v.dtype), v.dtype, v)


@handles(f"{DOMAIN}.Imputer")
def imputer(n: Node) -> Value:
    g, v = n.g, n.value(0)
    kind = {"f32": "float", "f64": "float", "i64": "int64"}.get(v.dtype)
    if kind is None or v.rank not in (1, 2):
        raise n.refuse(f"an input {v.dtype}{list(v.shape)}")
    wanted: Any = np.float32 if kind == "float" else np.int64
    found = np.asarray(n.get(f"imputed_value_{kind}s", []), wanted).reshape(-1)
    if found.size not in (1, v.shape[-1]):
        raise n.refuse(f"{found.size} imputed values, the input has {v.shape[-1]} columns")
    old = wanted(n.get(f"replaced_value_{kind}", 0))
    x = n.tensor(0)
    if kind == "float":
        found = found.astype({"f32": np.float32, "f64": np.float64}[v.dtype])
        hit = g.op("ne", x, x) if np.isnan(old) else g.op("eq", x, g.fill(float(old), v.dtype))
    else:
        hit = g.op("eq", x, data(g, np.array(old)))
    return g.made(g.op("where", hit, data(g, found), x), v.dtype, v)


@handles(f"{DOMAIN}.ArrayFeatureExtractor")
def array_feature_extractor(n: Node) -> Value:
    g, v, index = n.g, n.value(0), n.value(1)
    if not v.rank or index.dtype not in ("i32", "i64"):
        raise n.refuse(f"an input {list(v.shape)}, indices {index.dtype}")
    if index.known is not None and ((index.known < 0) | (index.known >= v.shape[-1])).any():
        raise n.refuse(f"an index outside of {v.shape[-1]} columns")
    lead = v.shape[:-1] if v.rank > 1 else (1,)
    t = g.op("gather", n.tensor(0), g.reshape(n.tensor(1), [index.size]), axis=v.rank - 1)
    return g.made(g.reshape(t, [*lead, index.size]), v.dtype, v, index)


@handles(f"{DOMAIN}.FeatureVectorizer")
def feature_vectorizer(n: Node) -> Value:
    g, lengths, parts = n.g, list(n.get("inputdimensions", [])), []
    for i in range(len(n.inputs)):
        t = real(n, i)
        t = g.reshape(t, [t.shape[0], 1]) if len(t.shape) == 1 else t
        if i >= len(lengths) or len(t.shape) != 2 or t.shape[1] != lengths[i]:
            raise n.refuse(f"inputdimensions {lengths}, input {i} is {list(t.shape)}")
        parts.append(t)
    return g.made(g.op("concat", *parts, axis=1) if len(parts) > 1 else parts[0], "f32", *map(n.value, range(len(parts))))


@handles(f"{DOMAIN}.OneHotEncoder")
def one_hot_encoder(n: Node) -> Value:
    g, v, classes = n.g, n.value(0), numbers(n, "cats_int64s", "i64")
    if v.dtype not in ("i32", "i64") or not classes.size:
        raise n.refuse(f"elements of type {v.dtype}, or no cats_int64s")
    if len(set(classes.tolist())) != classes.size:
        raise n.refuse("a class twice")
    g.room(classes.size, classes.size)
    hit = g.op("eq", g.reshape(g.cast(n.tensor(0), "i64"), [v.size, 1]), data(g, classes))
    if n.get("zeros", 1):
        found = g.cast(hit, "f32")
    else:  # a number that is no class is an error of the run: place -1, which a gather refuses
        place = g.op("sub", g.op("sum", place_of(g, hit), axes=[1]), g.fill(1, "i64"))
        found = g.op("gather", data(g, np.eye(classes.size, dtype=np.float32)), g.reshape(place, [v.size]), axis=0)
    return g.made(g.reshape(found, [*v.shape, classes.size]), "f32", v)


def place_of(g: Graph, hit: Any) -> Any:
    """Of flags [numbers, classes] the class's place from 1 where a flag is, and 0 elsewhere."""
    return g.op("where", hit, data(g, np.arange(1, hit.shape[1] + 1, dtype=np.int64)), g.fill(0, "i64"))


@handles(f"{DOMAIN}.LabelEncoder")
def label_encoder(n: Node) -> Value:
    """The place of each number among the keys, and what lies there; place 0 is that of none."""
    g, v, keys, values, default = n.g, n.value(0), *tables(n)
    if v.dtype != {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64", np.dtype(np.int32): "i32",
                   np.dtype(np.int64): "i64"}.get(keys.dtype):
        raise n.refuse(f"an input {v.dtype}, keys {keys.dtype}")
    if keys.size != values.size or not 1 <= keys.size <= MOST_KNOWN or (keys != keys).any() or len(set(keys.tolist())) != keys.size:
        raise n.refuse(f"{keys.size} keys and {values.size} values, a key twice, or NaN among them")
    hit = g.op("eq", g.reshape(n.tensor(0), [v.size, 1]), data(g, keys))
    place = g.reshape(g.op("sum", place_of(g, hit), axes=[1]), [v.size])
    table = data(g, np.concatenate([np.asarray([default], values.dtype), values]))
    found = g.op("gather", table, place, axis=0)
    made = g.constant(values[:1])
    return g.made(g.reshape(found, v.shape), made.dtype, v)


def tables(n: Node) -> tuple[Any, Any, Any]:
    """LabelEncoder's keys, values and default; each is numbers, else the operator is refused."""
    kinds: dict[str, tuple[Any, float]] = {"floats": (np.float32, -0.0), "int64s": (np.int64, -1)}
    found: list[Any] = []
    default: Any = None
    for side in ("keys", "values"):
        kind = next((k for k in kinds if len(n.get(f"{side}_{k}", []))), None)
        tensor = n.get(f"{side}_tensor")
        if kind is not None:
            found.append(np.asarray(n.get(f"{side}_{kind}"), kinds[kind][0]).reshape(-1))
            default = n.get(f"default_{kind[:-1]}", kinds[kind][1])
        elif tensor is not None:
            found.append(np.asarray(tensor).reshape(-1))
            default = n.get("default_tensor")
            default = default if default is None else np.asarray(default).reshape(-1)[0]
        else:
            raise n.refuse(f"{side} that are texts")
    if default is None or found[1].dtype.kind not in "fi":
        raise n.refuse("no default, or values that are texts")
    return found[0], found[1], default


@handles(f"{DOMAIN}.ZipMap")
def zip_map(n: Node) -> Value:
    return n.value(0)


# ---- linear models and support vectors ----

def linear(n: Node, targets: int | None) -> Any:
    """x coefficients^T + intercepts, [rows, targets]."""
    g, x = n.g, rows(n)
    coefficients, intercepts = numbers(n, "coefficients"), numbers(n, "intercepts")
    if targets is None:
        targets = intercepts.size
    if targets < 1 or coefficients.size != targets * x.shape[1] or intercepts.size not in (0, targets):
        raise n.refuse(f"{coefficients.size} coefficients and {intercepts.size} intercepts of {x.shape[1]} columns, {targets} targets")
    w = weight(n, "coefficients", coefficients.reshape(targets, x.shape[1]))
    y = g.op("matmul", x, g.transpose(w, [1, 0]))
    return g.op("add", y, weight(n, "intercepts", intercepts)) if intercepts.size else y


@handles(f"{DOMAIN}.LinearRegressor")
def linear_regressor(n: Node) -> Value:
    if str(n.get("post_transform", "NONE")) != "NONE":
        raise n.refuse(f"post_transform {n.get('post_transform')}")
    return n.g.made(linear(n, int(n.get("targets", 1))), "f32", n.value(0))


@handles(f"{DOMAIN}.SVMRegressor")
def svm_regressor(n: Node) -> Value:
    """In binary64, in which a distance is what products leave of squares."""
    g, count, x = n.g, int(n.get("n_supports", 0)), wide(n)
    supports, coefficients, rho = (numbers(n, k).astype(np.float64) for k in ("support_vectors", "coefficients", "rho"))
    if count < 1 or supports.size != count * x.shape[1] or coefficients.size != count or rho.size != 1 \
            or str(n.get("post_transform", "NONE")) != "NONE" or n.get("one_class", 0):
        raise n.refuse(f"{count} supports of {x.shape[1]} columns, post_transform {n.get('post_transform', 'NONE')}, "
                       f"one_class {n.get('one_class', 0)}")
    k = kernel(n, x, supports.reshape(count, -1))
    y = g.op("add", g.op("matmul", k, data(g, coefficients.reshape(count, 1))), data(g, rho))
    return g.made(g.cast(y, "f32"), "f32", n.value(0))


def kernel(n: Node, x: Any, supports: Array) -> Any:
    """How alike each row and each support vector are, [rows, supports], in binary64."""
    g, kind = n.g, str(n.get("kernel_type", "LINEAR"))
    parameters = [float(v) for v in n.get("kernel_params", [])]
    if len(parameters) != 3 and (parameters or kind != "LINEAR"):
        raise n.refuse(f"{len(parameters)} kernel_params, expected gamma, coef0 and degree")
    gamma, shift, degree = parameters or [0.0, 0.0, 0.0]
    k = g.op("matmul", x, g.transpose(data(g, supports), [1, 0]))
    if kind == "RBF":
        own = g.reshape(g.op("sum", g.op("mul", x, x), axes=[1]), [x.shape[0], 1])
        far = g.op("add", own, data(g, (supports ** 2).sum(1)))
        k = g.op("exp", g.op("mul", g.fill(-gamma, "f64"), g.op("maximum", g.op("sub", far, g.op("mul", g.fill(2, "f64"), k)),
                                                                   g.fill(0, "f64"))))
    elif kind in ("POLY", "SIGMOID"):
        k = g.op("add", g.op("mul", g.fill(gamma, "f64"), k), g.fill(shift, "f64"))
        if kind == "POLY" and degree != int(degree):
            raise n.refuse(f"degree {degree}")
        k = g.op("pow_int", k, exponent=int(degree)) if kind == "POLY" else g.op("tanh", k)
    elif kind != "LINEAR":
        raise n.refuse(f"kernel_type {kind}")
    return k


@handles(f"{DOMAIN}.SVMClassifier")
def svm_classifier(n: Node) -> Sequence[Value | None]:
    """A vote of each two classes; scores are of the pairs, of two classes alone also of the other side."""
    g, x, (labels, classes) = n.g, wide(n), labels_of(n, "classlabels_ints")
    each = [int(k) for k in n.get("vectors_per_class", [])]
    supports, coefficients, rho = (numbers(n, k).astype(np.float64) for k in ("support_vectors", "coefficients", "rho"))
    count, pairs = sum(each), classes * (classes - 1) // 2
    if len(each) != classes or classes < 2 or classes > MOST_CLASSES or min(each) < 1 or supports.size != count * x.shape[1] \
            or coefficients.size != count * (classes - 1) or rho.size != pairs or str(n.get("post_transform", "NONE")) != "NONE":
        raise n.refuse(f"{each} supports of {classes} classes, {x.shape[1]} columns, post_transform {n.get('post_transform', 'NONE')}")
    slope, shift = (numbers(n, k).astype(np.float64) for k in ("prob_a", "prob_b"))
    if not (coefficients < 0).any() or {slope.size, shift.size} not in ({0}, {pairs}) or slope.size and classes > MOST_COUPLED:
        raise n.refuse(f"coefficients none of which is below 0, or {slope.size} and {shift.size} numbers of {pairs} probabilities of {classes} classes")
    weights, column = coefficients.reshape(classes - 1, count), 0
    g.room(count, pairs)
    table, wins = np.zeros((count, pairs)), np.zeros((2, pairs, classes))
    begin = np.r_[0, np.cumsum(each)]
    for i in range(classes):
        for j in range(i + 1, classes):
            table[begin[i]:begin[i + 1], column] = weights[j - 1, begin[i]:begin[i + 1]]
            table[begin[j]:begin[j + 1], column] = weights[i, begin[j]:begin[j + 1]]
            wins[0, column, i] = wins[1, column, j] = 1
            column += 1
    s = g.op("add", g.op("matmul", kernel(n, x, supports.reshape(count, -1)), data(g, table)), data(g, rho))
    first = g.cast(g.op("gt", s, g.fill(0, "f64")), "f64")
    votes = g.op("add", g.op("matmul", first, data(g, wins[0])), g.op("matmul", g.op("sub", g.fill(1, "f64"), first), data(g, wins[1])))
    if slope.size:
        return decided(n, votes, coupled(g, s, slope, shift, classes), labels)
    return decided(n, votes, two_sided(g, s) if classes == 2 else s, labels)


def coupled(g: Graph, scores: Any, slope: Array, shift: Array, classes: int) -> Any:
    """Probabilities of the classes of those of each two (Wu, Lin and Weng 2004, their second method, as libsvm has it): r[i, j] of
    the pair's score by a logistic curve; then p, from 1 / classes on, moves coordinate by coordinate until its equations hold
    within 0.005 / classes, each row by itself."""
    count = scores.shape[0]
    r = g.op("sigmoid", g.op("neg", g.op("add", g.op("mul", scores, data(g, slope)), data(g, shift))))
    r = g.op("minimum", g.op("maximum", r, g.fill(1e-7, "f64")), g.fill(1 - 1e-7, "f64"))
    pick, turned = np.zeros((len(slope), classes * classes)), np.zeros((1, classes * classes))
    for k, (i, j) in enumerate((i, j) for i in range(classes) for j in range(i + 1, classes)):
        pick[k, i * classes + j], pick[k, j * classes + i], turned[0, j * classes + i] = 1, -1, 1
    r = g.reshape(g.op("add", g.op("matmul", r, data(g, pick)), data(g, turned)), [count, classes, classes])  # 0 of a class and itself
    back = g.transpose(r, [0, 2, 1])
    own = g.op("mul", g.reshape(g.op("sum", g.op("mul", r, r), axes=[1]), [count, 1, classes]), data(g, np.eye(classes)[None]))
    q = g.op("sub", own, g.op("mul", back, r))
    p = g.fill(1.0 / classes, "f64", [count, classes])
    most = max(100, classes)
    body, going = coupling(count, classes)
    return g.builder.while_(body, going, most, carried=[p, g.fill(1, "f64", [count, 1])], shared=[q])[1]


def coupling(count: int, classes: int) -> tuple[Any, Any]:
    """The loop's body, and whether it goes on: while a row's equations do not hold."""
    f = importlib.import_module("reprise").Builder()
    with f:
        f.parameter((), "i64")
        p, _, q = f.parameter((count, classes), "f64"), f.parameter((count, 1), "f64"), f.parameter((count, classes, classes), "f64")
        before, qp = p, (q * p.reshape(count, 1, classes)).sum(axes=[2]).reshape(count, classes)
        pqp = (p * qp).sum(axes=[1]).reshape(count, 1)
        error = f.append("max", {"axes": [1]}, [f.append("abs", {}, [qp - pqp])]).reshape(count, 1)
        for t in range(classes):
            row = f.append("slice", {"begin": [0, t, 0], "end": [count, t + 1, classes]}, [q]).reshape(count, classes)
            own, mine = (f.append("slice", {"begin": [0, t], "end": [count, t + 1]}, [a]) for a in (row, qp))
            move = (pqp - mine) / own
            place = f.append("one_hot", {"depth": classes, "dtype": "f64"}, [f.append("fill", {"value": t, "shape": [1], "dtype": "i64"}, [])])
            p, rest = p + move * place, move + 1.0
            pqp = (pqp + move * (move * own + mine * 2.0)) / (rest * rest)
            p, qp = p / rest, (qp + move * row) / rest
        ended = f.append("lt", {}, [error, f.append("fill", {"value": 0.005 / classes, "shape": [], "dtype": "f64"}, [])])
        f.returns(f.append("where", {}, [f.append("broadcast_to", {"shape": [count, classes]}, [ended]), before, p]))
        f.returns(f.append("cast", {"dtype": "f64"}, [f.append("logical_not", {}, [ended])]))
    g = importlib.import_module("reprise").Builder()
    with g:
        g.parameter((), "i64")
        _, open_rows = g.parameter((count, classes), "f64"), g.parameter((count, 1), "f64")
        g.parameter((count, classes, classes), "f64")
        g.returns(g.append("lt", {}, [g.append("fill", {"value": 0.0, "shape": [], "dtype": "f64"}, []), open_rows.sum()]))
    return f.finish_function(), g.finish_function()


def wide(n: Node) -> Any:
    return n.g.cast(rows(n), "f64")


@handles(f"{DOMAIN}.LinearClassifier")
def linear_classifier(n: Node) -> Sequence[Value | None]:
    g, how, scores = n.g, str(n.get("post_transform", "NONE")), linear(n, None)
    labels = labels_of(n, "classlabels_ints")
    if scores.shape[1] == 1:
        if labels[1] != 2 or how != "LOGISTIC":
            raise n.refuse(f"one target, {labels[1]} classes and post_transform {how}: readers of the standard differ")
        scores = two_sided(g, scores)
    elif labels[1] != scores.shape[1]:
        raise n.refuse(f"{scores.shape[1]} targets, {labels[1]} classes")
    return decided(n, scores, transformed(n, scores, how), labels[0])


def labels_of(n: Node, name: str) -> tuple[Any, int]:
    """The classes as integers, or None where they are texts, and how many."""
    found, texts = numbers(n, name, "i64"), len(n.get("classlabels_strings", []))
    if bool(found.size) == bool(texts):
        raise n.refuse("class labels that are missing, or both numbers and texts")
    return (None, texts) if texts else (found, found.size)


def two_sided(g: Graph, scores: Any) -> Any:
    """Of one score the other class's beside it, which is its negative."""
    return g.op("concat", g.op("neg", scores), scores, axis=1)


def transformed(n: Node, scores: Any, how: str) -> Any:
    if how not in ("NONE", "LOGISTIC", "SOFTMAX"):
        raise n.refuse(f"post_transform {how}")
    return scores if how == "NONE" else n.g.op("sigmoid" if how == "LOGISTIC" else "softmax", scores)


def decided(n: Node, scores: Any, shown: Any, labels: Any) -> Sequence[Value | None]:
    """The class of the greatest score, the first of equal ones, and the scores as they are shown."""
    g, v = n.g, n.value(0)
    label = None
    if labels is not None:
        place = g.cast(g.op("argmax", scores, axis=1), "i64")
        label = g.made(g.op("gather", data(g, labels), g.reshape(place, [scores.shape[0]]), axis=0), "i64", v)
    return [label, g.made(g.cast(shown, "f32"), "f32", v)]
