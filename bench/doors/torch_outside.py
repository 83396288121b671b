# SPDX-License-Identifier: Apache-2.0
"""Models of other people through the PyTorch door beside PyTorch: a training step (forward, gradients, AdamW, which is fused on
PyTorch's side) or, with --answer, a forward of one example, turn by turn, one thread each, in the processor's time.

    torch_outside.py [--only NAME ..] [--seconds S a model] [--answer]

torchvision's, timm's and transformers' models with random weights (small configurations of the last), and networks written here as
people write them. Dropout and stochastic depth are off. Prints the median over the turns of our time over PyTorch's, and ends with
1 where losses are apart or a model is slower. Models whose packages are missing are left out, and said."""
from __future__ import annotations

import argparse
import copy
import statistics
import sys
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
TOKENS, CLASSES = 500, 10


def images(package: str, name: str, count: int = 2, size: int = 96, **options: Any) -> Made:
    if package == "timm":
        model = __import__("timm").create_model(name, num_classes=CLASSES, drop_rate=0.0, **options)
    else:
        model = __import__("torchvision").models.get_model(name, weights=None, num_classes=CLASSES, **options)
    return model, F.cross_entropy, (torch.randn(count, 3, size, size), torch.randint(0, CLASSES, (count,)))


class Segments(nn.Module):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.model = __import__("torchvision").models.get_model(name, weights=None, weights_backbone=None, num_classes=5)

    def forward(self, x: Any) -> Any:
        return self.model(x)["out"]


def words(config: str, model: str, **options: Any) -> Made:
    package = __import__("transformers")
    i = torch.randint(3, TOKENS, (4, 64))
    return getattr(package, model)(getattr(package, config)(vocab_size=TOKENS, **options)), None, {"input_ids": i, "labels": i}


def rows(y: Any, t: Any) -> Any:
    return F.cross_entropy(y.flatten(0, 1), t.flatten())


class Recurrent(nn.Module):
    def __init__(self, kind: str, width: int = 64, hidden: int = 128, layers: int = 2, both: bool = False) -> None:
        super().__init__()
        self.words = nn.Embedding(100, width)
        self.cells = getattr(nn, kind)(width, hidden, layers, batch_first=True, bidirectional=both)
        self.last = nn.Linear(hidden * (1 + both), 100)

    def forward(self, x: Any) -> Any:
        return self.last(self.cells(self.words(x))[0])


class Waves(nn.Module):
    """Gated causal convolutions of growing dilation."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv1d(1, 32, 1), nn.Conv1d(32, 64, 1)
        self.filters, self.gates = (nn.ModuleList(nn.Conv1d(32, 32, 2, dilation=2 ** i) for i in range(8)) for _ in range(2))
        self.joins = nn.ModuleList(nn.Conv1d(32, 32, 1) for _ in range(8))

    def forward(self, x: Any) -> Any:
        x = self.first(x)
        for i, (f, g, join) in enumerate(zip(self.filters, self.gates, self.joins)):
            padded = F.pad(x, (2 ** i, 0))
            x = x + join(torch.tanh(f(padded)) * torch.sigmoid(g(padded)))
        return self.last(x)


class Messages(nn.Module):
    """A graph's nodes add what their neighbours say."""

    def __init__(self, nodes: int = 2000, edges: int = 10000) -> None:
        super().__init__()
        g = torch.Generator().manual_seed(0)
        self.register_buffer("a", torch.randint(0, nodes, (edges,), generator=g))
        self.register_buffer("b", torch.randint(0, nodes, (edges,), generator=g))
        self.layers, self.last = nn.ModuleList([nn.Linear(64, 64), nn.Linear(64, 64)]), nn.Linear(64, 7)

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = F.relu(layer(torch.zeros_like(x).index_add(0, self.b, x[self.a]) + x))
        return self.last(x)


class Sentences(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.last = nn.Embedding(200, 128), nn.Linear(128, 200)
        self.both = nn.Transformer(128, 4, 2, 2, 256, dropout=0.0, batch_first=True)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(32))

    def forward(self, a: Any, b: Any) -> Any:
        return self.last(self.both(self.words(a), self.words(b), tgt_mask=self.mask, tgt_is_causal=True))


