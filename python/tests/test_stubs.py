# SPDX-License-Identifier: Apache-2.0
"""The stubs say what is there: those of tables are there, as written anew, mypy --strict takes a user's file, and every name of
the extension's classes is in their stub and the other way round."""
import ast
import importlib.util
import os
import subprocess
import sys
import unittest

import reprise
from reprise import _core

SOURCE = os.environ.get("REPRISE_SOURCE") or os.path.join(os.path.dirname(__file__), "..", "..")
PACKAGE = os.path.dirname(reprise.__file__)


class Stubs(unittest.TestCase):
    def test_stubs_of_tables_are_as_written_anew(self):
        spec = importlib.util.spec_from_file_location("stubs", os.path.join(SOURCE, "python", "stubs.py"))
        stubs = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(stubs)
        for name, text in stubs.texts(_core).items():
            with open(os.path.join(PACKAGE, name), encoding="utf-8") as f:
                self.assertEqual(f.read(), text, name)

    def test_classes_and_their_stubs_have_the_same_names(self):
        with open(os.path.join(PACKAGE, "_core.pyi"), encoding="utf-8") as f:
            tree = ast.parse(f.read())
        for node in tree.body:
            if not isinstance(node, ast.ClassDef) or issubclass(getattr(_core, node.name), Exception):
                continue
            said = {n.name for n in node.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("__")}
            there = {n for n in vars(getattr(_core, node.name)) if not n.startswith("__")}
            self.assertEqual(said, there, node.name)

    def test_mypy_takes_a_users_file(self):
        self.taken_by_mypy(os.path.join(SOURCE, "python", "tests", "fixtures", "typed.py"))

    def test_mypy_takes_the_package_and_each_of_its_doors(self):
        self.taken_by_mypy("-p", "reprise")

    def taken_by_mypy(self, *what):
        if not importlib.util.find_spec("mypy"):
            self.skipTest("no mypy")
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", *what], capture_output=True, text=True,
                              env={"MYPY_CACHE_DIR": os.devnull, **os.environ})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
