#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PTX that nvcc made of our kernels to C that runs on the emulated device; what ptx_list.py does not allow is an error,
and all errors are told.

Usage: ptx2c.py [--pieces N] [-o STEM] FILE.ptx     writes STEM_0.c ... STEM_{N-1}.c; without -o it only looks
       ptx2c.py --census FILE.ptx                   the instructions and how often each is there"""
import argparse
import collections
import os
import re
import sys

import ptx
from ptx_list import ARITHMETIC, ATOMIC, C_TYPE, HINTS, REAL, SIMPLE, SPACES, SPECIAL, comparison

MEETS = ("bar", "shfl", "vote")  # instructions that wait for other threads


def c_name(name):
    return name.replace("$", "_S_").lstrip("%")


def nan_classes(function):
    """The real registers into which a NaN can come whose bits are not arithmetic's, by mov and selp to others. All
    other registers need no NaN made the device's before somebody looks at its bits."""
    leader, foreign = {}, set()

    def find(r):
        while leader.get(r, r) != r:
            r = leader[r]
        return r

    for item in function.body:
        if not isinstance(item, ptx.Instruction) or not item.operands:
            continue
        op, operands = item.op, item.operands
        results = re.findall(r"%\w+", operands[0])
        kind = op.split(".")[-1]
        if op.startswith(("mov.f", "selp.f")):
            sources = operands[1:3] if op.startswith("selp") else operands[1:2]
            for s in sources:
                if s.startswith("%"):
                    leader[find(s)] = find(results[0])
                elif re.match(r"0f[7fF][fF8-9a-fA-F]|0d[7fF][fF][fF0-9a-fA-F]", s):
                    foreign.add(results[0])
        elif op not in ARITHMETIC and not op.startswith("st."):
            foreign.update(results)
        elif kind not in REAL and op in ARITHMETIC:
            foreign.update(results)
    bad = {find(r) for r in foreign}
    return lambda r: find(r) in bad


