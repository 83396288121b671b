# SPDX-License-Identifier: Apache-2.0
"""Models of flax, nnx and equinox through reprise.jax: first gradients beside jax.grad, three steps recorded, and the
archive replayed by the command.

    REPRISE_COMMAND=build/release/cli/reprise python bench/doors/jax/models.py [--f32] [NAME ..]

In binary64 unless --f32. A difference beyond 1e-6 of the largest gradient (1e-5 in binary32), or a replay that is not
identical, is a failure."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings

os.environ["JAX_PLATFORMS"] = "cpu"
warnings.filterwarnings("ignore")

import equinox as eqx  # noqa: E402
import jax  # noqa: E402
import numpy as np  # noqa: E402

SINGLE = "--f32" in sys.argv
jax.config.update("jax_enable_x64", not SINGLE)

import jax.numpy as jnp  # noqa: E402
import optax  # noqa: E402
import reprise.jax as rj  # noqa: E402
from flax import linen, nnx  # noqa: E402

F = jnp.float32 if SINGLE else jnp.float64
KEYS = jax.random.split(jax.random.key(0), 4)
COMMAND = os.environ.get("REPRISE_COMMAND", "reprise")
MODELS = {}


def model(f):
    MODELS[f.__name__] = f
    return f


def entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def wide(tree):
    """Floats of a pytree in the type of this run."""
    return jax.tree.map(lambda x: x.astype(F) if hasattr(x, "dtype") and jnp.issubdtype(x.dtype, jnp.floating) else x, tree)


def rows(rng, *shape):
    return rng.standard_normal(shape).astype(F)


def labels(n, classes):
    return (np.arange(n) % classes).astype(np.int32)


@model
def flax_mlp(rng):
    net = linen.Sequential([linen.Dense(64, param_dtype=F), linen.relu, linen.Dense(64, param_dtype=F), linen.gelu,
                            linen.Dense(5, param_dtype=F)])
    x = rows(rng, 8, 20)
    return lambda p, x, y: entropy(net.apply(p, x), y), net.init(KEYS[0], x), (x, labels(8, 5)), {}


@model
def flax_cnn(rng):
    class Net(linen.Module):
        @linen.compact
        def __call__(self, x):
            x = linen.BatchNorm(use_running_average=False, param_dtype=F)(linen.Conv(8, (3, 3), param_dtype=F)(x))
            x = linen.avg_pool(linen.relu(x), (2, 2), (2, 2))
            x = linen.relu(linen.Conv(16, (3, 3), strides=2, param_dtype=F)(x))
            return linen.Dense(10, param_dtype=F)(linen.max_pool(x, (2, 2), (2, 2)).reshape(x.shape[0], -1))
    net, x = Net(), rows(rng, 4, 16, 16, 3)
    made = net.init(KEYS[0], x)

    def loss(p, stats, x, y):
        logits, new = net.apply({"params": p, "batch_stats": stats}, x, mutable=["batch_stats"])
        return entropy(logits, y), new["batch_stats"]
    return loss, made["params"], (x, labels(4, 10)), {"state": wide(made["batch_stats"])}


@model
def flax_transformer(rng):
    class Block(linen.Module):
        @linen.compact
        def __call__(self, x):
            mask = linen.make_causal_mask(jnp.ones(x.shape[:2]))
            h = linen.MultiHeadDotProductAttention(4, dropout_rate=0.1, deterministic=False, param_dtype=F)(
                linen.LayerNorm(param_dtype=F)(x), mask=mask)
            x = x + linen.Dropout(0.1, deterministic=False)(h)
            h = linen.gelu(linen.Dense(128, param_dtype=F)(linen.LayerNorm(param_dtype=F)(x)))
            return x + linen.Dense(32, param_dtype=F)(h)

    class Language(linen.Module):
        @linen.compact
        def __call__(self, i):
            x = linen.Embed(65, 32, param_dtype=F)(i) + self.param("place", linen.initializers.normal(0.02), (16, 32), F)
            for _ in range(2):
                x = Block()(x)
            return linen.Dense(65, param_dtype=F)(linen.LayerNorm(param_dtype=F)(x))
    net, ids = Language(), rng.integers(0, 65, (2, 16)).astype(np.int32)
    made = net.init({"params": KEYS[0], "dropout": KEYS[1]}, ids)

    def loss(p, key, ids):
        key, own = jax.random.split(key)
        return entropy(net.apply(p, ids, rngs={"dropout": own})[:, :-1], ids[:, 1:]), key
    return loss, made, (ids,), {"state": KEYS[2]}


@model
def scan_rnn(rng):
    w = [rows(rng, 8, 16) * F(0.3), rows(rng, 16, 16) * F(0.3)]

    def loss(w, x):
        def frame(h, row):
            h = jnp.tanh(row @ w[0] + h @ w[1])
            return h, h
        return (jax.lax.scan(frame, jnp.zeros((4, 16), F), x)[1] ** 2).mean()
    return loss, w, (rows(rng, 12, 4, 8),), {}


@model
def flax_lstm(rng):
    net, head, x = linen.RNN(linen.OptimizedLSTMCell(16, param_dtype=F)), linen.Dense(3, param_dtype=F), rows(rng, 4, 7, 5)
    params = {"net": net.init(KEYS[0], x), "head": head.init(KEYS[1], jnp.zeros((4, 16), F))}
    return (lambda p, x, y: entropy(head.apply(p["head"], net.apply(p["net"], x)[:, -1]), y)), params, (x, labels(4, 3)), {}


@model
def flax_gru_reversed(rng):
    net, x = linen.RNN(linen.GRUCell(16, param_dtype=F), reverse=True, keep_order=True), rows(rng, 4, 7, 5)
    return lambda p, x: (net.apply(p, x) ** 2).mean(), net.init(KEYS[0], x), (x,), {}


@model
def nnx_cnn(rng):
    class Net(nnx.Module):
        def __init__(self, rngs):
            self.conv, self.norm = nnx.Conv(3, 8, (3, 3), rngs=rngs, param_dtype=F), nnx.BatchNorm(8, rngs=rngs, param_dtype=F)
            self.drop, self.head = nnx.Dropout(0.3, rngs=rngs), nnx.Linear(8, 4, rngs=rngs, param_dtype=F)

        def __call__(self, x):
            return self.head(self.drop(jax.nn.silu(self.norm(self.conv(x)))).mean((1, 2)))
    form, params, rest = nnx.split(Net(nnx.Rngs(0)), nnx.Param, ...)

    def loss(params, rest, x, y):
        net = nnx.merge(form, params, rest)
        return entropy(net(x), y), nnx.state(net, nnx.Not(nnx.Param))
    return loss, params, (rows(rng, 4, 8, 8, 3), labels(4, 4)), {"state": wide(rest)}


@model
def equinox_mlp(rng):
    net = wide(eqx.nn.MLP(5, 3, 16, 2, key=KEYS[0]))
    return lambda m, x, y: ((jax.vmap(m)(x) - y) ** 2).mean(), net, (rows(rng, 6, 5), rows(rng, 6, 3)), {}


@model
def equinox_attention_and_convolution(rng):
    net = wide((eqx.nn.MultiheadAttention(2, 8, key=KEYS[0]), eqx.nn.Conv2d(3, 4, 3, key=KEYS[1]), eqx.nn.AvgPool2d(2, 2)))

    def loss(m, x, z):
        mask = jnp.tril(jnp.ones((5, 5), bool))
        return (m[0](x, x, x, mask=mask) ** 2).mean() + (m[2](jax.nn.relu(m[1](z))) ** 2).mean()
    return loss, net, (rows(rng, 5, 8), rows(rng, 3, 8, 8)), {}


@model
def equinox_batch_norm(rng):
    """With dropout, by vmap and its axis."""
    class Net(eqx.Module):
        first: eqx.nn.Linear
        norm: eqx.nn.BatchNorm
        drop: eqx.nn.Dropout

        def __call__(self, x, state, key):
            x, state = self.norm(self.first(x), state)
            return self.drop(x, key=key), state
    net, state = eqx.nn.make_with_state(
        lambda: Net(eqx.nn.Linear(5, 4, key=KEYS[0]), eqx.nn.BatchNorm(4, "batch", mode="batch"), eqx.nn.Dropout(0.3)))()

    def loss(m, both, x):
        state, key = both
        key, own = jax.random.split(key)
        y, state = jax.vmap(m, axis_name="batch", in_axes=(0, None, 0), out_axes=(0, None))(x, state, jax.random.split(own, len(x)))
        return (y ** 2).mean() + y.mean(), (state, key)
    return loss, wide(net), (rows(rng, 6, 5),), {"state": (wide(state), KEYS[2])}


@model
def gaussian_process(rng):
    """Its likelihood by a Cholesky factor, and the logarithm of a determinant beside it."""
    def loss(p, x, y):
        kernel = jnp.exp(p["scale"] - ((x[:, None] - x[None]) ** 2).sum(-1) * jnp.exp(p["width"])) + jnp.exp(p["noise"]) * jnp.eye(len(x), dtype=F)
        factor = jax.scipy.linalg.cho_factor(kernel, lower=True)
        return y @ jax.scipy.linalg.cho_solve(factor, y) + jnp.log(jnp.diag(factor[0])).sum() + jnp.linalg.slogdet(kernel)[1]
    return loss, {n: np.asarray(v, F) for n, v in (("scale", 0.1), ("width", -0.5), ("noise", -1.0))}, (rows(rng, 8, 2), rows(rng, 8)), {}


@model
def counts(rng):
    """Negative binomial regression."""
    def loss(p, x, y):
        mean, size = jnp.exp(x @ p["w"]), jnp.exp(p["size"])
        gammaln = jax.scipy.special.gammaln
        return -(gammaln(y + size) - gammaln(size) - gammaln(y + 1) + size * jnp.log(size / (size + mean)) + y * jnp.log(mean / (size + mean))).mean()
    return loss, {"w": rows(rng, 3) * F(0.3), "size": np.asarray(0.2, F)}, (rows(rng, 9, 3), rng.integers(0, 6, 9).astype(F)), {}


@model
def convolutions(rng):
    """Transposed, grouped and dilated ones, of one and three dimensions, and overlapping pools."""
    two = linen.Sequential([linen.ConvTranspose(6, (3, 3), (2, 2), param_dtype=F), linen.leaky_relu,
                            linen.Conv(4, (3, 3), feature_group_count=2, kernel_dilation=(2, 2), param_dtype=F), linen.elu,
                            lambda x: linen.max_pool(x, (3, 3), (2, 2), "SAME")])
    one, three = linen.Conv(6, (3,), param_dtype=F), linen.Conv(4, (2, 2, 2), padding="SAME", param_dtype=F)
    x, y, z = rows(rng, 2, 9, 4), rows(rng, 2, 5, 5, 4), rows(rng, 2, 4, 4, 4, 3)
    params = [net.init(KEYS[0], a) for net, a in ((one, x), (two, y), (three, z))]
    return (lambda p, x, y, z: sum((net.apply(q, a) ** 2).mean() for net, q, a in ((one, p[0], x), (two, p[1], y), (three, p[2], z)))), \
        params, (x, y, z), {}


@model
def activations(rng):
    names = """relu relu6 silu gelu elu selu celu softplus log_sigmoid softmax log_softmax sigmoid hard_tanh hard_sigmoid leaky_relu
        soft_sign mish squareplus standardize glu sparse_plus sparse_sigmoid logsumexp hard_swish tanh""".split()
    functions = [getattr(jax.nn, n) for n in names]
    return (lambda w, x: sum((f(x @ w) ** 2).mean() for f in functions)), rows(rng, 6, 6), (rows(rng, 5, 6),), {}


@model
def experts(rng):
    """Rows that go to the two best of four experts."""
    w = {"gate": rows(rng, 8, 4), "experts": rows(rng, 4, 8, 8)}

    def loss(w, x):
        best, which = jax.lax.top_k(x @ w["gate"], 2)
        y = jnp.einsum("nd,nkde->nke", x, w["experts"][which])
        return ((y * jax.nn.softmax(best)[..., None]).sum(1) ** 2).mean()
    return loss, w, (rows(rng, 6, 8),), {}


def replayed(step, batch):
    """Whether three recorded steps are replayed with every bit."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.reprise")
        with rj.record(path):
            for _ in range(3):
                step(*batch)
        done = subprocess.run([COMMAND, "replay", path], capture_output=True, text=True)
        return done.returncode == 0 and "identical" in done.stdout


def main():
    named = [a for a in sys.argv[1:] if not a.startswith("--")]
    bound, good = (1e-5 if SINGLE else 1e-6), 0
    for name in named or MODELS:
        loss, params, batch, more = MODELS[name](np.random.default_rng(1))
        step = rj.compile(loss, params, batch, optax.adam(1e-3), tolerance=1, **more)
        same, difference = replayed(step, batch), step.check["difference"]
        good += same and difference <= bound
        print(f"{name:34} difference {difference:.1e}  instructions {len(step.program.instructions):5}  "
              f"{'replayed' if same else 'NOT REPLAYED'}", flush=True)
    print(f"jax {jax.__version__}: {good} of {len(named or MODELS)} models within {bound:g}, replayed")
    return 0 if good == len(named or MODELS) else 1


if __name__ == "__main__":
    sys.exit(main())
