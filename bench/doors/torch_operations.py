#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's core operations by PyTorch's own sample inputs (torch.testing._internal): each sample is captured, lowered to a
program, executed and compared with torch on binary64.

    PYTHONPATH=python python bench/doors/torch_operations.py [--only NAME,..] [--most 40] [--gradients] [--table FILE]

A value is right where it differs from torch's by at most 1e-5 of the largest finite number of that result (or by 1e-11: what
rounding leaves of a sum that is 0), and by nothing
where it is an integer or a flag, an infinity or a NaN. A sample is *passed*, *refused* (with the reason) or *wrong*; the exit
status is 1 where one is wrong. Captured is what the sample's call becomes in core operations: an operation has the samples
in whose graph it stands. What draws random numbers is held to shapes, types and limits alone."""
from __future__ import annotations

import argparse
import collections
import sys
import time
import warnings
from typing import Any

import numpy as np
import torch

import reprise as rp
from reprise.torch import capture as capturing
from reprise.torch.lower import Lowering, Unsupported, Value

warnings.filterwarnings("ignore")
BOUND, LEAST = 1e-5, 1e-6  # of the largest number, which counts as at least 1e-6: below lies what rounding leaves of 0
DRAWS = ("rand", "randn", "dropout", "bernoulli", "uniform", "normal", "randperm", "randint", "multinomial", "exponential", "poisson")
EMPTY = ("empty",)


def flat(x: Any) -> list[Any]:
    """The tensors of a nested result, in order."""
    if isinstance(x, torch.Tensor):
        return [x]
    if isinstance(x, (list, tuple)):
        return [t for e in x for t in flat(e)]
    return [t for e in x.values() for t in flat(e)] if isinstance(x, dict) else []


class Call(torch.nn.Module):
    """A sample as a module: tensors are inputs, everything else is part of it."""

    def __init__(self, f: Any, args: Any, kwargs: Any) -> None:
        super().__init__()
        self.f, self.given = f, (args, kwargs)
        self.tensors: list[torch.Tensor] = []
        self.form = self.shaped((args, kwargs))

    def shaped(self, x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            self.tensors.append(x)
            return ("tensor", len(self.tensors) - 1)
        if isinstance(x, (list, tuple)) and not isinstance(x, torch.Size):
            return ("list", type(x), [self.shaped(e) for e in x])
        if isinstance(x, dict):
            return ("dict", {k: self.shaped(v) for k, v in x.items()})
        return ("plain", x)

    def forward(self, *tensors: torch.Tensor) -> Any:
        def back(form: Any) -> Any:
            if form[0] == "tensor":
                return tensors[form[1]]
            if form[0] == "list":
                found = [back(e) for e in form[2]]
                return form[1](*found) if hasattr(form[1], "_fields") else form[1](found)
            return {k: back(v) for k, v in form[1].items()} if form[0] == "dict" else form[1]

        args, kwargs = back(self.form)
        return tuple(flat(self.f(*args, **kwargs)))


def feed(t: torch.Tensor) -> Any:
    t = t.detach().resolve_conj().resolve_neg().contiguous()
    return (torch.view_as_real(t) if t.is_complex() else t).numpy()


class Execution:
    """A captured call as a program: values by `run`, gradients of the sum of its real results by seeds."""

    def __init__(self, module: Any, tensors: list[torch.Tensor], captured: Any) -> None:
        self.captured, self.tensors = captured, tensors
        self.g = Lowering(captured.graph)
        out = self.g.run()
        self.values = [out[f"result {k}"] for k in range(sum(o.kind == "result" for o in captured.graph.outputs))]
        self.feeds = dict(zip([i.name for i in captured.graph.inputs if i.kind == "user"], tensors))

    def gradients(self, wanted: list[int], seeds: list[Any]) -> list[Any]:
        names = [n for n in self.feeds]
        inputs = [self.g.env[names[k]] for k in wanted]
        real = [v for v in self.values if isinstance(v, Value) and v.real]
        seed = [self.g.constant(feed(s)) for s in seeds]
        found = self.g.builder.gradients([v.tensor for v in real], [v.tensor for v in inputs], seeds=seed, zeros=True)
        return list(found)

    def run(self, more: Any = ()) -> list[Any]:
        shown = []
        for k, v in enumerate([*self.values, *more]):
            t = self.g.in_memory(v) if isinstance(v, Value) else v
            if t is None or not hasattr(t, "shape"):
                shown.append(None)
                continue
            self.g.builder.result(f"r{k}", t)
            shown.append(f"r{k}")
        run = rp.Run(threads=1)
        for name in self.g.states:
            run.add_state(name, feed(self.captured.tensors[name]))
        if self.g.rng_tensor is not None:
            run.add_state("rng", np.array([1, 0], np.int64))
        for name, array in self.g.data.items():
            run.add_data(name, array)
        if not any(shown):
            return []
        step = run.compile(self.g.builder.finish())
        results = step(**{n: feed(self.feeds[n]) for n in self.g.feeds})
        return [None if s is None else np.array(results[s]) for s in shown]


def decomposed(module: Any, tensors: list[torch.Tensor], core: bool = True) -> Any:
    """The call in core operations alone, or in those that autograd has, by make_fx, which is much faster than torch.export."""
    from torch._decomp import core_aten_decompositions
    from torch.fx.experimental.proxy_tensor import make_fx
    global TABLE
    TABLE = TABLE or core_aten_decompositions()
    plain = isinstance(module, Backward)  # whose autograd is no transform of a transform
    f = module if plain else torch.func.functionalize(lambda *ts: module(*ts), remove="mutations_and_views")
    gm = make_fx(f, decomposition_table=TABLE if core else {}, tracing_mode="fake")(*tensors)
    for n in list(gm.graph.nodes):  # operands that are written in place: here the results count
        if str(n.target) == "aten.copy_.default" and not n.users and n.args[0].op == "placeholder":
            gm.graph.erase_node(n)
    return capturing.Captured(capturing.Reader().body(gm))


TABLE: Any = None


def differs(found: Any, expected: torch.Tensor) -> str:
    """"" where the values are the same."""
    e = feed(expected)
    if found is None:
        return "no value"
    if found.shape != e.shape or found.dtype != e.dtype:
        return f"{found.dtype}{list(found.shape)}, torch {e.dtype}{list(e.shape)}"
    if e.dtype.kind != "f":
        return "" if np.array_equal(found, e) else f"{int((found != e).sum())} of {e.size} integers"
    finite = np.isfinite(e)
    if not np.array_equal(np.isfinite(found), finite) or not np.array_equal(found[~finite], e[~finite], equal_nan=True):
        return "infinities or NaN"
    if not finite.any():
        return ""
    error = np.abs(found[finite].astype(np.float64) - e[finite]).max() / max(np.abs(e[finite]).max(), LEAST)
    return "" if error <= BOUND else f"relative error {error:.2g}"


def to_double(x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return x.detach().to({torch.float32: torch.float64, torch.complex64: torch.complex128}.get(x.dtype, x.dtype))
    if isinstance(x, (list, tuple)) and not isinstance(x, torch.Size) and not hasattr(x, "_fields"):
        return type(x)(to_double(e) for e in x)
    if isinstance(x, dict):
        return {k: to_double(v) for k, v in x.items()}
    return torch.float64 if x is torch.float32 else x


class Outcome:
    def __init__(self, state: str, why: str = "") -> None:
        self.state, self.why = state, why


class Backward(torch.nn.Module):
    """The gradients of a call by its real operands, as autograd writes them."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self.call, self.tensors = call, call.tensors

    def forward(self, *tensors: torch.Tensor) -> Any:
        with torch.enable_grad():
            leaves = [t.detach().requires_grad_(True) if t.is_floating_point() else t for t in tensors]
            out = [t for t in self.call(*leaves) if t.is_floating_point() and t.requires_grad]
            total = sum((t * torch.linspace(0.5, 1.5, t.numel(), dtype=t.dtype).reshape(t.shape)).sum() for t in out)
            found = torch.autograd.grad(total, [t for t in leaves if t.requires_grad], allow_unused=True)
        return tuple(t for t in found if t is not None)