class Writer:
    """One function in C."""

    def __init__(self, module, function):
        self.module, self.function, self.lines = module, function, []
        self.names = {p.name for p in function.params} | ({function.result.name} if function.result else set())
        self.local, self.shared, self.kinds, self.calls = {}, {}, {}, set()
        self.meets, self.site = False, 0
        self.targets = {item[1]: item[2] for item in function.body if isinstance(item, tuple) and item[0] == "targets"}
        self.takes_foreign_nan = nan_classes(function)

    # ---- operands ----

    def register(self, name):
        """Its type."""
        if name not in self.kinds:
            prefix = re.match(r"%([A-Za-z_]+?)(\d*)$", name)
            regs = self.function.registers
            known = name[1:] if name[1:] in regs else prefix.group(1) if prefix else None
            if known not in regs:
                raise ptx.Bad(f"register {name} is not declared")
            self.kinds[name] = regs[known]
        return self.kinds[name]

    def constant(self, text, kind):
        if re.match(r"0[fF][0-9a-fA-F]{8}$", text):
            return f"emu_f32(0x{text[2:]}u)" if kind == "f32" else f"0x{text[2:]}u"
        if re.match(r"0[dD][0-9a-fA-F]{16}$", text):
            return f"emu_f64(UINT64_C(0x{text[2:]}))" if kind == "f64" else f"UINT64_C(0x{text[2:]})"
        if kind not in REAL and re.match(r"-?(0[xX][0-9a-fA-F]+|\d+)$", text):
            value = int(text, 0) & 0xFFFFFFFFFFFFFFFF
            return f"({C_TYPE[kind]})UINT64_C({value})"
        return None

    def symbol(self, name, kind):
        if name in self.local:
            return f"emu_far({c_name(name)})"
        if name in self.names:
            return f"emu_far({c_name(name)})"
        if name in self.shared:
            return f"({C_TYPE[kind]}){self.shared[name]}u"
        if name in self.module.dynamic:
            return f"({C_TYPE[kind]})t->dynamic"
        if name in self.module.shared:
            return f"({C_TYPE[kind]}){self.module.shared[name]}u"
        if name in self.module.variables:
            return f"emu_far({self.module.variable_name(name)})"
        raise ptx.Bad(f"operand {name}")

    def value(self, text, kind, bits_seen=False):
        """The operand as a type's expression in C; bits_seen: what its bits are if it is a NaN matters."""
        if text in SPECIAL:
            return f"(({C_TYPE[kind]}){SPECIAL[text]})"
        if text.startswith("!") and kind == "pred":
            return f"!{self.value(text[1:], kind)}"
        if not text.startswith("%"):
            constant = self.constant(text, kind)
            return constant if constant is not None else self.symbol(text, kind)
        have, name = self.register(text), c_name(text)
        if (have == "pred") != (kind == "pred"):
            raise ptx.Bad(f"{text} is no {kind}")
        if have in REAL and (bits_seen or kind not in REAL) and not self.takes_foreign_nan(text):
            name = f"emu_nan_{have}({name})"
        if have == kind or have == "pred":
            return name
        if have in REAL or kind in REAL:
            if ptx.size_of(have) != ptx.size_of(kind) or have in REAL and kind in REAL:
                raise ptx.Bad(f"{text} is no {kind}")
            return f"(({C_TYPE[kind]})emu_b{have[1:]}({name}))" if have in REAL else f"emu_{kind}({name})"
        if ptx.size_of(have) < ptx.size_of(kind):
            raise ptx.Bad(f"{text} is narrower than {kind}")
        return f"(({C_TYPE[kind]}){name})"

    def assign(self, text, kind, expression, arithmetic=False):
        if text == "_":
            return ""
        have, name = self.register(text), c_name(text)
        if arithmetic and kind in REAL and (have != kind or self.takes_foreign_nan(text)):
            expression = f"emu_nan_{kind}({expression})"
        if have == kind:
            return f"{name} = {expression};"
        if have == "pred" or kind == "pred":
            raise ptx.Bad(f"{text} is no {kind}")
        if have in REAL or kind in REAL:
            if ptx.size_of(have) != ptx.size_of(kind) or have in REAL and kind in REAL:
                raise ptx.Bad(f"{text} is no {kind}")
            if kind in REAL:
                return f"{name} = emu_b{kind[1:]}({expression});"
            return f"{name} = emu_{have}(({C_TYPE['u' + have[1:]]})({expression}));"
        if ptx.size_of(have) < ptx.size_of(kind):
            raise ptx.Bad(f"{text} is narrower than {kind}")
        return f"{name} = ({C_TYPE[have]})({C_TYPE[kind]})({expression});"

    def address(self, text, space, align):
        """Where the host finds it."""
        base, offset = re.match(r"\[\s*([^\s+\]]+)\s*(?:\+\s*(-?\w+))?\s*\]$", text).groups()
        offset = int(offset or "0", 0)
        if space == "param" and base in self.names:
            return f"({c_name(base)} + {offset})"
        if space in ("shared", "shared::cta"):
            at = f"(uint32_t){self.value(base, 'u32') if self.narrow(base) else self.value(base, 'u64')}"
            return f"emu_shared_at(shared, {at} + (uint32_t){offset}, {align})"
        if base.startswith("%") and self.narrow(base):
            raise ptx.Bad(f"an address of 32 bits: {text}")
        return f"emu_at({self.value(base, 'u64')} + (uint64_t){offset}, {align})"

    def narrow(self, base):
        return not base.startswith("%") or ptx.size_of(self.register(base)) == 4

    # ---- instructions ----

    def access(self, op, operands):
        name, *rest = op.split(".")
        kind = rest.pop()
        space, count = "", 1
        for word in rest:
            if word in SPACES and not space:
                space = word
            elif word in ("v2", "v4"):
                count = int(word[1])
            elif word not in HINTS:
                raise ptx.Bad(op)
        if kind not in C_TYPE or kind == "pred":
            raise ptx.Bad(op)
        memory, register = (operands[1], operands[0]) if name == "ld" else operands[:2]
        parts = [p.strip() for p in register.strip("{}").split(",")]
        if len(parts) != count:
            raise ptx.Bad(op)
        plain = {"b": "u"}.get(kind[0], kind[0]) + kind[1:]
        size = ptx.size_of(kind)
        lines = [f"char *const at = (char *){self.address(memory, space, size * count)};"]
        for i, part in enumerate(parts):
            if name == "ld":
                lines.append(self.assign(part, plain, f"emu_load_{plain}(at + {i * size})"))
            else:
                lines.append(f"emu_store_{plain}(at + {i * size}, {self.value(part, plain, bits_seen=True)});")
        return " ".join(lines)

    def pack(self, kind, operands):
        """mov between a register and a vector of parts."""
        total = ptx.size_of(kind)
        if operands[1].startswith("{"):
            parts = [p.strip() for p in operands[1].strip("{}").split(",")]
            width = 8 * total // len(parts)
            whole = " | ".join(f"(uint{8 * total}_t){self.value(p, f'b{width}')} << {i * width}"
                               for i, p in enumerate(parts))
            return self.assign(operands[0], f"b{8 * total}", whole)
        parts = [p.strip() for p in operands[0].strip("{}").split(",")]
        width = 8 * total // len(parts)
        lines = [f"const uint{8 * total}_t whole = {self.value(operands[1], f'b{8 * total}')};"]
        lines += [self.assign(p, f"b{width}", f"(uint{width}_t)(whole >> {i * width})") for i, p in enumerate(parts)]
        return " ".join(lines)

    def compare(self, op, operands):
        words = op.split(".")[1:]
        kind, test = words[-1], words[0]
        condition = comparison(test, kind) if kind in C_TYPE else None
        if condition is None or len(words) > 3 or len(words) == 3 and words[1] not in ("and", "or", "xor"):
            raise ptx.Bad(op)
        condition = condition.format(self.value(operands[1], kind), self.value(operands[2], kind))
        results = operands[0].split("|")
        other = {"and": "&", "or": "|", "xor": "^"}.get(words[1]) if len(words) == 3 else None
        also = f" {other} {self.value(operands[3], 'pred')}" if other else ""
        lines = [f"const bool holds = {condition};", self.assign(results[0], "pred", f"holds{also}")]
        if len(results) == 2:
            lines.append(self.assign(results[1], "pred", f"!holds{also}"))
        return " ".join(lines)

    def atomic(self, op, operands):
        name, *words = op.split(".")
        kind, action = words[-1], words[-2]
        space = [w for w in words[:-2] if w in ("global", "shared", "shared::cta")]
        if kind not in ATOMIC.get(action, ()) or set(words[:-2]) - {"global", "shared", "shared::cta"} - HINTS:
            raise ptx.Bad(op)
        plain = kind.replace("b", "u")
        at, rest = (operands[1], operands[2:]) if name == "atom" else (operands[0], operands[1:])
        call = "emu_atom_{}_{}({}, {})".format(
            action, plain, self.address(at, space[0] if space else "", ptx.size_of(kind)),
            ", ".join(self.value(r, plain) for r in rest))
        return self.assign(operands[0], plain, call) if name == "atom" else f"(void){call};"

    def together(self, op, operands):
        """What threads do together."""
        self.meets, self.site = True, self.site + 1
        if op in ("bar.sync", "barrier.sync.aligned") and len(operands) == 1:
            return f"emu_barrier(t, {self.value(operands[0], 'u32')}, {self.site});"
        if op == "bar.warp.sync":
            return f"emu_warp_barrier(t, {self.value(operands[0], 'u32')});"
        shuffle = re.match(r"shfl\.sync\.(up|down|bfly|idx)\.b32$", op)
        if shuffle:
            result = operands[0].split("|")
            call = "emu_shuffle(t, EMU_{}, {}, {}, {}, {}, &in_range)".format(
                shuffle.group(1).upper(), *(self.value(o, "b32") for o in operands[1:5]))
            lines = ["bool in_range;", f"const uint32_t given = {call};", self.assign(result[0], "b32", "given")]
            if len(result) == 2:
                lines.append(self.assign(result[1], "pred", "in_range"))
            return " ".join(lines)
        vote = re.match(r"vote\.sync\.(any\.pred|all\.pred|ballot\.b32)$", op)
        if vote:
            mask = self.value(operands[2], "b32")
            lines = [f"const uint32_t mask = {mask}, held = emu_ballot(t, {self.value(operands[1], 'pred')}, mask);"]
            kind = "b32" if "ballot" in op else "pred"
            what = {"any.pred": "held != 0", "all.pred": "held == mask", "ballot.b32": "held"}[vote.group(1)]
            lines.append(self.assign(operands[0], kind, what))
            return " ".join(lines)
        raise ptx.Bad(op)

    def copy(self, op, operands):
        if op == "cp.async.commit_group":
            return "emu_copy_commit(t);"
        if op == "cp.async.wait_all":
            return "emu_copy_wait_all(t);"
        if op == "cp.async.wait_group":
            return f"emu_copy_wait(t, {self.value(operands[0], 'u32')});"
        if not re.match(r"cp\.async\.(ca|cg)\.shared(::cta)?\.global(\.L2::\d+B)?$", op):
            raise ptx.Bad(op)
        to, source = (re.match(r"\[\s*([^\s+\]]+)\s*(?:\+\s*(-?\d+))?\s*\]$", o).groups() for o in operands[:2])
        to_at = f"(uint32_t){self.value(to[0], 'u32' if self.narrow(to[0]) else 'u64')} + (uint32_t){int(to[1] or 0)}"
        from_at = f"{self.value(source[0], 'u64')} + (uint64_t){int(source[1] or 0)}"
        taken = self.value(operands[3], "u32") if len(operands) > 3 else operands[2]
        return f"emu_copy(t, {to_at}, {from_at}, {operands[2]}, {taken});"

    def call(self, op, operands):
        """call.uni (retval0), name, (param0, param1)"""
        result = operands.pop(0).strip("()") if operands[0].startswith("(") else "NULL"
        name = operands.pop(0)
        arguments = operands.pop(0).strip("()") if operands else ""
        if operands or name not in self.module.functions:
            raise ptx.Bad(f"{op} of {name}: no function of this module")
        self.calls.add(name)
        given = [c_name(a.strip()) for a in [result] + arguments.split(",") if a.strip()]
        return f"emu_f_{c_name(name)}(t, {', '.join(given)});"

    def one(self, op, operands):
        if op.startswith("mov.b") and (operands[0].startswith("{") or operands[1].startswith("{")):
            return self.pack(op.split(".")[1], operands)
        if op in SIMPLE:
            result, kinds, expression = SIMPLE[op]
            if len(operands) != len(kinds) + 1:
                raise ptx.Bad(f"{op} of {len(operands) - 1} operands")
            keeps = op.startswith(("mov", "selp")) and self.register(operands[0]) == result
            values = [self.value(o, k, bits_seen=not keeps and op not in ARITHMETIC or
                                 keeps and k in REAL and self.takes_foreign_nan(operands[0]))
                      for o, k in zip(operands[1:], kinds)]
            return self.assign(operands[0], result, expression.format(*values), op in ARITHMETIC)
        family = op.split(".")[0]
        if family == "setp":
            return self.compare(op, operands)
        if family in ("ld", "st"):
            return self.access(op, operands)
        if family in ("atom", "red"):
            return self.atomic(op, operands)
        if family in MEETS or op.startswith("barrier."):
            return self.together(op, operands)
        if family == "cp":
            return self.copy(op, operands)
        if re.match(r"cvta(\.to)?\.(global|local|const|param)\.u64$", op):
            return self.assign(operands[0], "u64", self.value(operands[1], "u64"))
        if op == "cvta.shared.u64":
            return self.assign(operands[0], "u64", f"emu_far(shared) + {self.value(operands[1], 'u64')}")
        if op == "cvta.to.shared.u64":
            return self.assign(operands[0], "u64", f"{self.value(operands[1], 'u64')} - emu_far(shared)")
        if op in ("membar.gl", "membar.cta", "membar.sys") or re.match(r"fence\.(acq_rel|sc)\.(cta|gpu|sys)$", op):
            return "__atomic_thread_fence(__ATOMIC_SEQ_CST);"
        if family == "call":
            return self.call(op, operands)
        if op == "lop3.b32":
            table = int(operands[4], 0)
            a, b, c = (self.value(o, "b32") for o in operands[1:4])
            terms = [f"({'' if i & 4 else '~'}{a} & {'' if i & 2 else '~'}{b} & {'' if i & 1 else '~'}{c})"
                     for i in range(8) if table >> i & 1]
            return self.assign(operands[0], "b32", " | ".join(terms) or "0")
        if op in ("trap", "exit"):
            return 'emu_trap("trap");' if op == "trap" else "return;"
        raise ptx.Bad(op)

    def instruction(self, item):
        guard = f"if ({self.value(item.guard.replace('!', '!%') if '!' in item.guard else '%' + item.guard, 'pred')}) " \
            if item.guard else ""
        if item.op in ("bra", "bra.uni"):
            return f"{guard}goto {c_name(item.operands[0])};"
        if item.op in ("brx.idx", "brx.idx.uni"):
            places = " ".join(f"case {i}: goto {c_name(p)};" for i, p in enumerate(self.targets[item.operands[1]]))
            return f"{guard}switch ({self.value(item.operands[0], 'u32')}) {{ {places} " \
                   f'default: emu_trap("a branch to no target"); }}'
        if item.op in ("ret", "ret.uni"):
            return f"{guard}return;"
        if item.op == "exit" and not self.function.entry:
            raise ptx.Bad("exit in a function")
        try:
            return f"{guard}{{ {self.one(item.op, list(item.operands))} }}"
        except (IndexError, AttributeError, ValueError) as form:  # fewer operands, or others, than it has
            raise ptx.Bad(f"{item.op} {', '.join(item.operands)}") from form

    def variable(self, v):
        if v.space == "shared":
            self.shared[v.name] = self.module.place(self.shared_end, v)
            self.shared_end = self.shared[v.name] + v.size
            return
        (self.names.add if v.space == "param" else lambda n: self.local.setdefault(n, v))(v.name)
        self.lines.append(f"char {c_name(v.name)}[{max(v.size, 1)}] __attribute__((aligned({max(v.align, 16)})));")

    def write(self):
        """The lines of the body; what is not allowed goes to the module's list."""
        self.shared_end = self.module.shared_end
        depth = 0
        for item in self.function.body:
            try:
                if isinstance(item, ptx.Variable):
                    self.variable(item)
                elif isinstance(item, ptx.Instruction):
                    if item.op.endswith(":"):
                        raise ptx.Bad(f"{item.op} is not understood")
                    self.module.census[item.op] += 1
                    self.lines.append(self.instruction(item))
                elif item[0] == "label":
                    self.lines.append(f"{c_name(item[1])}:;")
                elif item[0] in ("open", "close"):
                    depth += 1 if item[0] == "open" else -1
                    self.lines.append("{" if item[0] == "open" else "}")
            except ptx.Bad as bad:
                self.module.refuse(self.function.name, str(bad))
        return self

    def head(self):
        f = self.function
        if f.entry:
            return f"static void emu_k_{c_name(f.name)}(emu_thread *t, const char *const *param)"
        given = ["emu_thread *t", f"char *{c_name(f.result.name) if f.result else 'no_result'}"]
        given += [f"char *{c_name(p.name)}" for p in f.params]
        return f"static __attribute__((unused)) void emu_f_{c_name(f.name)}({', '.join(given)})"

    def text(self):
        f = self.function
        out = [self.head(), "{", "char *const shared = t->shared;", "(void)shared;"]
        for prefix, kind in f.registers.items():
            count = f.counts[prefix]
            names = [prefix] if count is None else [f"{prefix}{i}" for i in range(count)]
            used = [n for n in names if n in self.used]
            if used:
                out.append(f"{C_TYPE[kind]} {', '.join(used)};")
        if f.entry:
            out += [f"const char *const {c_name(p.name)} = param[{i}]; (void){c_name(p.name)};"
                    for i, p in enumerate(f.params)]
        return "\n".join(out + self.lines + ["}", ""])

    @property
    def used(self):
        if not hasattr(self, "_used"):
            self._used = set(re.findall(r"[A-Za-z_]\w*", "\n".join(self.lines)))
        return self._used


