# SPDX-License-Identifier: Apache-2.0
"""A training step through the JAX door beside the same program stepped by C (bench/doors/program.c) and beside a jax.jit of loss,
gradients and optax's update, turn by turn, in the processor's time of all threads: what else runs counts for little.

    jax_speed.py [--seconds S a model] [--program PATH of build/release/bench/door_program] [--only NAME ..]

A turn of each makes a step that is not counted, which brings its states into the caches, and then some that are; all are given
the same batch, and door and C must have the same loss, bit for bit, after each turn. Shown are the least of turns and the median
of the ratios of neighbours. jax is given one thread to compute with."""
from __future__ import annotations

import argparse
import os
import statistics
import sys
import time

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402
from flax import linen  # noqa: E402

import reprise.jax as rj  # noqa: E402

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from by_c import PROGRAM, ByC  # noqa: E402

RNG = np.random.default_rng(0)


class CNN(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = linen.relu(linen.Conv(16, (3, 3))(x))
        x = linen.max_pool(linen.relu(linen.Conv(32, (3, 3), strides=2)(x)), (2, 2), (2, 2))
        return linen.Dense(10)(x.reshape(x.shape[0], -1))


class GPT(linen.Module):
    tokens: int = 65
    width: int = 128

    @linen.compact
    def __call__(self, i):
        x = linen.Embed(self.tokens, self.width)(i) + self.param("place", linen.initializers.normal(0.02), (i.shape[1], self.width))
        mask = linen.make_causal_mask(i)
        for _ in range(2):
            x = x + linen.MultiHeadDotProductAttention(4)(linen.LayerNorm()(x), mask=mask)
            x = x + linen.Dense(self.width)(linen.gelu(linen.Dense(4 * self.width)(linen.LayerNorm()(x))))
        return linen.Dense(self.tokens)(linen.LayerNorm()(x))


class Recurrent(linen.Module):
    @linen.compact
    def __call__(self, x):
        return linen.Dense(3)(linen.RNN(linen.OptimizedLSTMCell(64))(x)[:, -1])


def rows(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def labels(classes, *shape):
    return RNG.integers(0, classes, shape).astype(np.int32)


def models():
    dense = linen.Dense
    yield "mlp", linen.Sequential([dense(64), linen.relu, dense(64), linen.gelu, dense(5)]), (rows(8, 20), labels(5, 8))
    yield "mlp 32", linen.Sequential([dense(64), linen.relu, dense(64), linen.gelu, dense(5)]), (rows(32, 20), labels(5, 32))
    yield "wide mlp", linen.Sequential([dense(512), linen.relu, dense(512), linen.relu, dense(10)]), (rows(128, 256), labels(10, 128))
    yield "cnn", CNN(), (rows(16, 16, 16, 3), labels(10, 16))
    yield "lstm", Recurrent(), (rows(16, 20, 16), labels(3, 16))
    yield "gpt", GPT(), (labels(65, 8, 64), labels(65, 8, 64))


def turn(call, n):
    value = call()
    start = time.process_time()
    for _ in range(n):
        value = call()
    return (time.process_time() - start) / n, float(value)


class Jitted:
    """The same step by jax: parameters and optimizer's state are given back to it, their memory with them."""

    def __init__(self, loss, params, optimizer, batch):
        def step(params, opt, *batch):
            value, grads = jax.value_and_grad(loss)(params, *batch)
            moves, opt = optimizer.update(grads, opt, params)
            return optax.apply_updates(params, moves), opt, value
        self.batch, self.params, self.opt = batch, jax.tree.map(jnp.array, params), optimizer.init(params)
        self.step = jax.jit(step, donate_argnums=(0, 1))

    def __call__(self):
        self.params, self.opt, value = self.step(self.params, self.opt, *self.batch)
        return value.block_until_ready()


def measured(net, batch, seconds, binary):
    """Of the door with arrays of numpy and of jax, of C and of jax.jit the seconds a step, turn by turn."""
    params = net.init(jax.random.key(0), batch[0])

    def loss(p, x, y):
        return optax.softmax_cross_entropy_with_integer_labels(net.apply(p, x), y).mean()
    optimizer = optax.adamw(1e-3)
    jitted = Jitted(loss, params, optimizer, batch)
    step = rj.compile(loss, params, batch, optimizer, threads=1)
    made, own = step._last, tuple(jnp.asarray(x) for x in batch)
    values = {n: np.asarray(v) for n, v in step._values.items()} | made.data
    values.update((n, x) for (n, _), x in zip(made.parts.batch, batch))
    c = ByC(binary, made.program, values)
    step(*batch)
    once = turn(lambda: step(*batch), 1)[0]
    c.turn(1)
    n = max(1, int(5e-3 / once))
    turns = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(turns) < 5:
        found = []
        for given in (batch, own):
            (by_door, a), (by_c, b) = turn(lambda: step(*given), n), c.turn(n)
            if a != b:
                raise SystemExit(f"the door's loss is {a!r}, C's {b!r}")
            found += [by_door, by_c]
        turns.append((*found, turn(jitted, max(1, n // 4))[0]))
    c.end()
    return turns


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seconds", type=float, default=8.0)
    p.add_argument("--program", default=PROGRAM)
    p.add_argument("--only", nargs="*")
    options = p.parse_args()
    print(f"jax {jax.__version__}; the processor's microseconds a step, the least of turns; ratios: median of turns")
    print("| model | through the door | its program from C | jax.jit | door / C | with arrays of jax | door / jax.jit |\n"
          "|---|---|---|---|---|---|---|")
    for name, net, batch in models():
        if options.only and name not in options.only:
            continue
        turns = measured(net, batch, options.seconds, options.program)
        d, c, j = (min(t[k] for t in turns) * 1e6 for k in (0, 1, 4))
        by_c, arrays, by_jit = (statistics.median(t[a] / t[b] for t in turns) for a, b in ((0, 1), (2, 3), (0, 4)))
        print(f"| {name} | {d:.1f} | {c:.1f} | {j:.1f} | {by_c:.3f} | {arrays:.3f} | {by_jit:.3f} |", flush=True)


if __name__ == "__main__":
    main()
