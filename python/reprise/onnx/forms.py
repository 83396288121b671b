# SPDX-License-Identifier: Apache-2.0
"""Forms that an operator's definition by others takes and the standard's text does not have, or has two readings of: they
are refused before the definition is written out."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .graph import Unsupported, Value


PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
REDUCTIONS, SIDES = ("none", "sum", "mean"), ("forward", "reverse", "bidirectional")
# Texts that an attribute may be: another one would be read as the default by who does not look.
WORDS: dict[str, dict[str, tuple[str, ...]]] = {
    **{k: {"auto_pad": PADS} for k in ("Conv", "ConvInteger", "ConvTranspose", "MaxPool", "AveragePool", "LpPool", "QLinearConv")},
    **{k: {"reduction": REDUCTIONS} for k in ("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")},
    **{k: {"direction": SIDES} for k in ("RNN", "GRU", "LSTM")},
    **{k: {"reduction": ("none", "add", "mul", "max", "min")} for k in ("ScatterElements", "ScatterND")},
    "BitShift": {"direction": ("LEFT", "RIGHT")}, "DepthToSpace": {"mode": ("DCR", "CRD")}, "Gelu": {"approximate": ("none", "tanh")},
    "TensorScatter": {"mode": ("linear", "circular")}}

FLAGS = frozenset("""allowzero antialias ceil_mode count_include_pad exclude_outside exclusive fmod input_forget is_causal keepdims
largest layout linear_before_reset noop_with_empty_axes reverse saturate select_last_index sorted training_mode transA transB
upper""".split())  # 0 or 1


def words(node: Any) -> None:
    """Raises Unsupported where an operator's attribute is a text or a flag that the standard does not have."""
    for a in node.attribute:
        if a.name in FLAGS and a.type == a.INT and a.i not in (0, 1) and not a.ref_attr_name:
            raise Unsupported(f"{a.name} {a.i}", node.op_type)
    allowed = WORDS.get(node.op_type)
    for a in node.attribute if allowed else ():
        if allowed and a.name in allowed and a.s.decode("utf-8", "replace") not in allowed[a.name] and not a.ref_attr_name:
            raise Unsupported(f"{a.name} {a.s[:40]!r}", node.op_type)


def check(kind: str, given: Mapping[str, Any], inputs: Sequence[Value | None]) -> None:
    """Raises Unsupported; `given` are the operator's attributes as the file has them."""
    x = inputs[0] if inputs else None
    if kind in ("LayerNormalization", "RMSNormalization") and "axis" in given and x is not None:
        if not -x.rank <= given["axis"].i < x.rank:
            raise Unsupported(f"axis {given['axis'].i} of {x.rank}", kind)
    if kind == "Attention":
        attention(given, [inputs[i] if len(inputs) > i else None for i in range(5)])


def attention(given: Mapping[str, Any], inputs: Sequence[Value | None]) -> None:
    _, k, _, mask, past = inputs
    if "qk_matmul_output_mode" in given and given["qk_matmul_output_mode"].i not in range(4):
        raise Unsupported(f"qk_matmul_output_mode {given['qk_matmul_output_mode'].i}", "Attention")
    if k is not None and k.rank > 1 and mask is not None and mask.rank:
        keys = k.shape[-2] + (past.shape[-2] if past is not None and past.rank > 1 else 0)
        if mask.shape[-1] == 1 != keys:
            raise Unsupported("a mask of one key for several: the definition repeats it, the reference pads it", "Attention")