class Module:
    def __init__(self, path, stem):
        self.path, self.stem = path, c_name(re.sub(r"\W", "_", stem))
        self.census, self.refused = collections.Counter(), collections.OrderedDict()
        variables, functions = ptx.read(path)
        self.variables = {v.name: v for v in variables if v.space in ("global", "const")}
        self.dynamic = {v.name for v in variables if v.space == "shared" and v.size == 0}
        self.shared, self.shared_end = {}, 0
        for v in variables:
            if v.space == "shared" and v.size:
                self.shared[v.name] = self.place(self.shared_end, v)
                self.shared_end = self.shared[v.name] + v.size
        self.functions = {f.name: f for f in functions if not f.entry}
        self.writers = {f.name: Writer(self, f).write() for f in functions}

    @staticmethod
    def place(end, v):
        return (end + v.align - 1) // v.align * v.align

    def refuse(self, function, what):
        self.refused.setdefault(what, [0, function])[0] += 1

    def variable_name(self, name):
        return f"emu_v_{self.stem}_{c_name(name)}"

    def reached(self, name):
        """It and the functions that it calls, callees first."""
        order = []

        def visit(n, above):
            if n in above:
                raise ptx.Bad(f"{n} calls itself")
            for callee in sorted(self.writers[n].calls):
                visit(callee, above | {n})
            if n not in order:
                order.append(n)

        visit(name, frozenset())
        return order

    def variable_text(self, v, here):
        size, one = max(v.size, 1), ptx.size_of(v.word_type)
        name = f"uint{8 * one}_t {self.variable_name(v.name)}[{size // one}] __attribute__((aligned({v.align})))"
        if not here:
            return f"extern __attribute__((visibility(\"hidden\"))) {name};\n"
        words = ", ".join(w if w[1:2] not in ("f", "d") else "0x" + w[2:] for w in v.words)
        return f"__attribute__((visibility(\"hidden\"))) {name} = {{{words or 0}}};\n"

    def piece(self, entries, number):
        out = ['/* Made by tests/emu/ptx2c.py. */\n#include "tests/emu/emu.h"\n']
        out += [self.variable_text(v, number == 0) for v in self.variables.values()]
        functions = []
        for entry in entries:
            functions += [n for n in self.reached(entry) if n not in functions]
        out += [self.writers[n].text() for n in functions]
        rows = []
        for entry in entries:
            writer, reached = self.writers[entry], self.reached(entry)
            sizes = [p.size for p in writer.function.params]
            out.append(f"static const uint32_t size_{c_name(entry)}[] = {{{', '.join(map(str, sizes)) or 0}}};")
            rows.append('{"%s", emu_k_%s, size_%s, %d, %d, %d, %s}' % (
                entry, c_name(entry), c_name(entry), len(sizes), max(self.writers[n].shared_end for n in reached),
                writer.function.threads, str(any(self.writers[n].meets for n in reached)).lower()))
        named = [f'{{"{v.name}", {self.variable_name(v.name)}, {v.size}}}' for v in self.variables.values()] \
            if number == 0 else []
        out.append("static const emu_kernel kernels[] = {%s};" % ",\n".join(rows or ["{0}"]))
        out.append("static const emu_variable variables[] = {%s};" % ",\n".join(named or ["{0}"]))
        out.append("static emu_module module = {kernels, %d, variables, %d, NULL};\n"
                   "static __attribute__((constructor)) void enter(void)\n{\n    emu_register(&module);\n}\n"
                   % (len(rows), len(named)))
        return "\n".join(out)

    def pieces(self, count):
        """Entries shared out by their size, so that the pieces compile side by side."""
        entries = sorted((f for f in self.writers.values() if f.function.entry),
                         key=lambda w: (-sum(len(self.writers[n].lines) for n in self.reached(w.function.name)),
                                        w.function.name))
        bins = [[0, i, []] for i in range(count)]
        for w in entries:
            lightest = min(bins)
            lightest[0] += sum(len(self.writers[n].lines) for n in self.reached(w.function.name))
            lightest[2].append(w.function.name)
        return [sorted(b[2]) for b in bins]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pieces", type=int, default=1)
    parser.add_argument("--census", action="store_true")
    parser.add_argument("-o", dest="stem")
    parser.add_argument("file")
    given = parser.parse_args()
    try:
        module = Module(given.file, os.path.basename(given.stem or given.file))
        if given.census:
            for op, times in sorted(module.census.items(), key=lambda item: (-item[1], item[0])):
                print(f"{times:8} {op}")
        pieces = [module.piece(p, i) for i, p in enumerate(module.pieces(given.pieces))] if not module.refused else []
    except ptx.Bad as bad:
        sys.exit(f"{given.file}: {bad}")
    for what, (times, first) in module.refused.items():
        print(f"{given.file}: {first}: {what}: not on the list of instructions ({times} times)", file=sys.stderr)
    if module.refused:
        sys.exit(1)
    if given.stem:
        for i, text in enumerate(pieces):
            with open(f"{given.stem}_{i}.c", "w", encoding="utf-8") as out:
                out.write(text)


if __name__ == "__main__":
    main()
