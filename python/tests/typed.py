# SPDX-License-Identifier: Apache-2.0
"""How users write it, for mypy --strict alone: it is not run."""
import numpy as np
import reprise as rp
from reprise import functions, nn, ops

x: rp.Tensor = rp.Tensor([1.0, 2.0]) * 2 + np.ones(2, np.float32)
y = 2.0 - x
a: float = float(y.sum())
z, i = ops.sort(x, descending=True)
s: rp.Tensor = functions.sum(x, (0,), keep=True)
b = rp.Builder()
w = b.state("w", (2,))
(g,) = b.gradients((w * w).sum(), w)
p: rp.Program = b.finish()
def model(m: nn.Model, u: rp.Tensor) -> rp.Tensor:
    with m.scope("a"):
        return m.linear("x", u, 3).sum()
m = nn.Model(model, nn.adam(0.1))
with rp.record("x.reprise") as run:
    run.add_state("w", [1.0])
    with run.step():
        run.update("w", run.state("w"))
v, d = rp.value_and_grad(lambda t: (t * t).sum())(x)
try:
    x + 1
except rp.ShapeError as error:
    print(error.code)
