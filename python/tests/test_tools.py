# SPDX-License-Identifier: Apache-2.0
"""MLflow and TensorBoard, by the tools themselves; what is absent is skipped."""
import importlib.util
import os
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np

import reprise


def has(*names):
    return all(importlib.util.find_spec(n) is not None for n in names)


if not has("mlflow", "pandas") and not has("tensorboard"):
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: neither mlflow nor tensorboard is installed"))
    raise unittest.SkipTest("neither mlflow nor tensorboard is installed")

RANDOM = np.random.default_rng(0)
ROWS = {"x": [float(v) for v in RANDOM.normal(size=120)], "c": [str(v) for v in RANDOM.choice(["a", "b"], 120)],
        "bad": [str(v) for v in RANDOM.choice(["no", "yes"], 120)]}


class Trained(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.addClassCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        key = reprise.keygen("me")
        cls.trust = key.public
        reprise.run({"reprise": 1, "data": {"csv": ROWS, "target": "bad", "positive": "yes"}, "model": {"hidden": [3]},
                     "train": {"epochs": 3}, "record": {"checkpoint_every": 5}}, out="net.reprise", key=key.private)
        cls.archive = reprise.open("net.reprise")
        cls.addClassCleanup(cls.archive.close)


@unittest.skipUnless(has("tensorboard"), "tensorboard is not installed")
class TensorBoard(Trained):
    def read(self, folder):
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        found = EventAccumulator(folder, size_guidance={"scalars": 0, "histograms": 0, "tensors": 0})
        found.Reload()
        return found

    def test_curves_and_histograms_are_the_archives(self):
        import reprise.tensorboard
        path = reprise.tensorboard.write("net.reprise", "logs")
        self.assertTrue(os.path.isfile(path))
        found = self.read("logs")
        losses = found.Scalars("loss")
        there = [s for s in self.archive.steps if s.loss is not None]
        self.assertEqual([(e.step, e.value) for e in losses], [(s.step, float(np.float32(s.loss))) for s in there])
        last = self.archive.steps[-1].step
        accuracy = found.Scalars("validation/accuracy")
        self.assertEqual([(e.step, e.value) for e in accuracy],
                         [(last, float(np.float32(self.archive.metrics["validation"]["accuracy"])))])
        name = next(iter(self.archive.weights))
        drawn = found.Histograms(f"weights/{name}")
        self.assertEqual([h.step for h in drawn], sorted([0, *(int(s.rpartition("/")[2]) for s in self.archive.sets
                                                              if s.startswith("checkpoints/")), last]))
        a = self.archive.weights[name].astype(np.float64)
        self.assertEqual((drawn[-1].histogram_value.min, drawn[-1].histogram_value.max, drawn[-1].histogram_value.num),
                         (a.min(), a.max(), a.size))
        self.assertEqual(sum(drawn[-1].histogram_value.bucket), a.size)
        said = found.Tensors("archive")[0].tensor_proto.string_val[0].decode()
        self.assertIn(self.archive.id, said)

    def test_no_histograms_and_no_second_file_by_itself(self):
        import reprise.tensorboard
        reprise.tensorboard.write(self.archive, "plain", histograms=False)
        self.assertEqual(self.read("plain").Tags()["histograms"], [])
        self.assertEqual(len(os.listdir("plain")), 1)


@unittest.skipUnless(has("mlflow", "pandas"), "mlflow or pandas is not installed")
class MLflow(Trained):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        import mlflow
        os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
        mlflow.set_tracking_uri(Path("runs").resolve().as_uri())
        warnings.simplefilter("ignore")

    def scores(self):
        import pandas
        reprise.predict("net.reprise", csv=ROWS, out="s.csv", force=True)
        return pandas.read_csv("s.csv", float_precision="round_trip").drop(columns="row")

    def test_a_saved_model_scores_as_the_command(self):
        import mlflow
        import pandas
        import reprise.mlflow
        reprise.mlflow.save_model("net.reprise", "model", trust=self.trust)
        asked = [line for line in Path("model/requirements.txt").read_text().splitlines() if line[0] != "#"]
        self.assertFalse([line for line in asked if "reprise" in line])  # on an index that is another project
        frame = pandas.DataFrame({k: ROWS[k] for k in ("x", "c")})
        loaded = mlflow.pyfunc.load_model("model")
        pandas.testing.assert_frame_equal(loaded.predict(frame), self.scores())
        self.assertEqual([c.name for c in loaded.metadata.get_input_schema().inputs], ["x", "c"])
        with reprise.mlflow.load_model("model", trust=self.trust) as archive:
            self.assertEqual(archive.id, self.archive.id)
        with self.assertRaisesRegex(ValueError, "not empty"):
            reprise.mlflow.save_model("net.reprise", "model")
        data = bytearray(Path("model/model.reprise").read_bytes())
        data[len(data) // 2] ^= 1
        Path("model/model.reprise").write_bytes(data)
        for error, trust in ((reprise.CommandError, self.trust), (reprise.ArchiveError, None)):
            with self.assertRaises(error):
                reprise.mlflow.load_model("model", trust=trust)
        with self.assertRaises((reprise.CommandError, reprise.ArchiveError)):  # loading or scoring, by where the byte is
            mlflow.pyfunc.load_model("model").predict(frame)

    def test_another_archive_in_its_place_and_other_kinds_are_refused(self):
        import mlflow
        import reprise.mlflow
        reprise.mlflow.save_model("net.reprise", "kept")
        reprise.run({"reprise": 1, "seed": 2, "data": {"csv": ROWS, "target": "bad"}}, out="other.reprise")
        os.replace("other.reprise", "kept/model.reprise")
        for load in (reprise.mlflow.load_model, mlflow.pyfunc.load_model):
            with self.assertRaisesRegex(ValueError, "the model says archive"):
                load("kept")
        with reprise.record("eager.reprise") as run:
            run.add_state("w", [1.0])
            with run.step():
                run.update("w", run.state("w") * 2)
        with self.assertRaisesRegex(ValueError, "kind 'api'"):
            reprise.mlflow.save_model("eager.reprise", "eager")

    def test_a_run_has_parameters_metrics_model_and_archive(self):
        import mlflow
        import pandas
        import reprise.mlflow
        mlflow.set_experiment("loans")
        with mlflow.start_run() as run:
            self.assertEqual(reprise.mlflow.log_run("net.reprise"), run.info.run_id)
            info = reprise.mlflow.log_model("net.reprise", "model")
        client = mlflow.MlflowClient()
        kept = client.get_run(run.info.run_id).data
        self.assertEqual(kept.params["train.epochs"], "3")
        self.assertEqual(kept.tags["reprise.archive_id"], self.archive.id)
        self.assertEqual(kept.metrics["validation/accuracy"], self.archive.metrics["validation"]["accuracy"])
        there = {s.step: s.loss for s in self.archive.steps if s.loss is not None}
        self.assertEqual({m.step: m.value for m in client.get_metric_history(run.info.run_id, "loss")}, there)
        frame = pandas.DataFrame({k: ROWS[k] for k in ("x", "c")})
        pandas.testing.assert_frame_equal(mlflow.pyfunc.load_model(info.model_uri).predict(frame), self.scores())
        with reprise.mlflow.load_model(info.model_uri) as archive:
            self.assertEqual(archive.id, self.archive.id)
        self.assertIn("net.reprise", [a.path for a in client.list_artifacts(run.info.run_id)])


if __name__ == "__main__":
    unittest.main()
