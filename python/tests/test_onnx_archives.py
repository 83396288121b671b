# SPDX-License-Identifier: Apache-2.0
"""Archives as ONNX models: recipes on tables, images and texts, models of layers and of the families, the zoo, the command
line."""
import contextlib
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import unittest

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
if importlib.util.find_spec("onnx") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: onnx is not installed"))
    raise unittest.SkipTest("onnx is not installed")

import onnx
import reprise as rp
from reprise import families, nn, ops
from reprise import onnx as door
from reprise.__main__ import main
from test_onnx_export import Case, answers, ours

COMMAND = os.environ.get("REPRISE_COMMAND") or shutil.which("reprise")


ZOO = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(COMMAND or "/"))), "examples", "zoo_")
ZOO_SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "zoo")
TYPES = {"i32": np.int32, "i64": np.int64, "f32": np.float32}
# Of each model's programs those that give a result, with what in them draws numbers.
PROGRAMS = {"anomaly": {1: "", 2: "", 3: ""}, "bert": {1: "uniform", 2: "uniform"}, "diffusion": {1: "normal", 2: ""}, "dlrm": {1: ""},
            "factorisation": {1: ""}, "gpt": {1: "dropout", 2: "dropout", 3: ""}, "lstm": {1: "dropout", 2: "dropout"},
            "mlp": {1: "dropout"}, "resnet": {1: "", 2: ""}, "unet": {1: ""}, "vae": {1: "normal"}, "vit": {1: "attention"}}

LOANS = """reprise: 1
seed: 1
data: {csv: t.csv, target: y, positive: "1"}
"""


