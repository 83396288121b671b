# SPDX-License-Identifier: Apache-2.0
"""Weights under other names: files and shards, maps, what is left over, and the common families beside what PyTorch computes
of the same weights: kept in fixtures/families.json, which `test_weights.py write` makes of transformers and torchvision, and
computed anew where those are installed."""
import hashlib
import importlib.util
import json
import os
import struct
import sys
import tempfile
import unittest

import numpy as np

import reprise as rp
from reprise import families, nn, weights

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "families.json")
BAR = 1e-5  # of the largest output
TEXT = {"num_hidden_layers": 2, "hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 4}
CASES = {  # family: (map, configuration, shape of the input, tokens below, what of the file may be left)
    "gpt2": ("gpt2", {"n_layer": 2, "n_embd": 16, "n_head": 4, "vocab_size": 37, "n_positions": 9}, (2, 7), 37, ()),
    "llama": ("llama", {**TEXT, "num_key_value_heads": 2, "vocab_size": 37}, (2, 7), 37, ()),
    "llama_tied": ("llama", {**TEXT, "vocab_size": 37, "rope_theta": 500.0, "tie_word_embeddings": True}, (2, 7), 37, ("lm_head.*",)),
    "bert": ("bert", {**TEXT, "vocab_size": 37, "max_position_embeddings": 9}, (2, 7), 37, ("pooler.*",)),
    "vit": ("vit", {**TEXT, "patch_size": 4, "num_labels": 5}, (2, 8, 8, 3), 0, ()),
    "resnet": ("resnet", {"layers": [1, 1, 1, 1], "num_classes": 7}, (2, 32, 32, 3), 0, ()),
    "resnet_basic": ("resnet", {"layers": [1, 2, 1, 1], "bottleneck": False, "num_classes": 7}, (2, 32, 32, 3), 0, ()),
}


def drawn(name, shape):
    """The elements of a tensor, a function of its name and shape."""
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little"))
    if name.endswith("running_var"):
        return rng.uniform(0.5, 2, shape).astype(np.float32)
    around = 1 if "norm" in name.lower() or ".bn" in name or name.startswith("bn") or "ln_" in name else 0
    scale = 0.05 if len(shape) == 4 else 0.2
    return (rng.normal(size=shape) * scale + (around if name.endswith("weight") else 0)).astype(np.float32)


def batch(case):
    _, _, shape, tokens, _ = CASES[case]
    rng = np.random.default_rng(5)
    return rng.integers(0, tokens, shape) if tokens else rng.normal(size=shape).astype(np.float32)


def theirs(case):
    """The model of transformers or torchvision, and how it is called."""
    import torch
    family, config, *_ = CASES[case]
    if family == "resnet":
        from torchvision.models import resnet
        block = resnet.Bottleneck if config.get("bottleneck", True) else resnet.BasicBlock
        model = resnet.ResNet(block, config["layers"], num_classes=config["num_classes"])
        return model, lambda m, x: m(torch.tensor(x.transpose(0, 3, 1, 2)))
    import transformers as t
    kind = {"gpt2": (t.GPT2Config, t.GPT2LMHeadModel), "llama": (t.LlamaConfig, t.LlamaForCausalLM), "bert": (t.BertConfig, t.BertModel),
            "vit": (t.ViTConfig, t.ViTForImageClassification)}[family]
    more = {"image_size": 8} if family == "vit" else {} if family == "bert" else {"bos_token_id": 0, "eos_token_id": 0}
    if "rope_theta" in config:
        more["rope_parameters"] = {"rope_type": "default", "rope_theta": config["rope_theta"]}
    model = kind[1](kind[0](**{k: v for k, v in config.items() if k != "rope_theta"}, **more))
    if family == "vit":
        return model, lambda m, x: m(torch.tensor(x.transpose(0, 3, 1, 2))).logits
    return model, lambda m, x: (lambda y: y.last_hidden_state if family == "bert" else y.logits)(m(torch.tensor(x)))


def computed(case):
    """({name in the file: shape}, PyTorch's output in binary64) of weights that are drawn by name."""
    import torch
    model, call = theirs(case)
    model.eval()
    with tempfile.TemporaryDirectory() as folder:
        if hasattr(model, "save_pretrained"):
            model.save_pretrained(folder)
            names = {n: a.shape for n, a in weights.WeightsFile(folder).items()}
        else:
            names = {n: tuple(p.shape) for n, p in model.state_dict().items() if "num_batches" not in n}
        weights.write_safetensors(os.path.join(folder, "model.safetensors"), {n: drawn(n, s) for n, s in names.items()})
        if hasattr(model, "save_pretrained"):
            model = type(model).from_pretrained(folder).eval().double()
        else:
            model.load_state_dict({n: torch.tensor(drawn(n, s)) for n, s in names.items()}, strict=False)
            model = model.double()
    with torch.no_grad():
        x = batch(case)
        return names, call(model, x if x.dtype.kind == "i" else x.astype(np.float64)).numpy()


def ours(case, path):
    family, config, _, _, unused = CASES[case]
    x = batch(case)
    forward = lambda m, b: getattr(families, family)(m, b, **config)
    shapes = []

    def loss(m, b):
        y = forward(m, b)
        shapes.append(y.shape)
        return y.mean()

    m = nn.Model(loss, nn.sgd(0.0), {"batch": len(x)})
    m.array("x", x)
    report = weights.load(m, path, family, unused=unused)
    return report, np.asarray(m.apply(forward, [x], shapes[0]))


class Families(unittest.TestCase):
    def held(self, case, names, wanted):
        with tempfile.TemporaryDirectory() as folder:
            tensors = {n: drawn(n, tuple(s)) for n, s in names.items()}
            shards = [dict(list(tensors.items())[k::3]) for k in range(3)]
            for k, shard in enumerate(shards):
                weights.write_safetensors(os.path.join(folder, f"model-{k}.safetensors"), shard)
            with open(os.path.join(folder, "model.safetensors.index.json"), "w", encoding="utf-8") as f:
                json.dump({"weight_map": {n: f"model-{k}.safetensors" for k, s in enumerate(shards) for n in s}}, f)
            report, found = ours(case, folder)
        self.assertEqual(found.shape, wanted.shape)
        self.assertLessEqual(np.abs(found - wanted).max(), BAR * np.abs(wanted).max(), case)
        self.assertEqual(report.missing, ())
        return np.abs(found - wanted).max() / np.abs(wanted).max()

    def test_the_families_have_the_values_of_pytorch(self):
        with open(FIXTURE, encoding="utf-8") as f:
            fixture = json.load(f)
        self.assertEqual(set(fixture["cases"]), set(CASES))
        for case, kept in fixture["cases"].items():
            with self.subTest(case):
                self.held(case, kept["names"], np.array(kept["output"]).reshape(kept["shape"]))

    @unittest.skipUnless(all(importlib.util.find_spec(n) for n in ("torch", "transformers", "torchvision")), "no transformers")
    def test_the_fixture_is_what_they_compute(self):
        with open(FIXTURE, encoding="utf-8") as f:
            fixture = json.load(f)
        for case, kept in fixture["cases"].items():
            with self.subTest(case):
                names, output = computed(case)
                self.assertEqual({n: list(s) for n, s in names.items()}, kept["names"])
                np.testing.assert_allclose(output.reshape(-1), kept["output"], rtol=1e-6, atol=1e-7)


class Names(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name
        self.path = os.path.join(holder.name, "w.safetensors")

    def model(self):
        m = nn.Model(lambda m, x: m.linear("b", m.linear("a", x, 4), 4).mean(), nn.sgd(0.1), {"batch": 2})
        m.array("x", np.ones((4, 4), np.float32))
        return m

    def file(self, **tensors):
        weights.write_safetensors(self.path, tensors)
        return self.path

    def test_weights_are_renamed_and_turned_by_a_map(self):
        first = np.arange(16, dtype=np.float32).reshape(4, 4)
        path = self.file(**{"x.first": first, "x.second": first + 1, "bias": np.float32([1, 2, 3, 4]), "left": first})
        m = self.model()
        names = {"x.first": ("a.weight", "turned"), "x.second": "b.weight", "bias": "a.bias", "left": None}
        report = weights.load(m, path, names, missing=["b.bias"])
        np.testing.assert_array_equal(np.asarray(m.read("a.weight")), first.T)
        np.testing.assert_array_equal(np.asarray(m.read("b.weight")), first + 1)
        self.assertEqual((report.missing, report.ignored, report.taken["a.bias"]), (("b.bias",), ("left",), "bias"))

    def test_names_without_a_partner_are_listed_and_nothing_is_written(self):
        m, untouched = self.model(), self.model()
        untouched.build()
        zeros = {"a.weight": np.zeros((4, 4), np.float32), "a.bias": np.zeros(4, np.float32), "more": np.zeros(1, np.float32)}
        path = self.file(**zeros)
        words = r"the model's b.weight, b.bias \(allow by missing=\); the file's more \(allow by unused=\)"
        with self.assertRaisesRegex(ValueError, words):
            weights.load(m, path)
        with self.assertRaisesRegex(ValueError, "a.weight of .* is .4, 3., the model's a.weight .4, 4."):
            weights.load(m, self.file(**{"a.weight": np.zeros((4, 3), np.float32)}), missing="*")
        with self.assertRaisesRegex(ValueError, "is float64, which binary32"):
            weights.load(m, self.file(**{"a.weight": np.zeros((4, 4))}), missing="*")
        weights.load(m, self.file(**zeros), missing="b.*", unused="more")
        self.assertEqual(float(np.abs(np.asarray(m.read("a.weight"))).max()), 0)
        np.testing.assert_array_equal(np.asarray(m.read("b.weight")), np.asarray(untouched.read("b.weight")))

    def test_nothing_is_written_where_one_tensor_is_too_wide(self):
        m = self.model()
        m.build()
        before = np.asarray(m.read("a.weight")).copy()
        with self.assertRaisesRegex(ValueError, "b.weight of .* is float64"):
            weights.load(m, self.file(**{"a.weight": np.ones((4, 4), np.float32), "b.weight": np.ones((4, 4))}), missing="*.bias")
        np.testing.assert_array_equal(np.asarray(m.read("a.weight")), before)

    def test_a_twin_that_is_none_is_refused(self):
        table = np.arange(16, dtype=np.float32).reshape(4, 4)
        rules = [weights.Rule("head", None, twin="a.weight"), weights.Rule("(.*)", r"\1")]
        for head, fits in ((table, True), (table + 1, False), (table[:3], False), (table.astype(np.float16), False)):
            path = self.file(**{"a.weight": table, "head": head})
            if fits:
                self.assertEqual(weights.load(self.model(), path, rules, missing="*").ignored, ("head",))
                continue
            with self.assertRaisesRegex(ValueError, "head of .* is no copy of a.weight"):
                weights.load(self.model(), path, rules, missing="*")
        self.assertEqual([r.twin for r in weights.FAMILIES["gpt2"] if r.pattern.startswith("lm_head")], ["transformer.wte.weight"])
        with self.assertRaisesRegex(ValueError, "__metadata__"):
            self.file(__metadata__=table)

    def test_two_names_for_one_and_families_that_are_none(self):
        with self.assertRaisesRegex(ValueError, "both be wte|both be transformer.wte.weight"):
            weights.renamed(["wte.weight", "transformer.wte.weight"], "gpt2")
        with self.assertRaisesRegex(ValueError, "no family"):
            weights.renamed([], "none")

    def test_narrow_floats_are_widened_exactly_and_files_are_views(self):
        self.file(h=np.float16([1.5, -2, 65504]))
        self.assertEqual(weights.WeightsFile(self.path).float32("h").tolist(), [1.5, -2, 65504])
        body = np.array([0x3FC0, 0xC000], np.uint16).tobytes()
        header = json.dumps({"b": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
        with open(self.path, "wb") as f:
            f.write(struct.pack("<Q", len(header)) + header + body)
        file = weights.WeightsFile(self.path)
        self.assertEqual(file.float32("b").tolist(), [1.5, -2])
        self.assertFalse(file["b"].flags.owndata or file["b"].flags.writeable)

    def test_indices_that_lie_are_refused(self):
        self.file(a=np.zeros(2, np.float32), b=np.zeros(2, np.float32))
        index = os.path.join(self.folder, "i.index.json")
        for text, words in (({"weight_map": {"a": "../w.safetensors"}}, "outside"),
                            ({"weight_map": {"a": "w.safetensors"}}, "not in the index"),
                            ({"weight_map": {"c": "w.safetensors"}}, "no tensor c"), ({"weights": 1}, "no index"), ([], "no index"),
                            ({"weight_map": {"a": "/etc/passwd"}}, "outside"), ({"weight_map": {"a": ""}}, "outside"),
                            ({"weight_map": {"a": 5}}, "is a text"), ({"weight_map": {"a": ["w"]}}, "is a text"),
                            ({"weight_map": {"a": "w\0"}}, "none of a file"), ({"weight_map": {"a": "\ud800"}}, "none of a file")):
            with open(index, "w", encoding="utf-8") as f:
                json.dump(text, f)
            with self.assertRaisesRegex(rp.ArchiveError, words):
                weights.WeightsFile(index)
        with open(index, "w", encoding="utf-8") as f:
            f.write("[" * 100000)
        with self.assertRaises(rp.ArchiveError):
            weights.WeightsFile(index)


def write():
    import torch
    import torchvision
    import transformers
    cases = {}
    for case in CASES:
        names, output = computed(case)
        cases[case] = {"names": {n: list(s) for n, s in names.items()}, "shape": list(output.shape),
                       "output": [float(f"{v:.9g}") for v in output.reshape(-1)]}
    made = {"of": f"torch {torch.__version__}, transformers {transformers.__version__}, torchvision {torchvision.__version__}",
            "cases": cases}
    with open(FIXTURE, "w", encoding="utf-8") as f:
        f.write(json.dumps(made, separators=(",", ":")).replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["write"]:
        sys.exit(write())
    unittest.main()