FORMS = ("core", "autograd", "export", "backward")


def sample_outcome(f: Any, args: Any, kwargs: Any, form: str, gradients: bool) -> tuple[Outcome, set[str]]:
    """What becomes of a sample, and the core operations that its graph has."""
    args, kwargs = to_double(args), to_double(kwargs)
    module: Any = Call(f, args, kwargs)
    ops = set[str]()
    if form == "backward":
        module = Backward(module)
    tensors = module.tensors
    if any(t.layout != torch.strided or t.is_quantized for t in tensors):
        return Outcome("refused", "sparse or quantized elements"), ops
    try:
        expected = flat(module(*[t.clone() for t in tensors]))
    except Exception as e:
        return Outcome("skipped", f"torch: {e}"), ops
    try:
        captured = capturing.capture(module, tuple(tensors)) if form == "export" else decomposed(module, tensors, form == "core")
        if any(n.op.split(".")[-2].endswith("_") for n in captured.graph.walk() if n.op.count(".") > 1) and form != "backward":
            captured = capturing.capture(module, tuple(tensors))  # written in place by a decomposition: export has it functional
        ops = {n.op if n.op.startswith("aten._to_copy") else n.op.replace("_copy.", ".") for n in captured.graph.walk()}
        if (key := captured.graph.digest()) in DONE:
            return Outcome("known"), ops
        DONE.add(key)
        e = Execution(module, tensors, captured)
    except Unsupported as error:
        return Outcome("refused", f"{error.operation}: {error.what}" if error.operation else error.what), ops
    except (rp.Error, NotImplementedError) as error:
        return Outcome("refused", str(error)), ops
    except Exception as error:
        kind = "refused" if "torch" in type(error).__module__ else "broken"
        return Outcome(kind, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"), ops
    more: list[Any] = []
    slopes: list[torch.Tensor] = []
    try:
        if gradients:
            more, slopes = with_gradients(e, module, tensors)
        found = e.run(more)
    except (rp.Error, NotImplementedError) as error:
        return Outcome("refused", str(error).splitlines()[0]), ops
    if any(d in o for o in ops for d in (*DRAWS, *EMPTY)):
        same = [f is None or f.shape == feed(x).shape for f, x in zip(found, expected)]
        return Outcome("passed" if all(same) else "wrong", "shapes" if not all(same) else ""), ops
    if len(found) != len(expected) + len(slopes):
        return Outcome("wrong", f"{len(found)} results of {len(expected)}"), ops
    for k, (a, b) in enumerate(zip(found, [*expected, *slopes])):
        why = differs(a, b)
        if why and k < len(expected) and tied(ops, k, expected, found, tensors):
            why = ""
        if why:
            what = f"result {k}" if k < len(expected) else f"gradient {k - len(expected)}"
            return Outcome("wrong" if k < len(expected) else "gradient", f"{what}: {why}"), ops
    return Outcome("passed"), ops


DONE: set[str] = set()  # of this sample: what two forms have alike is executed once


ORDERED = ("aten.topk", "aten.sort", "aten.argsort", "aten.kthvalue", "aten.mode", "aten.median", "aten.msort")


def tied(ops: set[str], k: int, expected: list[torch.Tensor], found: list[Any], tensors: list[torch.Tensor]) -> bool:
    """Which of equal elements comes first PyTorch does not say (only of a stable sort): places that pick the same values."""
    if not any(o.startswith(ORDERED) for o in ops) or expected[k].dtype != torch.int64 or not tensors:
        return False
    x, a, b = tensors[0], torch.from_numpy(found[k]), expected[k]
    if a.shape != b.shape or x.dim() != a.dim():
        return False
    axes = [d for d in range(x.dim()) if all(a.shape[e] <= x.shape[e] for e in range(x.dim()) if e != d)]
    return any(torch.equal(x.gather(d, a), x.gather(d, b)) and bool(((a >= 0) & (a < x.shape[d])).all())
               for d in axes if int(a.max()) < x.shape[d] and int(b.max()) < x.shape[d])


def with_gradients(e: Execution, module: Any, tensors: list[torch.Tensor]) -> tuple[list[Any], list[torch.Tensor]]:
    leaves = [t.detach().clone().requires_grad_(t.is_floating_point()) for t in tensors]
    try:
        out = [t for t in flat(module(*leaves))]
    except RuntimeError:
        return [], []
    real = [t for t in out if t.is_floating_point()]
    used = [k for k, t in enumerate(leaves) if t.requires_grad]
    passing = [t for t in real if t.requires_grad]
    if not used or not passing or len(passing) != len(real):
        return [], []
    seeds = [torch.linspace(0.5, 1.5, max(t.numel(), 1), dtype=t.dtype)[:t.numel()].reshape(t.shape) for t in real]
    try:
        slopes = torch.autograd.grad(real, [leaves[k] for k in used], seeds, allow_unused=True)
    except RuntimeError:  # not differentiable by one of its operands
        return [], []
    keep = [(k, s) for k, s in zip(used, slopes) if s is not None and list(e.feeds)[k] in e.g.feeds]
    if not keep:
        return [], []
    return e.gradients([k for k, _ in keep], seeds), [s for _, s in keep]


def core_names() -> dict[str, list[str]]:
    """name -> overloads of the operations that torch marks as core."""
    found: dict[str, list[str]] = collections.defaultdict(list)
    for name in dir(torch.ops.aten):
        packet = getattr(torch.ops.aten, name)
        for overload in packet.overloads() if hasattr(packet, "overloads") else []:
            if torch.Tag.core in getattr(packet, overload).tags and overload != "out":
                found[name].append(f"aten.{name}.{overload}")
    return found


SAME = {"_embedding_bag_forward_only": "_embedding_bag", "native_batch_norm": "_native_batch_norm_legit",
        "_native_batch_norm_legit_functional": "_native_batch_norm_legit"}
ALSO = {"_adaptive_avg_pool2d": "nn.functional.adaptive_avg_pool2d", "_adaptive_avg_pool3d": "nn.functional.adaptive_avg_pool3d",
        "adaptive_avg_pool1d": "nn.functional.adaptive_avg_pool1d", "_softmax": "softmax", "_log_softmax": "log_softmax",
        "_cdist_forward": "cdist", "_pdist_forward": "nn.functional.pdist", "_embedding_bag": "nn.functional.embedding_bag",
        "_native_batch_norm_legit": "nn.functional.batch_norm", "_native_batch_norm_legit_no_training": "nn.functional.batch_norm",
        "native_layer_norm": "nn.functional.layer_norm", "native_group_norm": "nn.functional.group_norm",
        "convolution": "nn.functional.conv1d,nn.functional.conv2d,nn.functional.conv3d,nn.functional.conv_transpose1d,"
                       "nn.functional.conv_transpose2d,nn.functional.conv_transpose3d",
        "col2im": "nn.functional.fold", "constant_pad_nd": "nn.functional.pad", "reflection_pad1d": "nn.functional.pad",
        "reflection_pad2d": "nn.functional.pad", "reflection_pad3d": "nn.functional.pad", "replication_pad2d": "nn.functional.pad",
        "replication_pad3d": "nn.functional.pad", "grid_sampler_2d": "nn.functional.grid_sample", "embedding": "nn.functional.embedding",
        "max_pool2d_with_indices": "nn.functional.max_pool2d", "max_pool3d_with_indices": "nn.functional.max_pool3d",
        "native_dropout": "nn.functional.dropout", "upsample_bilinear2d": "nn.functional.interpolate",
        "upsample_nearest2d": "nn.functional.interpolate", "_to_copy": "to", "max": "max", "where": "where"}


BACKWARD = {"nn.functional.conv1d", "nn.functional.conv2d", "nn.functional.conv3d", "nn.functional.conv_transpose2d",
            "nn.functional.avg_pool2d", "nn.functional.max_pool2d", "nn.functional.adaptive_avg_pool2d", "nn.functional.layer_norm",
            "nn.functional.group_norm", "native_layer_norm", "nn.functional.embedding", "nn.functional.relu", "nn.functional.gelu"}


def entries(only: set[str]) -> list[Any]:
    """The database's entries that stand for core operations, or those of the names given."""
    from torch.testing._internal.common_methods_invocations import op_db
    names = {n.lstrip("_") for n in core_names()}
    wanted = {w for v in ALSO.values() for w in v.split(",")}

    def is_core(o: Any) -> bool:
        own = {o.name, o.aten_name, o.name.replace("nn.functional.", "")}
        return bool({n.lstrip("_") for n in own} & names) or o.name in wanted
    return [o for o in op_db if (o.name in only if only else is_core(o)) and not o.name.startswith(("_refs", "special", "linalg.lu"))]


class Own:
    """Operations that the database has no samples of, or that need others around them."""

    variant_test_name = ""

    def __init__(self, name: str, f: Any, *arguments: Any) -> None:
        self.name, self.op, self.arguments = name, f, arguments


def own_entries() -> list[Own]:
    aten, x = torch.ops.aten, torch.arange(12.0).reshape(3, 4)
    return [Own("rand", lambda t: t + torch.rand(3, 4, dtype=t.dtype), x), Own("randperm", lambda t: (t, torch.randperm(5)), x),
            Own("native_dropout", lambda t: aten.native_dropout(t, 0.5, True)[0], x), Own("fill", lambda t: aten.fill.Scalar(t, 2.5), x),
            Own("copy", lambda a, b: aten.copy(a, b), x, x[0]), Own("alias", lambda t: aten.alias(t) * 2, x),
            Own("_native_batch_norm_legit_no_training", lambda t, m, v: aten._native_batch_norm_legit_no_training(
                t, None, None, m, v, 0.1, 1e-5)[0], x[None], x[:, 0], x[:, 1]),
            Own("col2im", lambda t: aten.col2im(t, [4, 5], [2, 3], [1, 1], [1, 0], [2, 1]), torch.arange(54.0).reshape(1, 6, 9)),
            Own("_fft_r2c", lambda t: torch.view_as_real(torch.fft.rfft(t)), x),
            Own("_fft_c2r", lambda t: torch.fft.irfft(torch.view_as_complex(t)), x.reshape(3, 2, 2)),
            Own("_local_scalar_dense", lambda t: t * t.sum().item(), x), Own("nonzero", lambda t: torch.nonzero(t), x),
            Own("empty", lambda t: torch.empty(3, 4, dtype=t.dtype).fill_(1) + t, x),
            Own("scalar_tensor", lambda t: t + torch.scalar_tensor(2.5, dtype=t.dtype), x)]


class Sample:
    def __init__(self, arguments: Any) -> None:
        self.input, self.args, self.kwargs = arguments[0], arguments[1:], dict[str, Any]()


def samples(o: Any, most: int) -> Any:
    if isinstance(o, Own):
        yield torch.float32, Sample(o.arguments)
        return
    for dtype in (torch.float32, torch.int64, torch.bool, torch.complex64):
        if dtype in o.supported_dtypes("cpu"):
            for k, s in enumerate(o.sample_inputs("cpu", dtype, requires_grad=False)):
                if k >= (most if dtype == torch.float32 else max(3, most // 5)):
                    break
                yield dtype, s


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="names of the database, with commas")
    parser.add_argument("--most", type=int, default=40, help="samples an operation in float32; a fifth in int64 and bool")
    parser.add_argument("--gradients", action="store_true", help="gradients of real results too")
    parser.add_argument("--forms", default="core,autograd,backward", help="how a sample is captured: " + ", ".join(FORMS))
    parser.add_argument("--table", default="", help="writes a Markdown table")
    parser.add_argument("--quiet", action="store_true")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    reasons: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    began, total = time.time(), collections.Counter[str]()
    core = set(core_names())
    only = set(filter(None, arguments.only.split(",")))
    for o in [*entries(only), *(e for e in own_entries() if not only or e.name in only)]:
        own = collections.Counter[str]()
        for dtype, s in samples(o, arguments.most):
            DONE.clear()
            for form in arguments.forms.split(","):
                if form == "backward" and (o.name not in BACKWARD or dtype != torch.float32):
                    continue
                try:
                    outcome, ops = sample_outcome(o.op, (s.input, *s.args), s.kwargs, form, arguments.gradients and form != "backward")
                except RuntimeError as e:  # of torch itself, at what is only asked of it
                    outcome, ops = Outcome("skipped", str(e)), set()
                if outcome.state == "known":
                    continue
                own[outcome.state] += 1
                total[outcome.state + (" float32" if dtype == torch.float32 else " others")] += 1
                tag = outcome.state if dtype == torch.float32 or outcome.state not in ("passed", "refused") else outcome.state + " others"
                found = {SAME.get(n.split(".")[1], n.split(".")[1]) for n in ops if n.count(".") > 1}
                for name in (found & core) or {o.name if o.name in core else f"({o.name})"}:
                    counts[name][tag] += 1
                    if outcome.why and outcome.state != "skipped" and "others" not in tag:
                        reasons[name][f"{outcome.state}: {outcome.why[:160]}"] += 1
                if outcome.state in ("wrong", "broken", "gradient") and not arguments.quiet:
                    inputs = [tuple(t.shape) for t in flat([s.input, s.args])]
                    print(f"  {o.name} {form} {dtype} {inputs} {str(s.kwargs)[:100]}: {outcome.state}: {outcome.why[:300]}", flush=True)
                elif outcome.state == "refused" and not arguments.quiet and dtype == torch.float32:
                    print(f"  {o.name} {form}: refused: {outcome.why[:200]}", flush=True)
        print(f"{o.name}{'.' + o.variant_test_name if o.variant_test_name else ''}: {dict(own)}", flush=True)
    report(counts, reasons, total, core, arguments, time.time() - began)
    return 1 if any(k.split()[0] in ("wrong", "broken", "gradient") for k in total) else 0


def report(counts: Any, reasons: Any, total: Any, core: set[str], arguments: Any, seconds: float) -> None:
    names = sorted(core)
    of = {n: collections.Counter[str]() for n in names}
    why = {n: collections.Counter[str]() for n in names}
    for n in names:
        of[n] += counts[n]
        why[n] += reasons[n]
        if not of[n]["passed"] and not of[n]["refused"]:  # of integers alone
            of[n]["passed"], of[n]["refused"] = of[n]["passed others"], of[n]["refused others"]
        if n.startswith("sym_"):
            why[n]["never: stands in no program: shapes are fixed, and what is asked of them is a number"] += 1
    bad = ("wrong", "broken", "gradient")
    clean = [n for n in names if of[n]["passed"] and not (of[n]["refused"] or any(of[n][k] for k in bad))]
    part = [n for n in names if of[n]["passed"] and n not in clean]
    none = [n for n in names if not of[n]["passed"]]
    print(f"\n{len(names)} core operations: {len(clean)} with every sample passed, {len(part)} with some refused, {len(none)} with none; "
          f"samples: {dict(total)}; {seconds:.0f} s; torch {torch.__version__}")
    print("some refused:", ", ".join(f"{n} {dict(of[n])}" for n in part))
    print("none:", ", ".join(f"{n} {dict(of[n])}" for n in none))
    if arguments.table:
        with open(arguments.table, "w", encoding="utf-8") as f:
            f.write("| operation | passed | refused | wrong | reasons |\n|---|---|---|---|---|\n")
            for n in names:
                c = of[n]
                text = "; ".join(f"{r.split(': ', 1)[1]} ({k})" for r, k in why[n].most_common(3)).replace("|", "\\|").replace("\n", " ")
                f.write(f"| `{n}` | {c['passed']} | {c['refused']} | {c['wrong'] + c['broken'] + c['gradient']} | {text} |\n")


if __name__ == "__main__":
    sys.exit(main())
