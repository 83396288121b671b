# SPDX-License-Identifier: Apache-2.0
"""Writes python/tests/fixtures/jax/*.json.gz: captured losses and optimizers, the digest of their program, and what jax computes.

    python python/tests/jax_fixtures.py        (with jax, flax and optax)

They are what test_jax.py checks where no jax is installed."""
from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
import optax
import reprise.jax as rj
from flax import linen as nn
from reprise.jax.graph import to_json
from reprise.jax.trees import host, tree

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "jax")
STEPS = 3


def entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def mlp(rng):
    model = nn.Sequential([nn.Dense(8), nn.relu, nn.Dense(3)])
    x, y = rng.standard_normal((6, 5)).astype(np.float32), (np.arange(6) % 3).astype(np.int32)
    params = model.init(jax.random.key(0), x)
    chain = optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(optax.cosine_decay_schedule(1e-2, 10)))
    return lambda p, x, y: entropy(model.apply(p, x), y), params, (x, y), chain, {}


def cnn(rng):
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.relu(nn.BatchNorm(use_running_average=False)(nn.Conv(4, (3, 3))(x)))
            x = nn.Conv(4, (3, 3), strides=2)(nn.avg_pool(x, (2, 2), (2, 2)))
            return nn.Dense(3)(nn.max_pool(x, (2, 2), (2, 2)).reshape(x.shape[0], -1))
    model = Net()
    x, y = rng.standard_normal((2, 8, 8, 2)).astype(np.float32), np.arange(2).astype(np.int32)
    made = model.init(jax.random.key(0), x)

    def loss(p, s, x, y):
        logits, new = model.apply({"params": p, "batch_stats": s}, x, mutable=["batch_stats"])
        return entropy(logits, y), new["batch_stats"]
    return loss, made["params"], (x, y), optax.sgd(0.05, momentum=0.9, nesterov=True), {"state": made["batch_stats"]}


def transformer(rng):
    class Block(nn.Module):
        @nn.compact
        def __call__(self, i):
            x = nn.Embed(11, 8)(i)
            mask = nn.make_causal_mask(jnp.ones(i.shape))
            h = nn.MultiHeadDotProductAttention(2, dropout_rate=0.1, deterministic=False)(nn.LayerNorm()(x), mask=mask)
            return nn.Dense(11)(nn.gelu(nn.Dense(16)(nn.RMSNorm()(x + h))))
    model = Block()
    ids = rng.integers(0, 11, (2, 5)).astype(np.int32)
    params = model.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, ids)

    def loss(p, key, ids):
        key, own = jax.random.split(key)
        return entropy(model.apply(p, ids, rngs={"dropout": own}), ids), key
    return loss, params, (ids,), optax.lion(1e-3), {"state": jax.random.key(5)}


def recurrent(rng):
    w = {"in": rng.standard_normal((3, 4)).astype(np.float32) * 0.5, "own": rng.standard_normal((4, 4)).astype(np.float32) * 0.5}

    def loss(w, x):
        def frame(h, row):
            h = jnp.tanh(row @ w["in"] + h @ w["own"])
            return h, h
        last, every = jax.lax.scan(frame, jnp.zeros((2, 4)), x)
        return (every ** 2).mean() + jax.lax.cond(last.sum() > 0, lambda h: h.max(), lambda h: (h ** 2).sum(), last)
    return loss, w, (rng.standard_normal((6, 2, 3)).astype(np.float32),), optax.rmsprop(1e-2), {}


def derivatives(rng):
    @jax.custom_jvp
    def seven(x):
        return jnp.sin(x)
    seven.defjvp(lambda p, t: (seven(p[0]), 7 * jnp.cos(p[0]) * t[0]))

    @jax.custom_vjp
    def twice(x, y):
        return x * y
    twice.defvjp(lambda x, y: (x * y, (x, y)), lambda r, g: (g * r[1] * 2, g * r[0]))
    w = rng.standard_normal((4, 4)).astype(np.float32)

    def loss(w, x):
        rounded = w + jax.lax.stop_gradient(jnp.round(w) - w)
        ties = jnp.maximum(w, jax.lax.stop_gradient(w)).sum() + jnp.clip(w, jax.lax.stop_gradient(w), 2.0).sum()
        return seven(w @ x).sum() + twice(w, x).sum() + rounded.sum() + jnp.sort(w, -1)[:, 1].prod() + ties
    return loss, w, (rng.standard_normal((4, 4)).astype(np.float32),), optax.adagrad(1e-2), {}


def packed(a):
    a = host(a)
    return [str(a.dtype), list(a.shape), base64.b64encode(a.tobytes()).decode()]


def written(name, made):
    loss, params, batch, optimizer, more = made
    step = rj.compile(loss, params, batch, optimizer, **more)
    parts = step._last.parts
    state, own, opt = more.get("state"), params, optimizer.init(params)
    first = {n: packed(x) for t in (step._params, step._state, step._opt) for n, x in zip(t.names, t.leaves)}
    losses, grads = [], None
    for _ in range(STEPS):
        if state is None:
            value, slopes = jax.value_and_grad(loss)(own, *batch)
        else:
            (value, state), slopes = jax.value_and_grad(loss, has_aux=True)(own, state, *batch)
        grads = grads or {n: packed(x) for n, x in zip(step._params.names, jax.tree.leaves(slopes))}
        moves, opt = optimizer.update(slopes, opt, own)
        own = optax.apply_updates(own, moves)
        losses.append(float(value).hex())
    last = {n: packed(x) for t, v in ((step._params, own), (step._state, state)) if v is not None
            for n, x in zip(t.names, tree("x", v).leaves)}
    return {"name": name, "jax": jax.__version__, "loss": to_json(parts.loss), "update": to_json(parts.update),
            "params": parts.params, "state": parts.state, "batch": parts.batch, "opt": parts.opt,
            "program": hashlib.sha256(step.program.text).hexdigest(), "first": first, "losses": losses, "gradients": grads,
            "last": last, "feeds": {n: packed(x) for n, x in zip(*[(t.names, t.leaves) for t in [step._batch(batch)]][0])}}


def main():
    os.makedirs(FOLDER, exist_ok=True)
    for build in (mlp, cnn, transformer, recurrent, derivatives):
        made = written(build.__name__, build(np.random.default_rng(3)))
        text = json.dumps(made, separators=(",", ":"), sort_keys=True)
        with open(os.path.join(FOLDER, f"{build.__name__}.json.gz"), "wb") as f:
            f.write(gzip.compress(text.encode(), mtime=0))
        print(build.__name__, len(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
