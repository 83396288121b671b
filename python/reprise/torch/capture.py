# SPDX-License-Identifier: Apache-2.0
"""A PyTorch module and a loss become a captured graph, by torch.export. What export would leave out in silence is kept or
refused here: regions without gradient, backward functions of one's own, hooks, numbers of Python that are burned in, random
numbers that are not PyTorch's. States are told apart by their storage, so that tied weights are one."""
from __future__ import annotations

import contextlib
import hashlib
import keyword
import linecache
import operator
import re
import threading
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .checks import numbers_watched
from .constants import known_values
from .custom import linear
from .derivatives import one_tensor
from .graph import GRADIENT, PARTS, DType, Graph, Input, Meta, Node, Output, Ref, Sub, map_refs, refs
from .lower import Unsupported, has_rule
from .refusals import DECIDED, DRAWN, LENGTHS, not_swallowed
from .substitutes import substituted
from .traps import (framework, nothing_kept, own_file, refuse_changed, refuse_hooks, refuse_layouts, refuse_remembered,
                    refuse_scripted, refuse_shared, source_line, trapped, unchanged)

DTYPES = {"float32": "f32", "float64": "f64", "bfloat16": "bf16", "float16": "f16", "int64": "i64", "int32": "i32", "int16": "i16",
          "int8": "i8", "uint8": "u8", "uint16": "u16", "uint32": "u32", "bool": "bool", "complex64": "c64", "complex128": "c128"}
NO_GRAD = 'File "reprise.no_grad", line 0, in region'  # in a node's stack trace, which is what every exporter carries along
DRAWS = ("rand", "randn", "randint", "bernoulli", "dropout", "normal", "uniform", "multinomial", "randperm", "exponential")
MOST_FOLDED = 1 << 26
LONGEST = 64
EXPORTS = threading.RLock()  # what takes the place of PyTorch's functions meanwhile is there for all threads


@dataclass
class Captured:
    """`graph`; `tensors`: the module's tensor of each state; `names`: all names of the module that a state has; `constants`: buffers and
    tensors whose values the graph has taken."""

    graph: Graph
    tensors: dict[str, Any] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)


# ---- export ----

