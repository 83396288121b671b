# SPDX-License-Identifier: Apache-2.0
"""The instructions that our kernels may have, and what each is in C: the whitelist. Whatever is not here is an error.

What it keeps out: real arithmetic that does not name its rounding (the assembler may contract it), .ftz, .sat, .approx,
min and max of reals, 16-bit reals, tensor instructions, atomic operations on reals, clocks and special registers that say
where a thread runs. An instruction that a new compiler emits stops the tests until somebody has read what it means."""

C_TYPE = {"u8": "uint8_t", "s8": "int8_t", "b8": "uint8_t", "u16": "uint16_t", "s16": "int16_t", "b16": "uint16_t",
          "u32": "uint32_t", "s32": "int32_t", "b32": "uint32_t", "u64": "uint64_t", "s64": "int64_t",
          "b64": "uint64_t", "f32": "float", "f64": "double", "pred": "bool"}
REAL = ("f32", "f64")
WORDS = ("16", "32", "64")

# op -> (type of the result, types of the operands, the expression in C)
SIMPLE = {}
# those whose real result is the device's own NaN where it is one
ARITHMETIC = set()


def add(op, result, operands, expression):
    SIMPLE[op] = (result, operands, expression)


def real():
    for t, f in (("f32", "f"), ("f64", "")):
        for name, sign in (("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/")):
            add(f"{name}.rn.{t}", t, (t, t), f"{{0}} {sign} {{1}}")
        add(f"fma.rn.{t}", t, (t, t, t), f"__builtin_fma{f}({{0}}, {{1}}, {{2}})")
        add(f"sqrt.rn.{t}", t, (t,), f"__builtin_sqrt{f}({{0}})")
        add(f"rcp.rn.{t}", t, (t,), f"({C_TYPE[t]})1 / {{0}}")
        add(f"neg.{t}", t, (t,), "-{0}")
        add(f"abs.{t}", t, (t,), f"__builtin_fabs{f}({{0}})")
        for mode, call in (("rni", "rint"), ("rzi", "trunc"), ("rmi", "floor"), ("rpi", "ceil")):
            add(f"cvt.{mode}.{t}.{t}", t, (t,), f"__builtin_{call}{f}({{0}})")
            for n in ("32", "64"):
                add(f"cvt.{mode}.s{n}.{t}", "s" + n, (t,), f"emu_to_signed(__builtin_{call}((double){{0}}), {n})")
                add(f"cvt.{mode}.u{n}.{t}", "u" + n, (t,), f"emu_to_unsigned(__builtin_{call}((double){{0}}), {n})")
        for n in ("8", "16", "32", "64"):
            for sign in "us":
                add(f"cvt.rn.{t}.{sign}{n}", t, (sign + n,), f"({C_TYPE[t]}){{0}}")
    add("cvt.rn.f32.f64", "f32", ("f64",), "(float){0}")
    add("cvt.f64.f32", "f64", ("f32",), "(double){0}")
    ARITHMETIC.update(op for op, (result, _, _) in SIMPLE.items() if result in REAL)