def volumes() -> nn.Module:
    return nn.Sequential(nn.Conv3d(1, 16, 3, padding=1), nn.BatchNorm3d(16), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(16, 32, 3, padding=1),
                         nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(32, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(),
                         nn.Linear(64, 4))


def pictures() -> nn.Module:
    layers: list[nn.Module] = []
    for a, b, stride, pad in ((64, 128, 1, 0), (128, 64, 2, 1), (64, 32, 2, 1)):
        layers += [nn.ConvTranspose2d(a, b, 4, stride, pad, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh())


def sequences(kind: str, batch: int = 32, **options: Any) -> Made:
    return Recurrent(kind, **options), rows, (torch.randint(0, 100, (batch, 64)), torch.randint(0, 100, (batch, 64)))


SMALL = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256}
STILL = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
VISION = {"resnet50": {}, "wide_resnet50_2": {"size": 64}, "resnext50_32x4d": {}, "vgg11": {"size": 64}, "alexnet": {"count": 8},
          "densenet121": {"size": 64}, "squeezenet1_1": {}, "shufflenet_v2_x1_0": {}, "regnet_y_400mf": {}, "mnasnet1_0": {},
          "mobilenet_v2": {}, "mobilenet_v3_small": {}, "efficientnet_b0": {}, "efficientnet_v2_s": {"size": 64},
          "convnext_tiny": {"size": 64}, "swin_t": {"size": 64},
          "maxvit_t": {"count": 1, "size": 224}, "googlenet": {"aux_logits": False, "init_weights": False},
          "inception_v3": {"size": 128, "aux_logits": False, "init_weights": False}}
TIMM = {"deit_tiny_patch16_224": 224, "mixer_s32_224": 224, "resmlp_12_224": 224, "gmlp_ti16_224": 224, "xcit_nano_12_p16_224": 224,
        "cait_xxs24_224": 224, "levit_128s": 224, "mobilevit_xxs": 128, "edgenext_xx_small": 128, "poolformer_s12": 128,
        "convmixer_768_32": 64,
        "ghostnet_100": 96, "repvgg_a0": 96, "nfnet_l0": 96, "dpn68": 96, "res2net50_26w_4s": 96, "hrnet_w18_small": 96,
        "selecsls42": 96, "skresnet18": 96,
        "dla34": 96, "resnetblur50": 96, "fastvit_t8": 128, "swinv2_tiny_window8_256": 256}
WORDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gpt2": ("GPT2Config", "GPT2LMHeadModel", {"n_embd": 128, "n_layer": 2, "n_head": 4, "resid_pdrop": 0.0,
                                             "embd_pdrop": 0.0, "attn_pdrop": 0.0}),
    "bert": ("BertConfig", "BertForMaskedLM", {**SMALL, **STILL}),
    "roberta": ("RobertaConfig", "RobertaForMaskedLM", {**SMALL, **STILL}),
    "albert": ("AlbertConfig", "AlbertForMaskedLM", {**SMALL, **STILL, "embedding_size": 64}),
    "deberta": ("DebertaV2Config", "DebertaV2ForMaskedLM", {**SMALL, **STILL, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
    "llama": ("LlamaConfig", "LlamaForCausalLM", {**SMALL, "num_key_value_heads": 2, "max_position_embeddings": 128}),
    "qwen2": ("Qwen2Config", "Qwen2ForCausalLM", {**SMALL, "num_key_value_heads": 2}),
    "gemma": ("GemmaConfig", "GemmaForCausalLM", {**SMALL, "num_key_value_heads": 2, "head_dim": 32, "max_position_embeddings": 128}),
    "phi": ("PhiConfig", "PhiForCausalLM", {**SMALL, "max_position_embeddings": 128, "resid_pdrop": 0.0, "embd_pdrop": 0.0}),
    "mamba": ("MambaConfig", "MambaForCausalLM", {"hidden_size": 64, "num_hidden_layers": 2, "state_size": 8}),
}
MODELS: dict[str, Callable[[], Made]] = {
    **{n: (lambda n=n, o=o: images("torchvision", n, **o)) for n, o in VISION.items()},  # type: ignore[misc]
    **{n: (lambda n=n: (Segments(n), F.cross_entropy, (torch.randn(2, 3, 96, 96), torch.randint(0, 5, (2, 96, 96)))))  # type: ignore[misc]
       for n in ("fcn_resnet50", "deeplabv3_resnet50", "lraspp_mobilenet_v3_large")},
    **{n: (lambda n=n, s=s: images("timm", n, size=s)) for n, s in TIMM.items()},  # type: ignore[misc]
    **{n: (lambda c=c, m=m, o=o: words(c, m, **o)) for n, (c, m, o) in WORDS.items()},  # type: ignore[misc]
    "gru": lambda: sequences("GRU"),
    "lstm, both ways": lambda: sequences("LSTM", both=True),
    "lstm, one sequence": lambda: sequences("LSTM", batch=1),
    "lstm, small": lambda: sequences("LSTM", batch=16, width=32, hidden=32, layers=1),
    "rnn": lambda: sequences("RNN"),
    "waves": lambda: (Waves(), F.cross_entropy, (torch.randn(4, 1, 512), torch.randint(0, 64, (4, 512)))),
    "volumes": lambda: (volumes(), F.cross_entropy, (torch.randn(2, 1, 24, 24, 24), torch.randint(0, 4, (2,)))),
    "pictures": lambda: (pictures(), F.mse_loss, (torch.randn(16, 64, 1, 1), torch.randn(16, 3, 32, 32))),
    "messages": lambda: (Messages(), F.cross_entropy, (torch.randn(2000, 64), torch.randint(0, 7, (2000,)))),
    "sentences": lambda: (Sentences(), rows, tuple(torch.randint(0, 200, (8, 32)) for _ in range(3))),
    "logistic": lambda: (nn.Linear(30, 2), F.cross_entropy, (torch.randn(512, 30), torch.randint(0, 2, (512,)))),
}


def still(module: Any) -> Any:
    for m in module.modules():
        if isinstance(m, nn.Dropout):
            m.p = 0.0
        for name in ("p", "drop_prob"):
            if type(m).__name__ in ("StochasticDepth", "DropPath") and hasattr(m, name):
                setattr(m, name, 0.0)
    return module


def stepped(made: Made) -> tuple[Callable[[], Any], Callable[[], Any]]:
    module, loss, batch = made
    own = copy.deepcopy(still(module))
    optimizer = torch.optim.AdamW(own.parameters(), 1e-3, fused=True)
    step = rt.compile(module, loss, batch, torch.optim.AdamW(module.parameters(), 1e-3), threads=1, check=False)

    def eager() -> Any:
        optimizer.zero_grad(set_to_none=True)
        value = own(**batch).loss if isinstance(batch, dict) else loss(own(*batch[:-1]), batch[-1])
        value.backward()
        optimizer.step()
        return value
    return lambda: step(**batch) if isinstance(batch, dict) else step(*batch), eager


class Logits(nn.Module):
    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, i: Any) -> Any:
        return self.model(input_ids=i).logits


