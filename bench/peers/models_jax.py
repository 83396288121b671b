#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The networks of bench/models in JAX: a training step (loss, gradients, AdamW) as one jax.jit whose states are donated,
for models_torch.py --jax. Weights lie in the file as JAX likes them: outputs and channels last."""
import json
import os
import sys

THREADS = int(sys.argv[3])
if THREADS == 1:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})

import jax
import jax.numpy as jnp
import numpy as np

import models_torch


def read(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    types = {"F32": np.float32, "I64": np.int64}
    return {name: np.frombuffer(data[slice(*t["data_offsets"])], types[t["dtype"]]).reshape(t["shape"])
            for name, t in header.items() if name != "__metadata__"}


def linear(p, name, x):
    return x @ p[name + ".weight"] + p[name + ".bias"]


def layer_norm(p, name, x):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * p[name + ".weight"] + p[name + ".bias"]


def cross_entropy(logits, labels):
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
    return -picked.mean()


def mlp(p, d):
    x = jax.nn.relu(linear(p, "l1", jax.nn.relu(linear(p, "l0", d["x"]))))
    return cross_entropy(linear(p, "l2", x), d["labels"])


def dlrm(p, d):
    x = jax.nn.relu(linear(p, "bottom1", jax.nn.relu(linear(p, "bottom0", d["x"]))))
    features = jnp.stack([x] + [p["table%d" % i][d["index%d" % i]] for i in range(8)], 1)
    x = jnp.concatenate([jnp.einsum("bik,bjk->bij", features, features).reshape(len(x), -1), x], 1)
    x = linear(p, "top2", jax.nn.relu(linear(p, "top1", jax.nn.relu(linear(p, "top0", x)))))
    return (jnp.maximum(x, 0) - x * d["target"] + jnp.log1p(jnp.exp(-jnp.abs(x)))).mean()


def attention(p, at, x, heads, causal):
    n, tokens, width = x.shape
    q, k, v = (y.reshape(n, tokens, heads, -1) for y in jnp.split(linear(p, at + "qkv", x), 3, -1))
    return linear(p, at + "projection", jax.nn.dot_product_attention(q, k, v, is_causal=causal).reshape(n, tokens, width))


def layers(p, x, heads, first=True, causal=False):
    for i in range(4):
        at = "layer%d." % i
        up = lambda y: linear(p, at + "down", jax.nn.gelu(linear(p, at + "up", y), approximate=False))
        if first:
            x = x + attention(p, at, layer_norm(p, at + "norm1", x), heads, causal)
            x = x + up(layer_norm(p, at + "norm2", x))
        else:
            x = layer_norm(p, at + "norm1", x + attention(p, at, x, heads, causal))
            x = layer_norm(p, at + "norm2", x + up(x))
    return x


def embedded(p, d, tokens):
    return p["words"][d["tokens"].reshape(-1, tokens)] + p["places"]


def gpt(p, d):
    x = layer_norm(p, "norm", layers(p, embedded(p, d, 256), 4, causal=True))
    return cross_entropy(linear(p, "head", x).reshape(-1, 1024), d["labels"])


def bert(p, d):
    x = layers(p, layer_norm(p, "norm", embedded(p, d, 128)), 4, first=False)
    x = layer_norm(p, "norm2", jax.nn.gelu(linear(p, "transform", x), approximate=False))
    return cross_entropy(linear(p, "head", x).reshape(-1, 1024), d["labels"])


def vit(p, d):
    x = conv(p, "patch", d["x"], 8, 0) + p["patch.bias"]
    x = x.reshape(len(x), -1, 192)
    x = jnp.concatenate([jnp.broadcast_to(p["first"], (len(x), 1, 192)), x], 1) + p["places"]
    return cross_entropy(linear(p, "head", layer_norm(p, "norm", layers(p, x, 3)[:, 0])), d["labels"])


def lstm(p, d):
    x = p["words"][d["tokens"]].reshape(64, 32, 256)
    for at in ("layer0.", "layer1."):
        def cell(carried, z):
            h, c = carried
            i, f, g, o = jnp.split(z + linear(p, at + "own", h), 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        zero = jnp.zeros((32, 256), jnp.float32)
        x = jax.lax.scan(cell, (zero, zero), linear(p, at + "in", x))[1]
    return cross_entropy(linear(p, "head", x).reshape(-1, 256), d["labels"])


def conv(p, name, x, stride, pad):
    return jax.lax.conv_general_dilated(x, p[name + ".weight"], (stride, stride), [(pad, pad)] * 2,
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))


def normed(x, axes):
    x = x - x.mean(axes, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(axes, keepdims=True) + 1e-5)


def batch_norm(p, name, x):
    return normed(x, (0, 1, 2)) * p[name + ".weight"] + p[name + ".bias"]


def group_norm(p, name, x):
    n, h, w, c = x.shape
    return normed(x.reshape(n, h, w, 8, c // 8), (1, 2, 4)).reshape(x.shape) * p[name + ".weight"] + p[name + ".bias"]


def pool(x, taps, stride, pad):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, taps, taps, 1), (1, stride, stride, 1), ((0, 0), (pad, pad), (pad, pad), (0, 0)))


def resnet(p, d):
    x = pool(jax.nn.relu(batch_norm(p, "norm", conv(p, "stem", d["x"], 2, 3))), 3, 2, 1)
    for i in range(8):
        at, stride = "block%d." % i, 2 if i % 2 == 0 and i else 1
        y = jax.nn.relu(batch_norm(p, at + "norm1", conv(p, at + "conv1", x, stride, 1)))
        y = batch_norm(p, at + "norm2", conv(p, at + "conv2", y, 1, 1))
        x = jax.nn.relu(y + (batch_norm(p, at + "norm3", conv(p, at + "beside", x, stride, 0)) if stride == 2 else x))
    return cross_entropy(linear(p, "head", x.mean((1, 2))), d["labels"])


def unet(p, d):
    def pair(at, x):
        x = jax.nn.silu(group_norm(p, at + ".norm1", conv(p, at + ".conv1", x, 1, 1)))
        return jax.nn.silu(group_norm(p, at + ".norm2", conv(p, at + ".conv2", x, 1, 1)))

    def doubled(x):
        return jnp.repeat(jnp.repeat(x, 2, 1), 2, 2)

    a = pair("down0", d["x"])
    b = pair("down1", pool(a, 2, 2, 0))
    x = pair("down2", pool(b, 2, 2, 0))
    x = pair("up1", jnp.concatenate([doubled(x), b], 3))
    x = pair("up0", jnp.concatenate([doubled(x), a], 3))
    return ((conv(p, "head", x, 1, 0) - d["target"]) ** 2).mean()


def adamw(p, m, v, g, c1, c2):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return p * (1 - 1e-3 * 0.01) - 1e-3 * (m / c1) / (jnp.sqrt(v / c2) + 1e-8), m, v


def main(name, path):
    tensors = read(path)
    data = {n[5:]: jnp.asarray(x.astype(np.int32) if x.dtype == np.int64 else x) for n, x in tensors.items() if n.startswith("data.")}
    p = {n: jnp.array(x) for n, x in tensors.items() if not n.startswith(("data.", "m.", "v."))}
    loss_of = globals()[name]

    def step(states, c1, c2):
        loss, g = jax.value_and_grad(lambda q: loss_of(q, data))(states[0])
        made = {n: adamw(states[0][n], states[1][n], states[2][n], g[n], c1, c2) for n in g}
        return loss, tuple({n: made[n][i] for n in made} for i in range(3))

    step = jax.jit(step, donate_argnums=0)
    held = [(p, jax.tree.map(jnp.zeros_like, p), jax.tree.map(jnp.zeros_like, p)), 0]

    def once():
        held[1] += 1
        loss, held[0] = step(held[0], np.float32(1 - 0.9 ** held[1]), np.float32(1 - 0.999 ** held[1]))
        return loss

    models_torch.answer_lines({"jax": once})


if __name__ == "__main__":
    main(sys.argv[2], sys.argv[4])
