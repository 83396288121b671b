# SPDX-License-Identifier: Apache-2.0
"""Models and losses of other people's packages through the PyTorch door beside PyTorch: five steps of SGD with a momentum in binary64
(the largest relative distance of a loss), then steps of AdamW in binary32 turn by turn, one thread each, in the processor's time.

    torch_packages.py [--only WORD ..] [--seconds S a model]

Needs any of torch_geometric, torchdiffeq, monai, kornia, rtdl_revisiting_models, vector_quantize_pytorch, x_transformers, einops,
segmentation_models_pytorch and sentence_transformers: what is missing is left out, and said. Ends with 1 where a loss is apart or a
model is refused."""
from __future__ import annotations

import argparse
import copy
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F

import reprise.torch as rt

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
Made = tuple[Any, Any, Any]  # module, loss or None, batch
NODES, EDGES = 60, 240


class Of(nn.Module):
    """What `f` makes of parts and inputs."""

    def __init__(self, f: Callable[..., Any], *parts: Any, **buffers: Any) -> None:
        super().__init__()
        self.f, self.parts = f, nn.ModuleList(parts)
        for name, t in buffers.items():
            self.register_buffer(name, t)

    def forward(self, *x: Any) -> Any:
        return self.f(self, *x)


class Spectral(nn.Module):
    def __init__(self, width: int, modes: int) -> None:
        super().__init__()
        self.modes, self.own = modes, nn.ParameterList([nn.Parameter(torch.rand(width, width, modes, modes, dtype=torch.cfloat) / width ** 2)
                                                        for _ in range(2)])

    def forward(self, x: Any) -> Any:
        n, f = self.modes, torch.fft.rfft2(x)
        out = torch.zeros_like(f)
        for rows, w in zip((slice(n), slice(-n, None)), self.own):
            out[:, :, rows, :n] = torch.einsum("bixy,ioxy->boxy", f[:, :, rows, :n], w)
        return torch.fft.irfft2(out, s=x.shape[-2:])


def fno(size: int, width: int, modes: int) -> Made:
    def forward(m: Any, x: Any) -> Any:
        x = m.parts[0](x).movedim(3, 1)
        for s, c in zip(m.parts[2:6], m.parts[6:]):
            x = F.gelu(s(x) + c(x))
        return m.parts[1](x.movedim(1, 3))
    parts = [nn.Linear(3, width), nn.Linear(width, 1), *(Spectral(width, modes) for _ in range(4)), *(nn.Conv2d(width, width, 1) for _ in range(4))]
    return Of(forward, *parts), F.mse_loss, (torch.randn(2, size, size, 3), torch.randn(2, size, size, 1))


def fnet() -> Made:
    def forward(m: Any, x: Any) -> Any:
        x = m.parts[0](x)
        for k in (1, 4):
            x = m.parts[k](x + torch.fft.fft(torch.fft.fft(x, dim=-1), dim=-2).real)
            x = m.parts[k + 1](x + m.parts[k + 2](x))
        return m.parts[7](x.mean(1))
    block = [e for _ in range(2) for e in (nn.LayerNorm(128), nn.LayerNorm(128), nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128)))]
    return Of(forward, nn.Embedding(100, 128), *block, nn.Linear(128, 5)), F.cross_entropy, (torch.randint(100, (8, 64)), torch.randint(5, (8,)))