def answered(made: Made) -> tuple[Callable[[], Any], Callable[[], Any]]:
    module, _, batch = made
    if isinstance(batch, dict):
        module, batch = Logits(module), (batch["input_ids"], None)
    module, one = module.eval(), tuple(x[:1] for x in batch[:-1])
    answer = rt.compile_inference(module, one, threads=1)

    def eager() -> Any:
        with torch.inference_mode():
            return module(*one)
    return lambda: answer(*one), eager


def turn(f: Callable[[], Any]) -> float:
    begin, n = time.process_time(), 0
    while n < 1 or time.process_time() - begin < 0.05:
        f()
        n += 1
    return (time.process_time() - begin) / n


def apart(a: Any, b: Any) -> float:
    a, b = (torch.as_tensor(float(v) if not isinstance(v, torch.Tensor) else v.detach()) for v in (a, b))
    return float((a - b).abs().max() / b.abs().max())


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", nargs="*")
    p.add_argument("--seconds", type=float, default=4.0)
    p.add_argument("--answer", action="store_true")
    options = p.parse_args()
    print(f"torch {torch.__version__}, one thread, the processor's time")
    print("| model | ours, ms | PyTorch, ms | ratio | values apart |\n|---|---|---|---|---|")
    ratios, bad = [], []
    for name, make in MODELS.items():
        if options.only and name not in options.only:
            continue
        torch.manual_seed(0)
        try:
            ours, theirs = (answered if options.answer else stepped)(make())
        except ModuleNotFoundError as e:
            print(f"| {name} | not measured: {e} | | | |")
            continue
        distance, turns = apart(ours(), theirs()), []
        end = time.perf_counter() + options.seconds
        while len(turns) < 3 or time.perf_counter() < end:
            turns.append((turn(ours), turn(theirs)))
        ratio = statistics.median(a / b for a, b in turns)
        ratios.append(ratio)
        bad += [name] if ratio > 1 or distance > 1e-3 else []
        least = [min(t[k] for t in turns) * 1e3 for k in range(2)]
        print(f"| {name} | {least[0]:.2f} | {least[1]:.2f} | {ratio:.2f} | {distance:.0e} |", flush=True)
    print(f"{len(ratios)} models, geometric mean {statistics.geometric_mean(ratios):.2f}; slower or apart: {', '.join(bad) or 'none'}")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
