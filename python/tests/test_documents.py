# SPDX-License-Identifier: Apache-2.0
"""What the documentation shows works: the python blocks of README.md and docs/python.md, each file's in order, with what
they say in a comment behind `# ->` as the value of the line."""
import importlib.util
import os
import re
import tempfile
import unittest

SOURCE = os.environ.get("REPRISE_SOURCE") or os.path.join(os.path.dirname(__file__), "..", "..")


def have(*packages):
    return all(importlib.util.find_spec(p) is not None for p in packages)


def blocks(name):
    with open(os.path.join(SOURCE, name), encoding="utf-8") as f:
        return re.findall(r"^```python\n(.*?)^```", f.read(), re.S | re.M)


class Documents(unittest.TestCase):
    def run_blocks(self, name):
        found = blocks(name)
        self.assertTrue(found, name)
        names = {"__name__": "document"}
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                for block in found:
                    exec(compile(block, name, "exec"), names)
                    for line, said in re.findall(r"^(.*?)\s+# -> (.*)$", block, re.M):
                        self.assertEqual(repr(eval(line, names)), said, line)
            finally:
                os.chdir(before)

    def test_readme(self):
        self.run_blocks("README.md")

    @unittest.skipUnless(have("jax", "flax", "optax"), "jax, flax and optax are not installed")
    def test_python_jax(self):
        self.run_blocks("docs/python-jax.md")

    @unittest.skipUnless(have("jax", "keras"), "jax and keras are not installed")
    def test_python_keras(self):
        os.environ["KERAS_BACKEND"] = "jax"
        self.run_blocks("docs/python-keras.md")

    def test_python(self):
        self.run_blocks("docs/python.md")

    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
    def test_python_torch(self):
        self.run_blocks("docs/python-torch.md")

    @unittest.skipUnless(importlib.util.find_spec("onnx"), "onnx is not installed")
    def test_python_onnx(self):
        self.run_blocks("docs/python-onnx.md")

    def test_python_weights(self):
        self.run_blocks("docs/python-weights.md")

    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed")
    def test_python_torch_operations(self):
        self.run_blocks("docs/python-torch-operations.md")


if __name__ == "__main__":
    unittest.main()
