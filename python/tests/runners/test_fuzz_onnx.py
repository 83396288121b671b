# SPDX-License-Identifier: Apache-2.0
"""The importer on hostile models: the short form of fuzz_onnx.py, and that this sees what it looks for."""
import importlib.util
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]
if importlib.util.find_spec("onnx") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: onnx is not installed"))
    raise unittest.SkipTest("onnx is not installed")

import fuzz_onnx
from reprise.onnx.graph import HANDLERS

CASES = 800


class Fuzzing(unittest.TestCase):
    def test_hostile_models_are_refused_or_have_the_values_of_the_reference(self):
        counts, findings = fuzz_onnx.run(CASES, say=lambda *a, **k: None)
        self.assertEqual(findings, [])
        self.assertEqual(sum(counts.values()), CASES)
        self.assertGreater(counts["compared"], CASES // 20)
        print(f"{CASES} hostile models: {dict(counts)}", file=sys.stderr)

    def test_a_wrong_value_a_crash_and_an_exception_of_another_kind_are_seen(self):
        text = next(m.SerializeToString() for m in fuzz_onnx.seeds() if m.graph.node[0].op_type == "Abs")
        right = HANDLERS["Abs"]
        self.addCleanup(HANDLERS.update, {"Abs": right})
        self.assertEqual(fuzz_onnx.judge(text)[0], "compared")
        HANDLERS["Abs"] = lambda n: n.value(0)
        self.assertEqual(fuzz_onnx.judge(text)[0], "wrong")
        known = fuzz_onnx.case, fuzz_onnx.SECONDS
        self.addCleanup(lambda: (setattr(fuzz_onnx, "case", known[0]), setattr(fuzz_onnx, "SECONDS", known[1])))
        fuzz_onnx.SECONDS = 1
        acts = [lambda: os.kill(os.getpid(), 11), lambda: exec("while True: pass"), lambda: bytearray(1 << 40), lambda: {}["x"]]
        fuzz_onnx.case = lambda number, models: acts[number]() or b""
        counts, findings = fuzz_onnx.run(4, say=lambda *a, **k: None)
        self.assertEqual([what for _, what, _ in findings], ["ended", "slow", "memory", "raised"])


if __name__ == "__main__":
    unittest.main()
