# SPDX-License-Identifier: Apache-2.0
"""Hostile ONNX models: valid ones that were changed in their structure, then imported in a process of bounded memory and
time. Each ends in an error by name, or in a program whose values are those of the official reference.

Usage: fuzz_onnx.py [CASES [FIRST]]; a case is a function of its number. A crash, a hang, another exception, more memory than
is allowed or a wrong value is printed with the number, and `fuzz_onnx.py 1 NUMBER` repeats it."""
import collections
import contextlib
import faulthandler
import importlib.util
import io
import multiprocessing
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import warnings

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import reprise
from reprise import onnx as door

MEMORY, SECONDS = 2 << 30, 20  # beyond what is there before the first case; of one case
SHAPES = {"batch": 2, **{c: 2 for c in "abcdefgh"}}
WORK, ELEMENTS = 1 << 27, 1 << 22  # what is imported is also run up to this size
EXTREMES = [0, 1, -1, 2, 3, 7, 127, 1 << 20, 1 << 31, (1 << 31) - 1, -(1 << 31), 1 << 40, (1 << 63) - 1, -(1 << 63)]
REALS = [0.0, -1.0, 1e-30, 1e30, float("inf"), float("-inf"), float("nan")]


# ---- what is valid ----

def simple(nodes, inputs, outputs, weights=(), opset=21):
    info = lambda of: [helper.make_tensor_value_info(n, t, s) for n, (t, s) in of.items()]
    graph = helper.make_graph(nodes, "g", info(inputs), info(outputs), [numpy_helper.from_array(a, n) for n, a in weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def seeds():
    """Models of many forms: networks, recurrent layers, branches, loops written out, functions, shapes that are computed."""
    import test_onnx
    import test_onnx_ml
    import test_onnx_operators
    import test_onnx_samples
    import test_onnx_selection
    F, I = TensorProto.FLOAT, TensorProto.INT64
    rng = np.random.default_rng(1)
    w = lambda *s: rng.normal(size=s).astype(np.float32)
    node = helper.make_node
    found = [test_onnx.picture(), test_onnx.scanned(3)]
    for graph in [found[0].graph]:
        graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2
    branch = lambda value: helper.make_graph([node("Constant", [], ["c"], value=numpy_helper.from_array(np.float32([value]))),
                                              node("Add", ["x", "c"], ["o"])], "b", [], [helper.make_tensor_value_info("o", F, [3])])
    def add(nodes, inputs, outputs, *weights):
        found.append(simple(nodes, inputs, outputs, weights))

    three, rows = (F, [3]), list("abcd")
    add([node("If", ["t"], ["y"], then_branch=branch(1), else_branch=branch(2))], {"x": three}, {"y": three}, ("t", np.array(True)))
    add([node("LSTM", ["x", "w", "r", "b"], ["s", "h"], hidden_size=4)], {"x": (F, [5, 2, 3])},
        {"s": (F, [5, 1, 2, 4]), "h": (F, [1, 2, 4])}, ("w", w(1, 16, 3)), ("r", w(1, 16, 4)), ("b", w(1, 32)))
    add([node("Shape", ["x"], ["s"]), node("Slice", ["s", "zero", "one"], ["n"]), node("Concat", ["n", "rest"], ["t"], axis=0),
         node("Reshape", ["x", "t"], ["r"]), node("Gather", ["r", "i"], ["g"], axis=1), node("Softmax", ["g"], ["y"])],
        {"x": (F, [2, 3, 4])}, {"y": (F, [2, 2])},
        ("zero", np.array([0])), ("one", np.array([1])), ("rest", np.array([-1])), ("i", np.array([3, 0])))
    add([node("Pad", ["x", "p"], ["a"]), node("Resize", ["a", "", "s"], ["b"], mode="linear"), node("TopK", ["b", "k"], ["y", "i"])],
        {"x": (F, [1, 1, 3, 4])}, {"y": (F, rows), "i": (I, list("efgh"))},
        ("p", np.array([0, 0, 1, 1, 0, 0, 1, 0])), ("s", np.float32([1, 1, 2, 1])), ("k", np.array([2])))
    add([node("LayerNormalization", ["x", "g", "b"], ["a"]), node("Gelu", ["a"], ["c"]),
         node("Einsum", ["c", "m"], ["d"], equation="bi,ij->bj"), node("Clip", ["d", "low", "high"], ["e"]),
         node("Where", ["cond", "e", "d"], ["y"])], {"x": (F, [3, 4]), "cond": (TensorProto.BOOL, [3, 5])}, {"y": (F, [3, 5])},
        ("g", w(4)), ("b", w(4)), ("m", w(4, 5)), ("low", np.float32(-1)), ("high", np.float32(1)))
    add([node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["d"]),
         node("Cast", ["d"], ["f"], to=TensorProto.FLOAT16), node("Tile", ["f", "t"], ["h"]), node("ReduceSum", ["h", "a"], ["y"])],
        {"x": (F, [2, 3])}, {"y": (TensorProto.FLOAT16, list("ab"))},
        ("s", np.float32(0.1)), ("z", np.uint8(3)), ("t", np.array([2, 1])), ("a", np.array([1])))
    add([node("ConvTranspose", ["x", "w"], ["a"], strides=[2, 2], output_padding=[1, 1]),
         node("InstanceNormalization", ["a", "g", "b"], ["c"]), node("AveragePool", ["c"], ["d"], kernel_shape=[2, 2], ceil_mode=1),
         node("DepthToSpace", ["d"], ["y"], blocksize=2)], {"x": (F, [1, 2, 4, 4])}, {"y": (F, rows)},
        ("w", w(2, 4, 3, 3)), ("g", w(4)), ("b", w(4)))
    return found + test_onnx_ml.examples() + test_onnx_operators.examples() + test_onnx_samples.examples() + \
        test_onnx_selection.examples() + node_models()


def node_models():
    """Of the official node tests two of each operator, in their order."""
    import onnx_node_tests
    from onnx.backend.test.loader import load_model_tests
    onnx_node_tests.quickly()
    found, taken = [], collections.Counter()
    for c in sorted(load_model_tests(kind="node"), key=lambda c: c.name):
        model = c.model or onnx.load(os.path.join(c.model_dir, "model.onnx"))
        kind = model.graph.node[0].op_type if model.graph.node else ""
        if taken[kind] < 2 and model.ByteSize() < 1 << 16:
            taken[kind] += 1
            found.append(model)
    return found


# ---- what changes it ----

def graphs(model):
    """The model's graph and the ones inside it."""
    todo, found = [model.graph], []
    while todo:
        g = todo.pop()
        found.append(g)
        todo += [a.g for n in g.node for a in n.attribute if a.type == AttributeProto.GRAPH]
    return found


def some_attribute(r, g):
    nodes = [n for n in g.node if n.attribute]
    return r.choice(r.choice(nodes).attribute) if nodes else None


def change_attribute(r, m, g):
    a = some_attribute(r, g)
    if a is None:
        return
    if a.type == AttributeProto.INT:
        a.i = r.choice(EXTREMES + [a.i + 1, a.i - 1, -a.i if a.i > -(1 << 63) else 0])
    elif a.type == AttributeProto.INTS and len(a.ints):
        how, k = r.randrange(4), r.randrange(len(a.ints))
        if how == 0:
            a.ints[k] = r.choice(EXTREMES)
        elif how == 1:
            a.ints.append(r.choice(EXTREMES[:6]))
        elif how == 2:
            del a.ints[k]
        else:
            a.ints[k] = max(-(1 << 63), min((1 << 63) - 1, a.ints[k] + r.choice((-1, 1))))
    elif a.type == AttributeProto.FLOAT:
        a.f = r.choice(REALS)
    elif a.type == AttributeProto.STRING:
        a.s = r.choice([b"", b"x", a.s + b"\xff", b"linear", b"SAME_UPPER", b"bij,ij->" + b"b" * 40, a.s[:-1]])
    elif a.type == AttributeProto.TENSOR:
        change_tensor(r, a.t)


def drop_attribute(r, m, g):
    nodes = [n for n in g.node if n.attribute]
    if nodes:
        n = r.choice(nodes)
        if r.randrange(2):
            del n.attribute[r.randrange(len(n.attribute))]
        else:
            n.attribute.append(n.attribute[r.randrange(len(n.attribute))])


def retype_attribute(r, m, g):
    a = some_attribute(r, g)
    if a is not None:
        a.type = r.choice([AttributeProto.INT, AttributeProto.INTS, AttributeProto.FLOAT, AttributeProto.STRING, AttributeProto.GRAPH,
                           AttributeProto.TENSOR, AttributeProto.FLOATS])


def change_tensor(r, t):
    how = r.randrange(7)
    if how == 0 and t.dims:
        t.dims[r.randrange(len(t.dims))] = r.choice(EXTREMES)
    elif how == 1:
        t.dims.append(r.choice([0, 1, 2, 1 << 40]))
    elif how == 2 and t.raw_data:
        t.raw_data = t.raw_data[:r.randrange(len(t.raw_data))]
    elif how == 3:
        t.data_type = r.choice(list(TensorProto.DataType.values()) + [99])
    elif how == 4 and t.raw_data:
        data = bytearray(t.raw_data)
        if t.data_type == TensorProto.INT64 and len(data) >= 8:
            k = r.randrange(len(data) // 8)
            data[8 * k:8 * k + 8] = struct.pack("<q", r.choice(EXTREMES))
        else:
            data[r.randrange(len(data))] = r.randrange(256)
        t.raw_data = bytes(data)
    elif how == 5:
        t.data_location = TensorProto.EXTERNAL
        place = r.choice(["../../../../etc/passwd", "/etc/passwd", "weights.bin", "", "a/../../b", "/dev/zero"])
        del t.external_data[:]
        for key, value in (("location", place), ("offset", str(r.choice(EXTREMES))), ("length", str(r.choice(EXTREMES)))):
            t.external_data.add(key=key, value=value)
    else:
        t.int64_data.append(r.choice(EXTREMES))


def change_initializer(r, m, g):
    if g.initializer:
        change_tensor(r, r.choice(g.initializer))


def change_input(r, m, g):
    if g.input:
        t = r.choice(g.input).type.tensor_type
        how = r.randrange(4)
        if how == 0:
            t.elem_type = r.choice(list(TensorProto.DataType.values()))
        elif how == 1 and t.shape.dim:
            r.choice(t.shape.dim).dim_value = r.choice(EXTREMES)
        elif how == 2:
            t.shape.dim.add().dim_value = r.choice(EXTREMES[:6])
        elif t.shape.dim:
            del t.shape.dim[r.randrange(len(t.shape.dim))]


def rewire(r, m, g):
    names = [n for node in g.node for n in [*node.input, *node.output]] + [""]
    nodes = [n for n in g.node if n.input]
    if nodes:
        n = r.choice(nodes)
        if r.randrange(3):
            n.input[r.randrange(len(n.input))] = r.choice(names)
        elif r.randrange(2):
            n.input.append(r.choice(names))
        else:
            del n.input[r.randrange(len(n.input))]


def reorder(r, m, g):
    if len(g.node) > 1:
        nodes = [onnx.NodeProto.FromString(n.SerializeToString()) for n in g.node]
        i, j = r.randrange(len(nodes)), r.randrange(len(nodes))
        how = r.randrange(3)
        if how == 0:
            nodes[i], nodes[j] = nodes[j], nodes[i]
        elif how == 1:
            nodes.insert(i, nodes[j])
        else:
            del nodes[i]
        del g.node[:]
        g.node.extend(nodes)


def other_operator(r, m, g):
    if g.node:
        n = r.choice(g.node)
        n.op_type = r.choice(KINDS)
        if r.randrange(8) == 0:
            n.domain = r.choice(["ai.onnx.ml", "com.example", "ai.onnx"])


def version(r, m, g):
    m.opset_import[0].version = r.choice([0, 1, 6, 7, 9, 10, 11, 12, 13, 15, 17, 18, 20, 23, 26, 28, 29, 1 << 40, -1])


def nested(r, m, g):
    """Branches in branches, or scans in scans."""
    depth = r.choice([2, 15, 17, 60, 400])
    inner = [helper.make_node("Identity", [m.graph.input[0].name if m.graph.input else "x"], ["o"])]
    info = helper.make_tensor_value_info("o", TensorProto.FLOAT, None)
    for _ in range(depth):
        body = helper.make_graph(inner, "b", [], [info])
        inner = [helper.make_node("If", ["always"], ["o"], then_branch=body, else_branch=body if depth < 12 else helper.make_graph(
            [helper.make_node("Identity", ["always"], ["o"])], "e", [], [info]))]
    m.graph.initializer.append(numpy_helper.from_array(np.array(True), "always"))
    inner[0].output[0] = "deep"
    m.graph.node.extend(inner)
    m.graph.output.add().CopyFrom(helper.make_tensor_value_info("deep", TensorProto.FLOAT, None))


def recursive(r, m, g):
    """Functions of the model that call themselves or each other."""
    imports = [helper.make_opsetid("", m.opset_import[0].version), helper.make_opsetid("own", 1)]
    for name, other in (("A", "B"), ("B", "A")) if r.randrange(2) else (("A", "A"),):
        m.functions.append(helper.make_function("own", name, ["x"], ["y"], [helper.make_node(other, ["x"], ["y"], domain="own")], imports))
    m.opset_import.append(imports[1])
    if m.graph.input:
        m.graph.node.append(helper.make_node("A", [m.graph.input[0].name], ["rec"], domain="own"))
        m.graph.output.add().CopyFrom(helper.make_tensor_value_info("rec", TensorProto.FLOAT, None))


def grow(r, m, g):
    """A huge shape of few bytes, before what the model does."""
    big = np.array(r.choice([[1 << 40], [1 << 20, 1 << 20], [1 << 31, 2], [3, 1 << 30]]))
    m.graph.initializer.append(numpy_helper.from_array(big, "big"))
    kind = r.choice(["Expand", "ConstantOfShape", "Tile"])
    inputs = {"Expand": [m.graph.input[0].name if m.graph.input else "x", "big"], "ConstantOfShape": ["big"], "Tile": ["one", "big"]}[kind]
    m.graph.initializer.append(numpy_helper.from_array(np.ones([1] * len(big), np.float32), "one"))
    m.graph.node.append(helper.make_node(kind, inputs, ["huge"]))
    m.graph.node.append(helper.make_node(r.choice(KINDS), ["huge", "big"][:r.randrange(1, 3)], ["end"]))
    m.graph.output.add().CopyFrom(helper.make_tensor_value_info("end", TensorProto.FLOAT, None))


CHANGES = [change_attribute] * 6 + [change_initializer] * 5 + [change_input] * 3 + [rewire] * 3 + [reorder] * 2 + [other_operator] * 3 + \
    [drop_attribute, retype_attribute, version, nested, recursive, grow]
KINDS = sorted({s.name for s in onnx.defs.get_all_schemas() if s.domain == ""})


def case(number, models):
    """The bytes of a case."""
    r = random.Random(number)
    model = onnx.ModelProto.FromString(r.choice(models))
    for _ in range(r.choice((1, 1, 1, 2, 3, 5))):
        with contextlib.suppress(Exception):  # what protobuf cannot hold
            r.choice(CHANGES)(r, model, r.choice(graphs(model)))
    text = bytearray(model.SerializeToString())
    if r.randrange(12) == 0 and text:
        for _ in range(r.randrange(1, 6)):
            text[r.randrange(len(text))] = r.randrange(256)
    return bytes(text)


# ---- what becomes of it ----

def judge(text):
    """(what happened, words): refused, imported, compared; or wrong, and what was raised otherwise."""
    if b"location" in text:  # weights beside the file: there is one that may be read
        with tempfile.TemporaryDirectory() as folder, contextlib.suppress(door.Unsupported, ValueError):
            for name, content in (("model.onnx", text), ("weights.bin", bytes(1 << 14))):
                with open(os.path.join(folder, name), "wb") as f:
                    f.write(content)
            door.load(os.path.join(folder, "model.onnx"), shapes=SHAPES)
    try:
        found = door.load(text, shapes=SHAPES)
    except (door.Unsupported, ValueError) as e:
        if isinstance(e, UnicodeError) or not str(e):
            return "raised", repr(e)
        return "refused", ""
    sizes = [int(np.prod(s, dtype=object)) for _, s, *_ in (i[1:4] for i in found.program.inputs) if not isinstance(s, str)]
    price = found.program.price
    if price["work"] > WORK or max([0, *sizes, *(int(np.prod(s, dtype=object)) for s, _ in found.program.values)]) > ELEMENTS:
        return "imported", ""
    rng = np.random.default_rng(1)
    least = int(b"Mod" in text or b"Div" in text)  # by 0 the standard says nothing of integers
    feeds = {n: draw(rng, dtype, shape, least) for n, (_, dtype, shape) in found.inputs.items()}
    try:
        ours = found.compile(threads=1)(**feeds)
    except reprise.Error:
        return "refused", ""
    try:
        model = onnx.load_model_from_string(text)
        onnx.checker.check_model(model, full_check=True)
        with np.errstate(all="ignore"):
            session = ReferenceEvaluator(model)
            theirs = dict(zip(session.output_names, session.run(None, feeds)))
    except Slow:
        raise
    except Exception:  # what the reference does not do is no second opinion
        return "imported", ""
    words = difference(ours, theirs)
    if words and importlib.util.find_spec("onnxruntime"):  # where the two others differ, ours may be either's
        import onnxruntime
        onnxruntime.set_default_logger_severity(4)
        try:
            session = onnxruntime.InferenceSession(text, providers=["CPUExecutionProvider"])
            words = difference(ours, dict(zip((o.name for o in session.get_outputs()), session.run(None, feeds)))) and words
        except Slow:
            raise
        except Exception as e:
            words += f"; onnxruntime: {str(e)[:120]}"
    old = model.opset_import[0].version < 13 and any(k in text for k in (b"Softmax", b"Hardmax", b"LogSoftmax"))
    return ("wrong", words) if words and not old else ("compared", "")  # of old versions the reference has another form


def difference(ours, theirs):
    """Where two answers differ, in words."""
    for name, a in ours.items():
        b = theirs[name]
        if not isinstance(b, np.ndarray) or a.dtype != b.dtype:
            continue
        if a.shape != b.shape:
            return f"{name}: {a.shape}, the other {b.shape}"
        x, y = a.astype(np.float64), b.astype(np.float64)
        least = {"float16": 2e-3}.get(a.dtype.name, 1e-4 if a.dtype.kind == "f" else 0)
        if not np.allclose(x, y, rtol=least, atol=least * np.abs(y[np.isfinite(y)]).max(initial=0), equal_nan=True):
            return f"{name}: {x.reshape(-1)[:4]}, the other {y.reshape(-1)[:4]}"
    return ""


def draw(rng, dtype, shape, least=0):
    kind = door.graph.numpy_type(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    return rng.normal(size=shape).astype(kind) if dtype in door.graph.FLOATS else rng.integers(least, 3, shape).astype(kind)


class Slow(BaseException):
    """A case that takes too long."""


def slow(*_):
    raise Slow


def worker(first, cases, models, pipe):
    """Tells the number of each case before it, and what became of it after."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, slow)
    with open("/proc/self/statm", encoding="ascii") as f:
        there = int(f.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (there + MEMORY, there + MEMORY))
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for number in range(first, first + cases):
            pipe.send((number, None, ""))
            begin = time.perf_counter()
            try:
                signal.alarm(SECONDS)
                what, words = judge(case(number, models))
                signal.alarm(0)
            except Slow:
                what, words = "slow", f"{time.perf_counter() - begin:.0f} s"
            except MemoryError as e:
                what, words = "memory", str(e)
            except BaseException as e:  # noqa: BLE001 - whatever else comes out is a finding
                what, words = "raised", f"{type(e).__name__}: {e}"
            signal.alarm(0)
            pipe.send((number, what, words))
    pipe.send((None, None, ""))


def run(cases, first=0, say=print):
    """Runs cases in processes of their own; (counts by what happened, findings)."""
    models = [m.SerializeToString() for m in seeds()]
    counts, findings, number, end = collections.Counter(), [], first, first + cases
    context = multiprocessing.get_context("fork")
    while number < end:
        ours, theirs = context.Pipe(False)
        child = context.Process(target=worker, args=(number, end - number, models, theirs))
        child.start()
        theirs.close()
        at = number
        try:
            while True:
                if not ours.poll(SECONDS + 20):
                    os.kill(child.pid, signal.SIGKILL)
                    raise EOFError
                at, what, words = ours.recv()
                if at is None:
                    number = end
                    break
                if what is not None:
                    counts[what] += 1
                    number = at + 1
                    if what not in ("refused", "imported", "compared"):
                        findings.append((at, what, words))
                        say(f"{at}: {what}: {words}", flush=True)
        except EOFError:
            child.join()
            counts["ended"] += 1
            findings.append((at, "ended", f"the process ended by {child.exitcode}"))
            say(f"{at}: the process ended by {child.exitcode}", flush=True)
            number = at + 1
        child.join()
    return counts, findings


if __name__ == "__main__":
    faulthandler.enable()
    given = [int(a) for a in sys.argv[1:]]
    begin = time.perf_counter()
    counts, findings = run(*(given or [10000]))
    print(f"{sum(counts.values())} cases in {time.perf_counter() - begin:.0f} s: {dict(counts)}")
    sys.exit(bool(findings))