def speech() -> Made:
    def forward(m: Any, x: Any) -> Any:
        power = torch.stft(x, 400, 160, window=m.window, return_complex=True).abs().pow(2)
        return m.parts[0](torch.log(torch.einsum("bft,fm->bmt", power, m.mel) + 1e-6))
    net = nn.Sequential(nn.Conv1d(40, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(64, 10))
    return Of(forward, net, window=torch.hann_window(400), mel=torch.rand(201, 40)), F.cross_entropy, (torch.randn(4, 16000), torch.randint(10, (4,)))


def graph(a: str, b: str, fixed: bool = True, **options: Any) -> Made:
    """`fixed`: the graph is a buffer, which libraries may look into (loops of nodes, masks of rows)."""
    conv = __import__("torch_geometric.nn", fromlist=["nn"])
    edges, known = torch.randint(NODES, (2, EDGES)), torch.rand(NODES) < 0.5
    x, y = torch.randn(NODES, 16), torch.randint(4, (NODES,))
    made = getattr(conv, a)(16, 16, **options), getattr(conv, b)(16, 4, **options)

    def loss(o: Any, t: Any) -> Any:
        return F.cross_entropy(o[known], t[known])
    if fixed:
        return Of(lambda m, x: m.parts[1](F.relu(m.parts[0](x, m.edges)), m.edges), *made, edges=edges), loss, (x, y)
    return Of(lambda m, x, e: m.parts[1](F.relu(m.parts[0](x, e)), e), *made), loss, (x, edges, y)


def ode(method: str) -> Made:
    package = __import__("torchdiffeq")
    net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    return (Of(lambda m, y: package.odeint(lambda t, y: m.parts[0](y ** 3), y, m.times, method=method), net, times=torch.linspace(0, 1, 8)),
            F.mse_loss, (torch.randn(5, 2), torch.randn(8, 5, 2)))


def monai(name: str, *args: Any, size: int = 32, axes: int = 2, **options: Any) -> Made:
    nets, losses = (__import__(f"monai.{n}", fromlist=["nets"]) for n in ("networks.nets", "losses"))
    shape = [size] * axes
    return getattr(nets, name)(*args, **options), losses.DiceCELoss(softmax=True, to_onehot_y=True), (torch.randn(1, 1, *shape), torch.randint(
        2, (1, 1, *shape)).float())


def tabular(name: str) -> Made:
    package = __import__("rtdl_revisiting_models")
    x, kinds, y = torch.randn(32, 8), torch.randint(4, (32, 3)), torch.randint(2, (32,))
    if name == "MLP":
        return package.MLP(d_in=8, d_out=2, n_blocks=2, d_block=64, dropout=0.0), F.cross_entropy, (x, y)
    options = {**package.FTTransformer.get_default_kwargs(2), "attention_dropout": 0.0, "ffn_dropout": 0.0}
    return package.FTTransformer(n_cont_features=8, cat_cardinalities=[4, 4, 4], d_out=2, **options), F.cross_entropy, (x, kinds, y)


def codes(name: str, **options: Any) -> Made:
    q = getattr(__import__("vector_quantize_pytorch"), name)
    made = q([4, 4, 4], dim=8) if name == "FSQ" else q(dim=8, codebook_size=16, **options)
    return (Of(lambda m, x: F.mse_loss(m.parts[2](m.parts[1](m.parts[0](x))[0]), x), nn.Linear(8, 8), made, nn.Linear(8, 8)), None,
            (torch.randn(2, 16, 8),))


def words() -> Made:
    package = __import__("x_transformers")
    model = package.TransformerWrapper(num_tokens=64, max_seq_len=33, attn_layers=package.Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True))
    return package.AutoregressiveWrapper(model), None, (torch.randint(64, (2, 33)),)


def segments(name: str) -> Made:
    package = __import__("segmentation_models_pytorch")
    return (getattr(package, name)("resnet18", encoder_weights=None, classes=1), package.losses.DiceLoss("binary"),
            (torch.randn(2, 3, 64, 64), torch.randint(2, (2, 1, 64, 64)).float()))


def images(f: Callable[[Any], Any]) -> Made:
    kornia = __import__("kornia")
    return (Of(lambda m, x: f(kornia)(m.parts[0](x)), nn.Conv2d(3, 3, 3, padding=1)), lambda o, t: o.square().mean(),
            (torch.rand(2, 3, 24, 24), torch.zeros(1)))


def sentences(mode: str) -> Made:
    """A small BERT without dropout under sentence-transformers' pooling and normalization."""
    parts, family = __import__("sentence_transformers.models", fromlist=["models"]), __import__("transformers")
    bert = family.BertModel(family.BertConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                                              max_position_embeddings=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))

    def forward(m: Any, ids: Any, mask: Any) -> Any:
        words = m.parts[0](input_ids=ids, attention_mask=mask).last_hidden_state
        return m.parts[2](m.parts[1]({"token_embeddings": words, "attention_mask": mask}))["sentence_embedding"]
    mask = (torch.arange(10) < torch.randint(4, 11, (6, 1))).long()
    return (Of(forward, bert, parts.Pooling(32, pooling_mode=mode), parts.Normalize()), F.mse_loss,
            (torch.randint(1, 64, (6, 10)), mask, torch.randn(6, 32)))