def integer():
    for n in WORDS:
        u, s, b = "u" + n, "s" + n, "b" + n
        for sign in (u, s):
            add(f"add.{sign}", u, (u, u), "{0} + {1}")
            add(f"sub.{sign}", u, (u, u), "{0} - {1}")
            add(f"mul.lo.{sign}", u, (u, u), "{0} * {1}" if n != "16" else "(uint32_t){0} * {1}")
            add(f"mad.lo.{sign}", u, (u, u, u), "{0} * {1} + {2}" if n != "16" else "(uint32_t){0} * {1} + {2}")
            add(f"div.{sign}", sign, (sign, sign), f"emu_div_{sign}({{0}}, {{1}})")
            add(f"rem.{sign}", sign, (sign, sign), f"emu_rem_{sign}({{0}}, {{1}})")
            add(f"min.{sign}", sign, (sign, sign), "{0} < {1} ? {0} : {1}")
            add(f"max.{sign}", sign, (sign, sign), "{0} > {1} ? {0} : {1}")
        add(f"neg.{s}", u, (u,), "0 - {0}")
        add(f"abs.{s}", u, (s,), f"{{0}} < 0 ? 0 - ({C_TYPE[u]}){{0}} : ({C_TYPE[u]}){{0}}")
        add(f"not.{b}", b, (b,), "~{0}")
        for name, sign in (("and", "&"), ("or", "|"), ("xor", "^")):
            add(f"{name}.{b}", b, (b, b), f"{{0}} {sign} {{1}}")
        add(f"shl.{b}", b, (b, "u32"), f"emu_shl_{n}({{0}}, {{1}})")
        add(f"shr.{b}", b, (b, "u32"), f"emu_shr_{u}({{0}}, {{1}})")
        add(f"shr.{u}", u, (u, "u32"), f"emu_shr_{u}({{0}}, {{1}})")
        add(f"shr.{s}", s, (s, "u32"), f"emu_shr_{s}({{0}}, {{1}})")
    for sign in "us":
        for n, wide in (("16", "32"), ("32", "64")):
            one, two = sign + n, sign + wide
            product = f"({C_TYPE[two]}){{0}} * ({C_TYPE[two]}){{1}}"
            add(f"mul.wide.{one}", two, (one, one), product)
            add(f"mad.wide.{one}", "u" + wide, (one, one, "u" + wide), f"({C_TYPE['u' + wide]})({product}) + {{2}}")
        add(f"mul.hi.{sign}32", sign + "32", (sign + "32", sign + "32"),
            f"({C_TYPE[sign + '64']}){{0}} * ({C_TYPE[sign + '64']}){{1}} >> 32")
        add(f"mul.hi.{sign}64", sign + "64", (sign + "64", sign + "64"), f"emu_mulhi_{sign}64({{0}}, {{1}})")
        for n in ("32", "64"):
            add(f"bfe.{sign}{n}", sign + n, (sign + n, "u32", "u32"),
                f"emu_bfe((uint{n}_t){{0}}, {{1}}, {{2}}, {n}, {int(sign == 's')})")
    for n in ("32", "64"):
        add(f"bfi.b{n}", "b" + n, ("b" + n, "b" + n, "u32", "u32"), f"emu_bfi({{0}}, {{1}}, {{2}}, {{3}}, {n})")
        add(f"popc.b{n}", "u32", ("b" + n,), "__builtin_popcountll({0})")
        add(f"clz.b{n}", "u32", ("b" + n,), f"{{0}} == 0 ? {n} : __builtin_clzll({{0}}) - (64 - {n})")
        add(f"brev.b{n}", "b" + n, ("b" + n,), f"emu_brev({{0}}, {n})")
        add(f"bfind.u{n}", "u32", ("u" + n,), "emu_bfind({0})")
    for mode, mask in (("wrap", "{2} & 31"), ("clamp", "{2} < 32 ? {2} : 32")):
        for side in "lr":
            add(f"shf.{side}.{mode}.b32", "b32", ("b32", "b32", "u32"),
                f"emu_funnel({{0}}, {{1}}, {mask}, {int(side == 'l')})")
    add("prmt.b32", "b32", ("b32", "b32", "b32"), "emu_prmt({0}, {1}, {2})")
    for name, sign in (("and", "&"), ("or", "|"), ("xor", "^")):
        add(f"{name}.pred", "pred", ("pred", "pred"), f"{{0}} {sign} {{1}}")
    add("not.pred", "pred", ("pred",), "!{0}")
    kinds = [sign + n for sign in "us" for n in ("8", "16", "32", "64")]
    for a in kinds:
        for b in kinds:
            add(f"cvt.{a}.{b}", a, (b,), "{0}")


def choice():
    for kind in C_TYPE:
        if kind not in ("u8", "s8", "b8", "pred"):
            add(f"selp.{kind}", kind, (kind, kind, "pred"), "{2} ? {0} : {1}")
            add(f"mov.{kind}", kind, (kind,), "{0}")
    add("mov.pred", "pred", ("pred",), "{0}")


COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
UNSIGNED_COMPARE = {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}


def comparison(test, kind):
    """The condition of setp in C, or None when that is no test of the type."""
    if kind in REAL:
        if test in ("nan", "num"):
            return "({0} != {0} || {1} != {1})" if test == "nan" else "({0} == {0} && {1} == {1})"
        if test in COMPARE and test != "ne":
            return f"({{0}} {COMPARE[test]} {{1}})"
        if test == "ne":  # ordered and unequal
            return "({0} < {1} || {0} > {1})"
        if test[-1] == "u" and test[:-1] in COMPARE:
            ordered = comparison(test[:-1], kind)
            return f"({{0}} != {{0}} || {{1}} != {{1}} || {ordered})"
    elif kind[0] == "b" and test in ("eq", "ne") or kind[0] in "us" and test in COMPARE:
        return f"({{0}} {COMPARE[test]} {{1}})"
    elif kind[0] == "u" and test in UNSIGNED_COMPARE:
        return f"({{0}} {UNSIGNED_COMPARE[test]} {{1}})"
    return None


SPECIAL = {f"%{name}.{axis}": f"t->{name}[{i}]" for name in ("tid", "ntid", "ctaid", "nctaid")
           for i, axis in enumerate("xyz")}
SPECIAL["%laneid"] = "(t->index % 32)"
SPACES = ("global", "shared", "shared::cta", "local", "const", "param")
# How an access may be ordered or cached beside: nothing of it changes what it reads once the barrier is there.
HINTS = {"volatile", "relaxed", "acquire", "release", "weak", "cta", "gpu", "sys", "nc", "ca", "cg", "cs", "cv", "lu", "wb",
         "wt", "L1::no_allocate", "L1::evict_first", "L1::evict_last", "L2::64B", "L2::128B", "L2::256B"}
ATOMIC = {"add": ("u32", "s32", "u64"), "min": ("u32", "s32", "u64", "s64"), "max": ("u32", "s32", "u64", "s64"),
          "and": ("b32", "b64"), "or": ("b32", "b64"), "xor": ("b32", "b64"), "exch": ("b32", "b64"),
          "cas": ("b32", "b64")}
real()
integer()
choice()