@unittest.skipUnless(COMMAND, "the command is not there")
class Archives(Case):
    def recipe(self, text, files):
        for name, content in files.items():
            with open(os.path.join(self.folder, name), "w") as f:
                f.write(content)
        with open(os.path.join(self.folder, "r.yaml"), "w") as f:
            f.write(text)
        path = os.path.join(self.folder, "r.reprise")
        rp.run(os.path.join(self.folder, "r.yaml"), out=path, force=True)
        return path

    def table(self):
        rng = np.random.default_rng(2)
        rows = [f"{a:.3f},{b:.3f},{'uvw'[k]},{int(a * b + k > 1)}"
                for a, b, k in zip(*rng.normal(size=(2, 80)), rng.integers(0, 3, 80))]
        return {"t.csv": "\n".join(["a,b,c,y", *rows, ""])}

    def held(self, path, **more):
        """The file beside the archive's own program on rows of its own."""
        out = os.path.join(self.folder, "m.onnx")
        report = door.save(path, out, force=True, **more)
        archive = rp.open(path)
        text = archive.read(report.metadata["reprise.member"])
        program, weights = rp.Program.read(text), dict(archive.weights)
        rng, feeds, given = np.random.default_rng(3), {}, {}
        for kind, name, shape, dtype, _ in program.inputs:
            if kind != "state":
                own = {"i32": np.int32, "i64": np.int64, "f32": np.float32, "f64": np.float64}[dtype]
                a = (rng.integers(0, 3, shape) if dtype[0] == "i" else rng.normal(size=shape)).astype(own)
                (feeds if kind == "feed" else weights)[name] = a
                given[name if kind == "feed" else name.split("_", 1)[-1]] = a
        wanted = ours(program, weights, feeds)
        found = answers(out, {n: given[n] for n in report.inputs})
        for name in report.outputs:
            if name in wanted:
                self.near(found[name], wanted[name], name)
        self.assertEqual(report.metadata["reprise.archive"], archive.id)
        self.assertEqual(report.fixed, "")
        return report, found

    def test_exact_models_and_networks_of_a_table(self):
        for model in ("", "model: {hidden: [6]}\ntrain: {epochs: 2}\n"):
            report, _ = self.held(self.recipe(LOANS + model, self.table()))
            self.assertEqual((list(report.inputs), list(report.outputs)), (["x"], ["scores"]))
            self.assertIn("reprise predict", report.metadata["reprise.prepared"])

    def test_images_classes_and_regressions(self):
        rng = np.random.default_rng(4)
        np.save(os.path.join(self.folder, "x.npy"), rng.normal(size=(60, 8, 8, 1)).astype(np.float32))
        np.save(os.path.join(self.folder, "y.npy"), rng.integers(0, 3, 60))
        lines = ("reprise: 1\nseed: 1\ndata: {arrays: x.npy, target: y.npy}\n"
                 "model: {image: [8, 8, 1], dropout: 0.1, hidden: [6], conv: [%s]}\ntrain: {epochs: 1}\n")
        for layers in ("{filters: 4, pool: max}", "{filters: 4, algorithm: winograd}, {filters: 3, kernel: 3, stride: 2}"):
            report, _ = self.held(self.recipe(lines % layers, {}))
            kinds = [n.op_type for n in onnx.load(report.path).graph.node]
            self.assertLessEqual(kinds.count("Transpose"), 2, kinds)
        rows = [f"{a:.3f},{b:.3f},{k}" for a, b, k in zip(rng.normal(size=50), rng.uniform(1, 2, 50), rng.integers(0, 3, 50))]
        table = {"t.csv": "\n".join(["a,b,y", *rows, ""])}
        for data, rest in (("target: y", "train: {task: regression}"),
                           ("target: y, exposure: b", "train: {task: regression, family: poisson}"),
                           ("target: y", "model: {hidden: [4], layer_norm: true, activation: gelu}\n"
                            "train: {epochs: 1, task: classification}"),
                           ("target: y", "train: {task: classification}")):
            self.held(self.recipe(f"reprise: 1\nseed: 1\ndata: {{csv: t.csv, {data}}}\n{rest}\n", table))

    def test_a_text(self):
        path = self.recipe("reprise: 1\nseed: 1\ndata: {text: t.txt, length: 8}\nmodel: {gpt: {layers: 1, width: 8, heads: 2}}\n"
                           "train: {steps: 2, batch: 4, optimizer: {lr: 0.01}}\n",
                           {"t.txt": "to be or not to be that is the question " * 40})
        report, found = self.held(path)
        self.assertEqual((list(report.inputs), list(report.outputs)), (["tokens"], ["logits"]))
        self.assertTrue(np.isfinite(found["logits"]).all())

    def test_models_of_the_families_and_recurrent_layers(self):
        from test_weights import CASES, batch

        def lstm(m, x):
            h, _ = m.lstm("cell", x, 6)
            return m.linear("head", h, 3)

        forwards = {case: (lambda m, x, f=family, c=config: getattr(families, f)(m, x, **c))
                    for case, (family, config, *_) in CASES.items()}
        inputs = {case: batch(case) for case in CASES}
        forwards["lstm"], inputs["lstm"] = lstm, np.random.default_rng(1).normal(size=(2, 5, 4)).astype(np.float32)
        for case, forward in forwards.items():
            with self.subTest(case):
                x, shapes = inputs[case], []

                def loss(m, b):
                    y = forward(m, b)
                    shapes.append(y.shape)
                    return y.mean()

                m = nn.Model(loss, nn.sgd(0.0), {"batch": 2}, seed=1)
                m.array("x", x)
                m.record()
                m.train_step()
                wanted = np.array(m.apply(forward, [x], shapes[0]))
                report = door.save(m, os.path.join(self.folder, "m.onnx"), force=True)
                self.near(answers(report.path, {"in0": x})["output"], wanted)
                self.assertEqual(report.fixed[:11], "instruction" if case == "lstm" else "", report.fixed)
                again = door.load(report.path, shapes={"batch": 2}).compile(threads=1)(in0=x)["output"]
                self.near(again, wanted)
                if not report.fixed:
                    self.near(answers(report.path, {"in0": x[:1]})["output"], wanted[:1])

    @unittest.skipUnless(os.path.isfile(ZOO + "resnet"), "the zoo is not built")
    def test_every_archive_of_the_zoo(self):
        """What has ONNX's operations goes out with the values of its own program; what draws numbers is refused by their name."""
        for name, programs in PROGRAMS.items():
            if not os.path.isfile(ZOO + name):  # a build with sanitizers has some of them
                continue
            path = os.path.join(self.folder, "z.reprise")
            subprocess.run([ZOO + name, path], check=True, capture_output=True)
            for number, draws in programs.items():
                with self.subTest(name, program=number):
                    if draws:
                        with self.assertRaisesRegex(door.Unsupported, f"^{draws}: .*draws numbers"):
                            door.save(path, os.path.join(self.folder, "m.onnx"), program=number, force=True)
                    else:
                        self.shown(path, number)
            os.remove(path)
        self.assertEqual(sorted(PROGRAMS), sorted(f[:-2] for f in os.listdir(ZOO_SOURCES) if f.endswith(".c")))

    def shown(self, path, number):
        out = os.path.join(self.folder, "m.onnx")
        report, archive = door.save(path, out, program=number, force=True), rp.open(path)
        onnx.checker.check_model(out, full_check=True)
        self.assertEqual(report.metadata["reprise.archive"], archive.id)
        kept = {p.key: p.value for p in onnx.load(out).metadata_props}
        self.assertEqual(kept["reprise.archive"], archive.id)
        program = rp.Program.read(archive.read(report.metadata["reprise.member"]))
        rng, values, feeds, given = np.random.default_rng(5), dict(archive.weights), {}, {}
        count = next((shape[0] for _, name, shape, *_ in program.inputs if name == "rows"), 0)
        for kind, name, shape, dtype, _ in program.inputs:
            if kind != "state":
                a = np.asarray(rng.integers(0, 2, shape) if dtype[0] == "i" else rng.uniform(0.1, 0.5, shape), TYPES[dtype])
                (feeds if kind == "feed" else values)[name] = a
                given[name] = a
        if count:
            feeds["rows"] = np.arange(count) * 2
            given.update({n: values[n][feeds["rows"]] for n in report.inputs if n in values})
        wanted, found = ours(program, values, feeds), answers(out, {n: given[n] for n in report.inputs})
        self.assertEqual(sorted(found), sorted(report.outputs))
        for name in report.outputs:
            self.assertTrue(np.isfinite(wanted[name]).all(), name)
            self.near(found[name], wanted[name], name)

    def test_a_program_that_gives_nothing_and_one_that_is_not_there(self):
        path = self.recipe(LOANS, self.table())
        for number, words in ((0, "gives no result"), (99, "no program 99: .* 0, 1"), (-1, "no program -1")):
            with self.assertRaisesRegex((door.Unsupported, IndexError), words):
                door.save(path, os.path.join(self.folder, "m.onnx"), program=number)

    def test_of_an_archive_of_training_alone_the_programs_are_told(self):
        path = os.path.join(self.folder, "t.reprise")
        with rp.record(path) as run:
            run.add_state("w", [1.0, 2.0])
            for results in ((), ("far", "mean")):
                b = rp.Builder()
                w = b.state("w", (2,))
                b.update("w", w * 0.5)
                for name in results:
                    b.result(name, w.sum())
                run.compile(b.finish())()
        out = os.path.join(self.folder, "m.onnx")
        with self.assertRaisesRegex(door.Unsupported, r"evaluation or prediction.*updates: 1 \(far, mean\)$"):
            door.save(path, out)
        self.assertEqual((list(door.save(path, out, program=1).outputs), float(answers(out, {})["far"])), (["far", "mean"], 0.75))

    def test_a_model_of_layers_and_the_command_line(self):
        def logits(m, x):
            return m.linear("last", m.dropout(m.linear("first", x, 16).relu(), 0.1), 2)

        x = np.random.default_rng(1).normal(size=(32, 8)).astype(np.float32)
        m = nn.Model(lambda m, x, k: ops.cross_entropy(logits(m, x), k).mean(), nn.adamw(0.01), {"batch": 16}, seed=3)
        m.array("x", x)
        m.array("k", (x[:, 0] > 0).astype(np.int32))
        m.record()
        m.train_epoch()
        m.evaluate(0, 32)
        wanted = np.array(m.predict(lambda m, x, k: logits(m, x), (2,), 0, 32))
        out, path = os.path.join(self.folder, "m.onnx"), os.path.join(self.folder, "m.reprise")
        report = door.save(m, out)
        self.assertEqual(report.inputs, {"x": ("f32", (None, 8))})  # rows of the data, not their numbers
        self.near(answers(out, {"x": x})["output"], wanted)
        m.archive(path)
        with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.redirect_stderr(io.StringIO()) as errors:
            self.assertEqual(main(["export", path, "-o", out]), 2)
            self.assertEqual(main(["export", path, "-o", out, "--force"]), 0)
            self.assertEqual(main(["export", path, "-o", out, "--force", "--program", "1"]), 5)
            self.assertEqual(main(["export", path, "-o", out, "--force", "--output", "none"]), 1)
        self.assertIn("input x: f32[rows, 8]\noutput output: f32[rows, 2]\nopset 28, any number of rows", said.getvalue())
        self.assertIn("dropout: instruction", errors.getvalue())
        self.near(answers(out, {"x": x[:3]})["output"], wanted[:3])


del Case  # its own tests are where it is from

if __name__ == "__main__":
    unittest.main()