MODELS: dict[str, Callable[[], Made]] = {
    "FNO, 64 x 64, width 32": lambda: fno(64, 32, 12), "FNO, 48 x 48, width 16": lambda: fno(48, 16, 8), "FNet, 2 layers": fnet,
    "stft, mel, CNN": speech,
    "GCN, fixed graph": lambda: graph("GCNConv", "GCNConv"), "GAT, fixed graph": lambda: graph("GATConv", "GATConv"),
    "Cheb, fixed graph": lambda: graph("ChebConv", "ChebConv", K=2), "SAGE": lambda: graph("SAGEConv", "SAGEConv", False),
    "GraphConv": lambda: graph("GraphConv", "GraphConv", False),
    "odeint euler": lambda: ode("euler"), "odeint rk4": lambda: ode("rk4"),
    "monai UNet": lambda: monai("UNet", 2, 1, 2, (8, 16, 32), (2, 2)),
    "monai UNet, 16^3": lambda: monai("UNet", 3, 1, 2, (4, 8, 16), (2, 2), size=16, axes=3, num_res_units=2),
    "monai SwinUNETR": lambda: monai("SwinUNETR", 1, 2, size=64, feature_size=12, spatial_dims=2),
    "rtdl MLP": lambda: tabular("MLP"), "rtdl FT-Transformer": lambda: tabular("FTTransformer"),
    "VectorQuantize": lambda: codes("VectorQuantize", decay=0.8), "FSQ": lambda: codes("FSQ"), "x-transformers decoder": words,
    "smp Unet": lambda: segments("Unet"),
    **{f"sentences, pooling {mode}": (lambda mode=mode: sentences(mode)) for mode in ("mean", "cls", "max")},
    "kornia bilateral": lambda: images(lambda k: lambda x: k.filters.bilateral_blur(x, (3, 3), 0.1, (1.0, 1.0))),
    "kornia rgb_to_lab": lambda: images(lambda k: k.color.rgb_to_lab)}


def wide(t: Any) -> Any:
    return t.double() if t.is_floating_point() else t.to(torch.complex128) if t.is_complex() else t


def value(model: Any, loss: Any, batch: Any) -> Any:
    return model(*batch) if loss is None else loss(model(*batch[:-1]), batch[-1])


def apart(make: Callable[[], Made]) -> float:
    torch.manual_seed(0)
    model, loss, batch = make()
    model._apply(wide)
    batch, eager, found = tuple(map(wide, batch)), copy.deepcopy(model), 0.0
    ours, theirs = (torch.optim.SGD(m.parameters(), 0.01, momentum=0.9) for m in (model, eager))
    step = rt.compile(model, loss, batch, ours)
    for _ in range(5):
        theirs.zero_grad()
        expected = value(eager, loss, batch)
        expected.backward()
        theirs.step()
        found = max(found, abs(float(step(*batch)) - float(expected)) / max(abs(float(expected)), 1e-12))
    return found


def times(make: Callable[[], Made], seconds: float) -> tuple[float, float, float]:
    torch.manual_seed(0)
    model, loss, batch = make()
    eager = copy.deepcopy(model)
    ours, theirs = (torch.optim.AdamW(m.parameters(), 1e-3) for m in (model, eager))
    step = rt.compile(model, loss, batch, ours)

    def peer() -> None:
        theirs.zero_grad()
        value(eager, loss, batch).backward()
        theirs.step()
    a, b, began = list[float](), list[float](), time.time()
    while len(a) < 7 or time.time() - began < seconds:
        for f, of in ((peer, a), (lambda: float(step(*batch)), b)):
            at = time.process_time()
            f()
            of.append(time.process_time() - at)
    return min(b) * 1e6, min(a) * 1e6, statistics.median(y / x for x, y in zip(a[2:], b[2:]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=3)
    given, bad = parser.parse_args(), 0
    for name, make in MODELS.items():
        if given.only and not any(w in name for w in given.only):
            continue
        try:
            distance = apart(make)
            ours, theirs, ratio = times(make, given.seconds)
        except ImportError as e:
            print(f"{name}: left out: {e}")
            continue
        except (rt.Unsupported, rt.GradientMismatch) as e:
            print(f"{name}: {e}")
            bad += 1
            continue
        bad += distance > 1e-6
        print(f"| {name} | {distance:.1e} | {ours:,.0f} | {theirs:,.0f} | {ratio:.2f} |", flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    raise SystemExit(main())
