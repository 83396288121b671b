# SPDX-License-Identifier: Apache-2.0
"""Models of the common families for reprise.nn, whose weights `reprise.weights.load(model, file, "gpt2")` reads: GPT-2, Llama,
BERT, ViT as Hugging Face transformers have them and ResNet as torchvision has it. Each is a function of the model and a
batch; sizes have the names and defaults of their configurations. Dropout, which only training has, is not in them."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from . import _core, functions, nn, ops

Tensor = _core.Tensor
Model = Any  # nn.Model, whose layers are called by name


def norm(m: Model, name: str, x: Tensor, eps: float) -> Tensor:
    """Layer norm over the last axis with an eps of its own."""
    d = x.shape[-1]
    weight, bias = m.parameter(f"{name}.weight", (d,), nn.constant(1)), m.parameter(f"{name}.bias", (d,), nn.constant(0))
    return ops.layer_norm(x, weight, bias, eps=eps)


def heads(x: Tensor, count: int) -> Tensor:
    """[n, t, d] -> [n, count, t, d / count]"""
    n, t, d = x.shape
    return ops.transpose(ops.reshape(x, shape=[n, t, count, d // count]), permutation=[0, 2, 1, 3])


def attended(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
    """[n, h, t, d] each -> [n, t, h d]"""
    n, h, t, d = q.shape
    y = ops.attention(q, k, v, scale=1 / math.sqrt(d), causal=causal, window=0, rate=0.0, stream=0)
    return ops.reshape(ops.transpose(y, permutation=[0, 2, 1, 3]), shape=[n, t, h * d])


def part(x: Tensor, begin: int, length: int) -> Tensor:
    """Along the last axis."""
    low, high = [0] * len(x.shape), list(x.shape)
    low[-1], high[-1] = begin, begin + length
    return ops.slice(x, begin=low, end=high)


def positions(m: Model, name: str, count: int, most: int, width: int) -> Tensor:
    """The first rows of a table of places, [count, width]."""
    if count > most:
        raise ValueError(f"{count} tokens, {name} has places for {most}")
    return ops.slice(m.parameter(name, (most, width), nn.normal(0, 0.02)), begin=[0, 0], end=[count, width])


def gpt2(m: Model, tokens: Tensor, *, n_layer: int = 12, n_head: int = 12, n_embd: int = 768, vocab_size: int = 50257,
         n_positions: int = 1024, layer_norm_epsilon: float = 1e-5) -> Tensor:
    """tokens [n, t], integers -> logits [n, t, vocab_size]; the table of tokens is the last layer too."""
    table = m.parameter("transformer.wte.weight", (vocab_size, n_embd), nn.normal(0, 0.02))
    x = ops.gather(table, tokens, axis=0) + positions(m, "transformer.wpe.weight", tokens.shape[1], n_positions, n_embd)
    for i in range(n_layer):
        with m.scope(f"transformer.h.{i}"):
            h = m.linear("attn.c_attn", norm(m, "ln_1", x, layer_norm_epsilon), 3 * n_embd)
            q, k, v = (heads(part(h, j * n_embd, n_embd), n_head) for j in range(3))
            x = x + m.linear("attn.c_proj", attended(q, k, v, True), n_embd)
            h = functions.gelu_tanh(m.linear("mlp.c_fc", norm(m, "ln_2", x, layer_norm_epsilon), 4 * n_embd))
            x = x + m.linear("mlp.c_proj", h, n_embd)
    return norm(m, "transformer.ln_f", x, layer_norm_epsilon) @ ops.transpose(table, permutation=[1, 0])


def rotations(t: int, d: int, theta: float) -> tuple[Tensor, Tensor]:
    """Cosines and sines of each place and pair, [t, d], the pairs twice."""
    pair = ops.iota(n=d // 2, dtype="f32") * (2.0 / d)
    rate = 1.0 / ops.pow(ops.fill(value=theta, shape=[d // 2], dtype="f32"), pair)
    angle = ops.reshape(ops.iota(n=t, dtype="f32"), shape=[t, 1]) * rate
    angle = ops.concat(angle, angle, axis=1)
    return ops.cos(angle), ops.sin(angle)


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return x * cos + ops.concat(-part(x, half, half), part(x, 0, half), axis=len(x.shape) - 1) * sin


def llama(m: Model, tokens: Tensor, *, num_hidden_layers: int = 32, hidden_size: int = 4096, intermediate_size: int = 11008,
          num_attention_heads: int = 32, num_key_value_heads: int | None = None, vocab_size: int = 32000, rms_norm_eps: float = 1e-6,
          rope_theta: float = 10000.0, tie_word_embeddings: bool = False) -> Tensor:
    """tokens [n, t], integers -> logits [n, t, vocab_size]."""
    kv, d = num_key_value_heads or num_attention_heads, hidden_size // num_attention_heads
    table = m.parameter("model.embed_tokens.weight", (vocab_size, hidden_size), nn.normal(0, 0.02))
    x, (cos, sin) = ops.gather(table, tokens, axis=0), rotations(tokens.shape[1], d, rope_theta)

    def rms(name: str, x: Tensor) -> Tensor:
        return ops.rms_norm(x, m.parameter(f"{name}.weight", (hidden_size,), nn.constant(1)), eps=rms_norm_eps)

    for i in range(num_hidden_layers):
        with m.scope(f"model.layers.{i}"):
            h = rms("input_layernorm", x)
            q = rotated(heads(m.project("self_attn.q_proj", h, hidden_size), num_attention_heads), cos, sin)
            k = rotated(heads(m.project("self_attn.k_proj", h, kv * d), kv), cos, sin)
            v = heads(m.project("self_attn.v_proj", h, kv * d), kv)
            x = x + m.project("self_attn.o_proj", attended(q, k, v, True), hidden_size)
            h = rms("post_attention_layernorm", x)
            h = ops.silu(m.project("mlp.gate_proj", h, intermediate_size)) * m.project("mlp.up_proj", h, intermediate_size)
            x = x + m.project("mlp.down_proj", h, hidden_size)
    x = rms("model.norm", x)
    return x @ ops.transpose(table, permutation=[1, 0]) if tie_word_embeddings else m.project("lm_head", x, vocab_size)


def bert(m: Model, tokens: Tensor, *, num_hidden_layers: int = 12, hidden_size: int = 768, intermediate_size: int = 3072,
         num_attention_heads: int = 12, vocab_size: int = 30522, max_position_embeddings: int = 512, type_vocab_size: int = 2,
         layer_norm_eps: float = 1e-12) -> Tensor:
    """tokens [n, t], integers, all of them there and of the first type -> the last hidden state [n, t, hidden_size]."""
    d = hidden_size
    with m.scope("bert.embeddings"):
        x = ops.gather(m.parameter("word_embeddings.weight", (vocab_size, d), nn.normal(0, 0.02)), tokens, axis=0)
        kinds = m.parameter("token_type_embeddings.weight", (type_vocab_size, d), nn.normal(0, 0.02))
        x = x + ops.slice(kinds, begin=[0, 0], end=[1, d])
        x = norm(m, "LayerNorm", x + positions(m, "position_embeddings.weight", tokens.shape[1], max_position_embeddings, d),
                 layer_norm_eps)
    for i in range(num_hidden_layers):
        with m.scope(f"bert.encoder.layer.{i}"):
            q, k, v = (heads(m.linear(f"attention.self.{n}", x, d), num_attention_heads) for n in ("query", "key", "value"))
            h = m.linear("attention.output.dense", attended(q, k, v, False), d)
            x = norm(m, "attention.output.LayerNorm", h + x, layer_norm_eps)
            h = m.linear("output.dense", ops.gelu(m.linear("intermediate.dense", x, intermediate_size)), d)
            x = norm(m, "output.LayerNorm", h + x, layer_norm_eps)
    return x


def vit(m: Model, images: Tensor, *, num_hidden_layers: int = 12, hidden_size: int = 768, intermediate_size: int = 3072,
        num_attention_heads: int = 12, patch_size: int = 16, num_labels: int = 1000, layer_norm_eps: float = 1e-12) -> Tensor:
    """images [n, h, w, channels] -> logits [n, num_labels]."""
    n, d = images.shape[0], hidden_size
    with m.scope("vit.embeddings"):
        x = m.conv2d("projection", images, d, (patch_size, patch_size), (patch_size, patch_size), valid=True)
        count = x.shape[1] * x.shape[2]
        first = ops.broadcast_to(m.parameter("cls_token", (1, 1, d), nn.constant(0)), shape=[n, 1, d])
        x = ops.concat(first, ops.reshape(x, shape=[n, count, d]), axis=1)
        x = x + m.parameter("position_embeddings", (1, count + 1, d), nn.normal(0, 0.02))
    for i in range(num_hidden_layers):
        with m.scope(f"vit.layers.{i}"):
            h = norm(m, "layernorm_before", x, layer_norm_eps)
            q, k, v = (heads(m.linear(name, h, d), num_attention_heads) for name in ("query", "key", "value"))
            x = x + m.linear("out", attended(q, k, v, False), d)
            h = m.linear("up", norm(m, "layernorm_after", x, layer_norm_eps), intermediate_size)
            x = x + m.linear("down", ops.gelu(h), d)
    x = ops.reshape(ops.slice(x, begin=[0, 0, 0], end=[n, 1, d]), shape=[n, d])
    found: Tensor = m.linear("classifier", norm(m, "vit.layernorm", x, layer_norm_eps), num_labels)
    return found


def resnet(m: Model, images: Tensor, *, layers: Sequence[int] = (3, 4, 6, 3), bottleneck: bool = True, num_classes: int = 1000,
           width: int = 64) -> Tensor:
    """images [n, h, w, channels] -> logits [n, num_classes]: ResNet-50 unless said otherwise; (2, 2, 2, 2) without
    bottlenecks is ResNet-18."""
    def conv(name: str, x: Tensor, filters: int, kernel: int, stride: int) -> Tensor:
        pad = kernel // 2
        y: Tensor = m.conv2d(name, x, filters, (kernel, kernel), (stride, stride), pad, bias=False)
        return y

    def block(x: Tensor, k: int, stride: int) -> Tensor:
        out = 4 * k if bottleneck else k
        steps = ((1, 1), (3, stride), (1, 1)) if bottleneck else ((3, stride), (3, 1))
        y = x
        for i, (kernel, step) in enumerate(steps, 1):
            y = m.batch_norm(f"bn{i}", conv(f"conv{i}", y, out if i == len(steps) else k, kernel, step))
            y = y if i == len(steps) else ops.relu(y)
        if stride != 1 or x.shape[-1] != out:
            x = m.batch_norm("downsample.1", conv("downsample.0", x, out, 1, stride))
        return ops.relu(y + x)

    x = ops.relu(m.batch_norm("bn1", conv("conv1", images, width, 7, 2)))
    x = ops.max_pool(x, window=[3, 3], stride=[2, 2], padding=[1, 1, 1, 1], dilation=[1, 1])
    for stage, count in enumerate(layers):
        for i in range(count):
            with m.scope(f"layer{stage + 1}.{i}"):
                x = block(x, width << stage, 2 if stage and not i else 1)
    x = ops.reshape(ops.mean(x, axes=[1, 2]), shape=[x.shape[0], x.shape[3]])
    found: Tensor = m.linear("fc", x, num_classes)
    return found