def exported(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> Any:
    """The functional ExportedProgram; regions without gradient are marked in it."""
    torch = framework()
    refuse_scripted(module)
    refuse_hooks(module)
    refuse_layouts(module)
    with EXPORTS, warnings.catch_warnings(), unchanged(module), torch.enable_grad(), any_names(), one_tensor():
        warnings.simplefilter("ignore")
        state = torch.random.get_rng_state()
        try:
            with nothing_kept(module), trapped() as seen, substituted(), known_values(module) as known, numbers_watched():
                with not_swallowed():
                    program = torch.export.export(module, tuple(args), dict(kwargs or {}), strict=False)
            flatten_regions(program.graph_module)
            refuse_aliases(program.graph)
            with buffers_apart(program) as named:
                program = named(decomposed(program.run_decompositions({})))
            program.reprise_known = known
            if seen:
                refuse_remembered(module, seen, args, kwargs or {})
            return program
        except Unsupported:
            raise
        except Exception as e:
            for cause in causes(e):
                if isinstance(cause, Unsupported):
                    raise cause from None
            text = (str(e).strip() or type(e).__name__).splitlines()[0]
            remedy = "torch.export.export(model, args) alone gives its whole reason"
            if any("DataDependent" in type(cause).__name__ for cause in causes(e)):
                remedy = DRAWN if draws(raised_at(e)) else LENGTHS if "specialized integer" in text else DECIDED
            raise Unsupported(f"does not take this model: {type(e).__name__}: {text}",
                              Node("", "torch.export", where=raised_at(e)), remedy) from e
        finally:
            torch.random.set_rng_state(state)


@contextlib.contextmanager
def any_names() -> Iterator[None]:
    """torch.fx writes a graph as Python, where `module.in` and `module.class` are none: keys of a ModuleDict may be words of Python."""
    fx = framework("torch.fx.graph")
    was = getattr(fx, "_format_target", None)

    def written(base: str, target: str) -> str:
        for part in target.split("."):
            base = f"{base}.{part}" if part.isidentifier() and not keyword.iskeyword(part) else f"getattr({base}, {part!r})"
        return base
    if was is not None:
        fx._format_target = written
    try:
        yield
    finally:
        if was is not None:
            fx._format_target = was


def refuse_aliases(graph: Any) -> None:
    """Operators of other packages that give what they were given, as those that write into it do."""
    for n in graph.nodes:
        schema = getattr(n.target, "_schema", None)
        if schema is not None and schema.name.partition("::")[0] not in ("aten", "prims", "reprise") and any(r.alias_info for r in schema.returns):
            raise Unsupported("gives a tensor that it was given", Node(n.name, str(n.target), where=source_line(n.meta.get("stack_trace"))),
                              "It is an operator of another package: write what it does in operations of PyTorch")


@contextlib.contextmanager
def buffers_apart(program: Any) -> Iterator[Any]:
    """Of a buffer that a model has under two names, and changes, PyTorch decomposes nothing: for that while the others are copies, which the
    graph does not read. Gives what puts them back into the program that came of it."""
    signature, kept = program.graph_signature, dict[str, Any]()
    places = {s.target: next(n for n in program.graph.nodes if n.name == s.arg.name) for s in signature.input_specs if s.kind.name == "BUFFER"}
    seen: dict[int, str] = {}
    for name in sorted(places, key=lambda n: not places[n].users):  # what is read comes first
        own = program.state_dict if name in program.state_dict else program.constants
        t = own[name]
        if seen.setdefault(id(t), name) != name and not places[name].users:
            kept[name], own[name] = t, t.detach().clone()

    def named(made: Any) -> Any:
        for p in (program, made):
            for name, t in kept.items():
                (p.state_dict if name in p.state_dict else p.constants)[name] = t
        return made
    try:
        yield named
    finally:
        named(program)


# Of these PyTorch has a form in other operations, whose gradients are PyTorch's.
PLAIN = frozenset(("aten.sinc.default", "aten.special_entr.default", "aten.heaviside.default", "aten.block_diag.default", "aten.rot90.default",
                   "aten.isin.Tensor_Tensor", "aten.isin.Tensor_Scalar", "aten.isin.Scalar_Tensor", "aten.mvlgamma.default",
                   "aten.special_multigammaln.default", "aten.ldexp.Tensor", "aten.renorm.default"))


def decomposed(program: Any) -> Any:
    """The program in which operations that have no rule, and that PyTorch itself makes of others, are those others: its gradients are
    theirs too."""
    torch = framework()
    for _ in range(3):  # what an operation is made of may be made of others
        found = {n.target for n in program.graph.nodes if n.op == "call_function" and not has_rule(str(n.target))
                 and isinstance(n.target, torch._ops.OpOverload) and made_of_others(n.target)}
        known = torch.export.default_decompositions() if found else {}
        plain = {n.target for n in program.graph.nodes if n.op == "call_function" and str(n.target) in PLAIN and not has_rule(str(n.target))}
        if plain:
            given = framework("torch._decomp").decomposition_table
            known, found = {**known, **{op: given[op] for op in plain if op in given}}, found | plain
        table = {op: known[op] for op in found if op in known}
        if not table:
            break
        program = program.run_decompositions(table)
    return program


def made_of_others(op: Any) -> bool:
    return bool(op.has_kernel_for_dispatch_key(framework()._C.DispatchKey.CompositeImplicitAutograd))


def raised_at(e: BaseException) -> str:
    """The innermost line of the model that an error came through."""
    found, trace = "", e.__traceback__
    while trace is not None:
        if not own_file(trace.tb_frame.f_code.co_filename):
            found = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def draws(where: str) -> bool:
    """Whether that line of the model asks for a random number."""
    file, _, line = where.rpartition(":")
    return bool(re.search(r"\b(rand|bernoulli|uniform)", linecache.getline(file, int(line or 0))))


def causes(e: BaseException | None) -> Iterator[BaseException]:
    while e is not None:
        yield e
        e = e.__cause__ or e.__context__


def flatten_regions(gm: Any) -> None:
    """Writes out the regions of no_grad and enable_grad, and marks what is in the former: decomposition would drop them."""
    for n in list(gm.graph.nodes):
        off = n.op == "call_function" and "wrap_with_autocast" in str(n.target) and n.args[2] is False
        if n.op == "call_function" and "wrap_with_autocast" in str(n.target) and not off:
            inside = [a for a in n.args if getattr(a, "op", "") == "get_attr"]
            lines = [source_line(i.meta.get("stack_trace")) for a in inside for i in getattr(gm, a.target).graph.nodes]
            raise Unsupported("torch.autocast", Node(n.name, str(n.target), where=next(filter(None, lines), "")),
                              "Leave it off: programs compute in the types that the model has")
        if n.op != "call_function" or "wrap_with_set_grad_enabled" not in str(n.target) and not off:
            if n.op == "call_function":
                refuse_changed(n, None)
            continue
        at = next(k for k, a in enumerate(n.args) if getattr(a, "op", "") == "get_attr")
        enabled, sub = off or n.args[0], getattr(gm, n.args[at].target)  # autocast that is switched off is no region
        flatten_regions(sub)
        env = dict(zip([p for p in sub.graph.nodes if p.op == "placeholder"], n.args[at + 1:]))
        with gm.graph.inserting_before(n):
            for inner in sub.graph.nodes:
                if inner.op == "output":
                    outputs = framework("torch.fx").node.map_arg(inner.args[0], lambda x: env[x])
                elif inner.op == "get_attr":
                    name = f"_region_{n.name}_{inner.target}".replace(".", "_")
                    setattr(gm, name, operator.attrgetter(inner.target)(sub))
                    env[inner] = gm.graph.get_attr(name)
                    env[inner].meta = dict(inner.meta)
                elif inner.op != "placeholder":
                    if not enabled:
                        refuse_changed(inner, env)
                    env[inner] = gm.graph.node_copy(inner, lambda x: env[x])
                    if not enabled:
                        env[inner].meta["stack_trace"] = (inner.meta.get("stack_trace") or "") + "\n  " + NO_GRAD + "\n"
        outputs = outputs if isinstance(outputs, (tuple, list)) else [outputs]
        for user in list(n.users):
            if user.target is operator.getitem:
                user.replace_all_uses_with(outputs[user.args[1]])
                gm.graph.erase_node(user)
        gm.graph.erase_node(n)
    for n in gm.graph.nodes:  # branches and bodies have regions of their own
        if n.op == "get_attr" and isinstance(getattr(gm, str(n.target), None), framework("torch.fx").GraphModule):
            flatten_regions(getattr(gm, n.target))
    gm.graph.lint()
    gm.recompile()


# ---- the graph ----

def dtype_of(d: Any, node: Node | None = None) -> str:
    name = str(d).removeprefix("torch.")
    if name not in DTYPES:
        raise Unsupported(f"elements of {d}", node, "Programs have " + ", ".join(DTYPES))
    return DTYPES[name]


def op_name(target: Any) -> str:
    """As PyTorch writes it; of numbers of Python "operator.ge", "torch.sym_not"."""
    name, module = getattr(target, "__name__", ""), getattr(target, "__module__", "")
    return f"operator.{name}" if module == "_operator" else f"torch.{name}" if module == "torch" and name.startswith("sym_") else str(target)


class Reader:
    """Reads an fx graph into a Graph."""

    def __init__(self) -> None:
        self.torch = framework()
        self.fx_node = framework("torch.fx").Node
        self._bounds_pass: bool | None = None

    def operand(self, x: Any, gm: Any, graph: Graph, several: Mapping[Any, Any], node: Node) -> Any:
        torch = self.torch
        if isinstance(x, self.fx_node):
            if x in several:
                return several[x]
            if x.op == "get_attr":
                return self.attribute(x, gm, graph)
            return Ref(x.name)
        if isinstance(x, (list, tuple)):
            return [self.operand(e, gm, graph, several, node) for e in x]
        if isinstance(x, torch.dtype):
            return DType(dtype_of(x, node))
        if x is None or isinstance(x, (bool, int, float, complex, str)):
            return x
        if isinstance(x, (torch.device, torch.layout, torch.memory_format)):
            return None
        if isinstance(x, torch.SymInt):
            raise Unsupported("a length that is known only when the step runs", node, "Shapes are fixed: a program a shape")
        raise Unsupported(f"an operand of {type(x).__name__}", node)

    def attribute(self, x: Any, gm: Any, graph: Graph) -> Any:
        found = operator.attrgetter(x.target)(gm)
        if isinstance(found, self.torch.fx.GraphModule):
            graph.graphs.append(self.body(found))
            return Sub(len(graph.graphs) - 1)
        graph.constants.setdefault(x.name, array_of(found))
        return Ref(x.name)

    def meta(self, v: Any, node: Node) -> Any:
        if isinstance(v, self.torch.Tensor):
            if v.layout is not self.torch.strided or v.is_quantized:
                raise Unsupported(f"elements of {v.dtype}, {v.layout}", node, "Programs have dense tensors: to_dense(), or what adds by index "
                                  "(index_add, scatter_add) for a sparse matrix's product")
            try:
                shape = tuple(int(n) for n in v.shape)
            except RuntimeError:  # of a symbol, whose number no one knows before the step runs
                raise Unsupported("a shape that the values of tensors decide", node, "Shapes are fixed: keep all rows, take with "
                                  "torch.where or multiply by 0 and 1 what counts, and divide sums by how many that are") from None
            return Meta(dtype_of(v.dtype, node), shape)
        return [self.meta(e, node) for e in v] if isinstance(v, (tuple, list)) else None

    def node(self, n: Any, gm: Any, graph: Graph, several: Mapping[Any, Any]) -> Node:
        made = Node(n.name, op_name(n.target), where=source_line(n.meta.get("stack_trace")), module=module_of(n))
        made.args = self.operand(list(n.args), gm, graph, several, made)
        made.kwargs = {k: self.operand(v, gm, graph, several, made) for k, v in n.kwargs.items()}
        made.meta = self.meta(n.meta.get("val"), made)
        if made.op.startswith(("aten.clamp", "aten.clip")) and not self.bounds_pass():
            made.kwargs["at_bounds"] = False
        return made

    def bounds_pass(self) -> bool:
        """Whether this PyTorch's clamp passes a gradient at a bound: older versions do."""
        if self._bounds_pass is None:
            torch = self.torch
            with framework("torch.utils._python_dispatch")._disable_current_modes(), torch.enable_grad():  # of torch.compile: no values there
                x = torch.zeros(1, requires_grad=True)
                self._bounds_pass = bool(torch.autograd.grad(x.clamp(min=0.0).sum(), x)[0].item())
        return self._bounds_pass

    def body(self, gm: Any) -> Graph:
        """The graph of a branch or of a loop's body: its inputs are "user" ones."""
        graph = Graph()
        several: dict[Any, Any] = {}
        for n in gm.graph.nodes:
            if n.op == "placeholder":
                node = Node(n.name, "placeholder")
                m = self.meta(n.meta.get("val"), node)
                if not isinstance(m, Meta):
                    raise Unsupported("a branch or a loop's body takes what is no tensor", node)
                graph.inputs.append(Input(n.name, "user", m))
            elif n.op == "output":
                values = n.args[0] if isinstance(n.args[0], (tuple, list)) else [n.args[0]]
                graph.outputs = [Output("result", str(k), self.operand(v, gm, graph, several, Node("", "output")))
                                 for k, v in enumerate(values)]
            else:
                self.call(n, gm, graph, several)
        return graph

    def call(self, n: Any, gm: Any, graph: Graph, several: dict[Any, Any]) -> None:
        if n.op == "get_attr" or "_assert_tensor_metadata" in str(n.target):
            return
        if n.target is operator.getitem:
            several[n] = Ref(n.args[0].name, n.args[1])
            return
        if "as_strided" in str(n.target):
            self.plain_memory(n)
        graph.nodes.append(self.node(n, gm, graph, several))
        trace = n.meta.get("stack_trace") or ""
        if NO_GRAD in trace:
            graph.nodes[-1].module += "!"  # taken off by stop_at_borders

    def plain_memory(self, n: Any) -> None:
        """as_strided sees a tensor's memory: the program has that of one whose elements lie there in order, and nothing else."""
        t = n.args[0].meta["val"]
        if not t.is_contiguous() or t.storage_offset() or t.untyped_storage().nbytes() != t.numel() * t.element_size():
            raise Unsupported("of a view: PyTorch takes the elements from the memory that the view is of",
                              Node(n.name, str(n.target), where=source_line(n.meta.get("stack_trace"))),
                              "Write it with slices, transposes, unfold; or clone() first what is to be seen")


def module_of(n: Any) -> str:
    stack = n.meta.get("nn_module_stack") or {}
    last = list(stack.values())[-1] if stack else ("",)
    return str(last[0] if isinstance(last, (tuple, list)) else last).removeprefix("L['self'].")


def array_of(t: Any) -> Any:
    t = t.detach().cpu().contiguous().resolve_conj().resolve_neg()
    return t.numpy().copy() if str(t.dtype) != "torch.bfloat16" else t.float().numpy().copy()


def stop_at_borders(graph: Graph) -> None:
    """What leaves a region without gradient passes a stop_gradient."""
    for g in graph.graphs:
        stop_at_borders(g)
    inside = {n.name for n in graph.nodes if n.module.endswith("!")}
    if not inside:
        return
    stopped: dict[tuple[str, int | None], Ref] = {}
    made: dict[str, list[Node]] = {}

    def replaced(e: Any) -> Any:
        if not isinstance(e, Ref) or e.name not in inside:
            return e
        source = by_name[e.name]
        m = source.meta[e.index or 0] if isinstance(source.meta, list) else source.meta
        if not isinstance(m, Meta) or not m.real and m.dtype not in PARTS:
            return e
        key = (e.name, e.index)
        if key not in stopped:
            name = f"{e.name}_stopped" + ("" if e.index is None else str(e.index))
            made.setdefault(e.name, []).append(Node(name, "reprise.stop_gradient", [e], {}, m, source.where, source.module.rstrip("!")))
            stopped[key] = Ref(name)
        return stopped[key]

    by_name = {n.name: n for n in graph.nodes}
    for n in graph.nodes:
        if n.name not in inside:
            n.args, n.kwargs = map_refs(replaced, n.args), map_refs(replaced, n.kwargs)
    for o in graph.outputs:
        if o.kind == "result":
            o.value = map_refs(replaced, o.value)
    graph.nodes = [e for n in graph.nodes for e in [n, *made.get(n.name, [])]]
    for n in graph.nodes:
        n.module = n.module.rstrip("!")


def fold(program: Any, known: dict[str, Any]) -> dict[str, Any]:
    """The values, by name, of the operations on integers and flags that no input, state or draw comes into."""
    torch, fx = framework(), framework("torch.fx")
    found = dict(known)
    for n in program.graph.nodes:
        if n.op != "call_function" or any(a.name not in found for a in n.all_input_nodes):
            continue
        v = n.meta.get("val")
        plain = isinstance(v, torch.Tensor) and not v.is_floating_point() and not v.is_complex() and v.numel() <= MOST_FOLDED
        if not plain or any(d in str(n.target) for d in DRAWS):
            continue
        with torch.no_grad():
            found[n.name] = n.target(*fx.node.map_arg(n.args, lambda a: found[a.name]),
                                     **fx.node.map_arg(n.kwargs, lambda a: found[a.name]))
    return {k: v for k, v in found.items() if k not in known}


def refuse_changes(program: Any) -> None:
    """Of what a forward changes in place a program keeps buffers alone."""
    for o, value in zip(program.graph_signature.output_specs, next(n for n in program.graph.nodes if n.op == "output").args[0]):
        kind = o.kind.name
        if kind in ("USER_OUTPUT", "BUFFER_MUTATION", "LOSS_OUTPUT"):
            continue
        effects = kind == "TOKEN" and value.target is operator.getitem  # what with_effects(token, operation, ..) gives
        value = value.args[0] if effects else value
        made = Node(value.name, str(value.args[1] if effects else value.target), where=source_line(value.meta.get("stack_trace")),
                    module=module_of(value))
        if kind == "TOKEN":
            raise Unsupported("an operation that looks at values while it runs, and raises of some", made,
                              "Write it in operations of which rt.report(module, example) says that they are taken")
        remedy = "Clone it first; what a step is to keep is a buffer"
        if "renorm" in made.op:
            remedy = "Embedding(.., max_norm=None), whose rows the forward bounds: e * (most / e.norm(dim=-1, keepdim=True)).clamp(max=1)"
        raise Unsupported(f"the forward changes {o.target or 'an input'} in place ({kind})", made, remedy)


def read(program: Any, prefix: str = "", reserved: Sequence[str] = ("rng",), states: Collection[str] = ()) -> Captured:
    """The Graph of a functional ExportedProgram. `prefix` is taken off the names of states. Buffers that the forward does not change
    are constants, but for those that `states` names."""
    torch, reader, graph, captured = framework(), Reader(), Graph(), Captured(Graph())
    signature = program.graph_signature
    specs = {s.arg.name: s for s in signature.input_specs}
    mutated = {o.target for o in signature.output_specs if o.kind.name == "BUFFER_MUTATION"}
    refuse_changes(program)
    tensors = {**program.state_dict, **program.constants}
    changed = {storage_key(tensors[t], t) for t in mutated if t in tensors}
    by_storage: dict[Any, str] = {}
    known: dict[str, Any] = {}
    first: dict[Any, str] = {}
    also: dict[str, str] = {}
    places = [n for n in program.graph.nodes if n.op == "placeholder"]
    for n in places:
        spec = specs[n.name]
        kind = spec.kind.name
        if kind == "USER_INPUT":
            m = reader.meta(n.meta.get("val"), Node(n.name, "placeholder"))
            if isinstance(m, Meta):
                graph.inputs.append(Input(n.name, "user", m))
            continue
        if kind not in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
            raise Unsupported(f"an input of the kind {kind}")
        t = tensors[spec.target]
        also[n.name] = first.setdefault((t.dtype, storage_key(t, spec.target)), n.name)
        if kind == "PARAMETER" or storage_key(t, spec.target) in changed or spec.target.removeprefix(prefix) in states:
            state = state_of(t, spec.target, prefix, by_storage, captured, reserved)
            m = Meta(dtype_of(t.dtype), tuple(t.shape))
            graph.inputs.append(Input(n.name, kind.lower(), m, state, kind == "PARAMETER" and bool(t.requires_grad)))
        else:
            known[n.name] = captured.constants[spec.target.removeprefix(prefix)] = t
    told = getattr(program, "reprise_known", None)
    for name in sorted(told.buffers) if told is not None else ():
        if name in mutated or name.removeprefix(prefix) in states:
            raise Unsupported(f"the forward asks for a number, or a shape, that the values of its buffer {name.removeprefix(prefix)} decide, "
                              "which a step changes", remedy="Write it with torch.where or torch.cond, or keep the number as one of Python")
    captured.constants.update({k.removeprefix(prefix): t for k, t in (told.asked if told is not None else {}).items()})
    folded = fold(program, known)
    several: dict[Any, Any] = {}
    for n in program.graph.nodes:
        if n.op == "call_function" and n.name not in folded:
            reader.call(n, program.graph_module, graph, several)
        elif n.op == "output":
            for o, v in zip(signature.output_specs, n.args[0]):
                value = reader.operand(v, program.graph_module, graph, several, Node("", "output"))
                if o.kind.name == "BUFFER_MUTATION":
                    t = tensors[o.target]
                    graph.outputs.append(Output("buffer", by_storage[storage_key(t, o.target)], value))
                else:
                    count = sum(1 for e in graph.outputs if e.kind == "result")
                    graph.outputs.append(Output("result", str(count), value))
    refuse_shared({**captured.tensors, **captured.constants}, {i.state for i in graph.inputs if i.trained or i.kind == "buffer"})
    linear(graph, {**known, **folded})
    stop_at_borders(graph)
    if any(n.op == GRADIENT for n in graph.walk()):
        by_one_name(graph, also)
    used = set(refs([[n.args, n.kwargs] for n in graph.nodes] + [o.value for o in graph.outputs]))
    graph.constants.update({k: array_of(v) for k, v in {**known, **folded}.items() if k in used})
    captured.graph = graph
    return captured


def by_one_name(graph: Graph, names: Mapping[str, str]) -> None:
    """A gradient by a tensor is by all that is computed from it, under whatever name: of a tied weight, or of a tensor from outside of
    the module, which has another one at each place where it is read."""
    def of(e: Any) -> Any:
        return Ref(names.get(e.name, e.name), e.index) if isinstance(e, Ref) else e
    for n in graph.nodes:
        n.args, n.kwargs = map_refs(of, n.args), map_refs(of, n.kwargs)
    for o in graph.outputs:
        o.value = map_refs(of, o.value)


def storage_key(t: Any, target: str) -> Any:
    """Of complex elements also whether they are conjugate to what lies there."""
    if t.is_conj():
        return (*storage_key(t.conj(), target), "conj")
    return (t.untyped_storage().data_ptr(), t.storage_offset(), tuple(t.shape), tuple(t.stride())) if t.numel() else target


def spelt(name: str) -> str:
    """As a program's names are: what else a key of a ModuleDict has is _, and of a long path there is its end, with room for what stands
    before it in the names of moments."""
    if len(name) > LONGEST:
        name = f"{hashlib.sha256(name.encode()).hexdigest()[:8]}.{name[9 - LONGEST:]}"
    return re.sub(r"[^A-Za-z0-9._-]", "_", name)


def state_of(t: Any, target: str, prefix: str, by_storage: dict[Any, str], captured: Captured, reserved: Sequence[str]) -> str:
    key = storage_key(t, target)
    name = spelt(target.removeprefix(prefix))
    if key not in by_storage:
        while name in captured.tensors or name in reserved:
            name += "_"
        by_storage[key] = name
        captured.tensors[name] = t
        captured.names[name] = []
    elif captured.tensors[by_storage[key]] is not t and t.requires_grad:
        raise Unsupported(f"{name} and {by_storage[key]} are two parameters in one memory, each with a gradient and moments of its own",
                          remedy="Make them one parameter: b.weight = a.weight")
    captured.names[by_storage[key]].append(target.removeprefix(prefix))
    return by_storage[key]


def capture(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None, prefix: str = "",
            states: Collection[str] = ()) -> Captured:
    """The graph of module(*args, **kwargs): its results are the module's tensors, in order, as "result 0", ..; buffers
    that it changes are "buffer NAME". Raises Unsupported."""
    return read(exported(module, apart(args, module), kwargs), prefix, states=states)


def copied(a: Any) -> Any:
    """A copy that has a gradient, and is a leaf, where the tensor is."""
    made = a.detach().clone().requires_grad_(a.requires_grad)
    with framework().enable_grad():
        return made if a.is_leaf else made.clone()


def apart(args: Sequence[Any], module: Any) -> list[Any]:
    """The arguments, each in a storage of its own: of one tensor that is given twice the exporter makes one input, and of one that is a
    buffer too it takes the buffer for that input."""
    found: list[Any] = []
    seen = {t.untyped_storage().data_ptr() for t in [*module.parameters(), *module.buffers()]
            if t.layout is framework().strided}
    for a in args:
        if isinstance(a, framework().Tensor):
            pointer = a.untyped_storage().data_ptr()
            a = copied(a) if pointer in seen else a
            seen.add(pointer)
        found.append(a)
    return found
