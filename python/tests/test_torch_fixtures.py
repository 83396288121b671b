# SPDX-License-Identifier: Apache-2.0
"""Captured graphs of PyTorch models, without PyTorch: their programs' bytes, and loss and gradients beside those that PyTorch gave
when bench/doors/torch_versions.py wrote the fixtures."""
import hashlib
import json
import os
import unittest
from pathlib import Path

import numpy as np

import reprise
from reprise.torch import Graph, Lowering, Unsupported
from reprise.torch.capture import Captured
from reprise.torch.graph import Meta, Node, Output, Ref, array_of
from reprise.torch.inference import report_of
from reprise.torch.training import build

FOLDER = Path(__file__).resolve().parent / "fixtures" / "torch"
MODELS = ("mlp", "gpt", "cnn", "lstm")
BOUND = 2e-5  # relative to the largest of a gradient: both compute in binary32


def fixture(name):
    with open(FOLDER / f"{name}.json", encoding="ascii") as f:
        document = json.load(f)
    return document, Captured(Graph.read(json.dumps(document["graph"])))


class Fixtures(unittest.TestCase):
    def test_programs_have_the_bytes_that_they_had(self):
        for name in MODELS:
            document, captured = fixture(name)
            for plain, expected in zip((False, True), document["programs"]):
                with self.subTest(name, plain=plain):
                    self.assertEqual(hashlib.sha256(build(captured, None, plain=plain).program.text).hexdigest(), expected)

    def test_loss_and_gradients_are_pytorchs(self):
        for name in MODELS:
            with self.subTest(name):
                document, captured = fixture(name)
                built = build(captured, None, plain=True)
                run = reprise.Run(threads=1)
                for state, array in document["states"].items():
                    run.add_state(state, array_of(array))
                for data, array in built.data.items():
                    run.add_data(data, array)
                found = run.compile(built.program)(**{n: array_of(a) for n, a in document["feeds"].items()})
                self.assertAlmostEqual(float(found["loss"]), document["loss"], delta=2e-6 * abs(document["loss"]))
                self.assertEqual(sorted(built.trained), sorted(document["gradients"]))
                for state, array in document["gradients"].items():
                    expected, own = array_of(array), np.array(found[f"grad.{state}"])
                    largest = max(float(np.abs(expected).max()), 1e-3)
                    self.assertLess(float(np.abs(own - expected).max()) / largest, BOUND, state)

    def test_the_json_form_comes_back(self):
        for name in MODELS:
            _, captured = fixture(name)
            self.assertEqual(Graph.read(captured.graph.text()).text(), captured.graph.text())

    def test_tied_weights_dropout_and_buffers_are_what_they_were(self):
        gpt = build(fixture("gpt")[1], None).program
        states = [i[1] for i in gpt.inputs if i[0] == "state"]
        self.assertIn("tokens.weight", states)
        self.assertNotIn("head.weight", states)
        streams = [i[1]["stream"] for i in gpt.instructions if i[0] in ("dropout", "attention") and i[1]["rate"] > 0]
        self.assertEqual(len(set(streams)), 7)  # one after the embeddings, three a block
        cnn = build(fixture("cnn")[1], None).program
        self.assertEqual({o[1] for o in cnn.outputs if o[0] == "state"},
                         {f"b{k}.{n}" for k in (1, 2) for n in ("running_mean", "running_var", "num_batches_tracked")})

    def test_nothing_is_transposed_between_layers_of_images(self):
        cnn = build(fixture("cnn")[1], None, plain=True).program
        last = max(k for k, i in enumerate(cnn.instructions) if i[0] == "conv2d")
        images = [i for i in cnn.instructions[:last] if i[0] == "transpose" and i[1]["permutation"][0] == 0]
        self.assertLessEqual(len(images), 1)  # the input


class Refusals(unittest.TestCase):
    def test_an_operation_without_a_rule_is_named_with_line_and_remedy(self):
        _, captured = fixture("mlp")
        captured.graph.nodes.append(Node("odd", "aten.odd.default", [Ref("linear")], {}, Meta("f32", (8, 16)), "model.py:7"))
        Lowering(captured.graph).run()  # nothing needs it
        captured.graph.outputs.append(Output("result", "1", Ref("odd")))
        with self.assertRaisesRegex(Unsupported, "model.py:7: aten.odd.default: no rule"):
            Lowering(captured.graph).run()
        found = report_of(captured.graph)
        self.assertFalse(found)
        self.assertIn("model.py:7", str(found))

    def test_a_rule_whose_value_is_another_type_is_an_error(self):
        _, captured = fixture("mlp")
        captured.graph.nodes[0].meta = Meta("f32", (8, 17))
        with self.assertRaisesRegex(Unsupported, r"expected f32\[8, 17\]"):
            Lowering(captured.graph).run()

    def test_texts_that_are_no_graphs_are_errors(self):
        text = fixture("mlp")[1].graph.text()
        for bad in ("", "[]", "{}", text.replace('"form":1', '"form":2'), text[:-2], text.replace('"nodes":[', '"nodes":[3,'),
                    '{"form":1,"nodes":' + "[" * 100000):
            with self.assertRaises(ValueError):
                Graph.read(bad)


if __name__ == "__main__":
    unittest.main()
