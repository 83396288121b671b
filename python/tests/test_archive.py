# SPDX-License-Identifier: Apache-2.0
"""Archives as objects: what the command says of the same file, tensors without a copy, and files that lie."""
import hashlib
import json
import os
import pickle
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import numpy as np

import reprise
from reprise import archive as module, command_calls as calls
from reprise.archive import Archive, ArchiveError, header, safetensors
from reprise.program_text import Program
from test_command import COLUMNS, Folder, recipe


def packed(members):
    """A container of {name: bytes}."""
    out = b""
    for name, data in members.items():
        out += header(name.encode(), len(data)) + data + bytes(-len(data) % 512)
    return out + bytes(1024)


def made(contents, **more):
    """An archive of these members with a manifest that lists them."""
    manifest = {"contract": 1, "format": 1, "kind": "api", "profile": "portable", "run": {}, "members": [
        {"path": n, "sha256": hashlib.sha256(d).hexdigest(), "size": len(d)} for n, d in contents.items()]}
    manifest.update(more)
    return packed({"manifest.json": json.dumps(manifest, separators=(",", ":"), sort_keys=True).encode(), **contents})


def tensor_file(entries, data):
    text = json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text + data


class Archives(Folder):
    def test_it_says_what_the_command_says(self):
        calls.keygen("me")
        run = calls.run(recipe(), out="a.reprise", key="me.pem")
        with Archive("a.reprise") as a:
            its = calls.inspect("a.reprise")
            self.assertEqual((a.id, a.kind, a.run["steps"]), (run.archive_id, its.kind, run.steps))
            listed = {m["name"]: (m["size"], m["sha256"]) for m in its.members}
            self.assertEqual({m.name: (m.size, m.sha256) for m in a.members.values() if m.name in listed and
                              m.sha256}, {n: v for n, v in listed.items() if a.members[n].sha256})
            self.assertEqual(a.metrics["training"]["loss"], run.metrics["training"]["loss"])
            self.assertEqual(a.recipe["seed"], 1)
            self.assertEqual(len(a.steps), run.steps)
            self.assertEqual(a.losses[-1], np.float32(run.metrics["validation"]["loss"]))
            self.assertEqual(list(a.columns()["city"]), COLUMNS["city"])
            self.assertEqual(a.columns()["age"][0], 20.5)
            self.assertTrue(np.isnan(a.columns()["age"][2]))
            self.assertEqual(list(a.signatures.values())[0]["key_id"], run.key_id)
            self.assertTrue(a.verify(trust="me.pub.pem").verified)
            calls.inspect_member(a, member="run/recipe.json", out="recipe.json")
            self.assertEqual(a.read("run/recipe.json"), Path("recipe.json").read_bytes())
            self.assertIn("validation", a._repr_html_() + str(a.metrics))

    def test_tables_are_read_as_the_recipe_says(self):
        def columns(text, **data):
            Path("t.reprise").write_bytes(made({"data/raw.csv": text.encode(data.get("encoding", "utf-8")),
                                                "run/recipe.json": json.dumps({"data": data}).encode()}))
            return {k: list(v) for k, v in Archive("t.reprise").columns().items()}
        self.assertEqual(columns("1,a,0\n2,b,1\n", header=False), {"0": [1, 2], "1": ["a", "b"], "2": [0, 1]})
        self.assertEqual(columns("of\ntoday\na;b\nä;2\n", skip_lines=2, delimiter=";", encoding="latin-1"),
                         {"a": ["ä"], "b": [2]})
        for bad in ({"comment": "#"}, {"decimal": ","}, {"thousands": ","}):
            with self.assertRaises(ArchiveError):
                columns("a,b\n1,2\n", **bad)
        with self.assertRaises(ArchiveError):
            columns("a,a\n1,2\n")

    def test_texts_of_metrics_stay_texts(self):
        metrics = {"slices": [{"value": "01234", "auc": "0.5"}, {"value": "nan"}], "favourable": "1", "loss": "0.25",
                   "fit": {"left_out": [{"column": "1", "category": "2"}]}}
        Path("m.reprise").write_bytes(made({"outputs/metrics.json": json.dumps(metrics).encode()}))
        metrics["slices"][0]["auc"], metrics["loss"] = 0.5, 0.25
        self.assertEqual(Archive("m.reprise").metrics, metrics)

    def test_tensors_are_views_of_the_file(self):
        calls.run(recipe(), out="a.reprise")
        a = Archive("a.reprise")
        weights = a.weights
        first = weights["layer0.weight"]
        self.assertFalse(first.flags.owndata or first.flags.writeable)
        self.assertIsNotNone(first.base)
        offset = a.members["weights/final.safetensors"].offset
        start = np.frombuffer(a._map, np.uint8).ctypes.data
        self.assertTrue(start + offset < first.ctypes.data < start + offset + a.members["weights/final.safetensors"].size)
        before = first.copy()
        a.close()
        np.testing.assert_array_equal(first, before)
        with self.assertRaises(ValueError):
            a.view("manifest.json")

    def test_programs_are_graphs(self):
        calls.run(recipe(), out="a.reprise")
        step = Archive("a.reprise").programs[1]
        self.assertIn("adamw", step.counts())
        dot = step.to_dot()
        self.assertEqual(dot.count(" -> "), sum(len(i.inputs) for i in step) + len(step.outputs))
        self.assertIn("matmul", step._repr_html_())
        os.mkdir("bin")
        Path("bin/dot").write_text('#!/bin/sh\necho "<?xml?><svg $*>"; exec /bin/cat\n')  # stands for Graphviz's
        with unittest.mock.patch.dict(os.environ, PATH=os.path.abspath("bin")):
            self.assertIsNone(step._repr_svg_())  # one that may not be run is none
            os.chmod("bin/dot", 0o755)
            self.assertEqual(step._repr_svg_(), "<svg -Tsvg -Gnslimit=2>\n" + dot)
            Path("bin/dot").write_text("#!/bin/sh\nexit 1\n")
            self.assertIsNone(step._repr_svg_())

    def test_texts_of_an_archive_are_escaped(self):
        evil = '<script>alert("1")</script>'
        program = Program.from_json({"contract": 1, "inputs": [[0, "feed", evil, "f32", [1]]], "outputs": [],
                                     "instructions": [["neg", {evil: "\\N\"]; x -> y ["}, [0], [1]]]})
        self.assertNotIn("<script", program._repr_html_())
        label = [line for line in program.to_dot().splitlines() if "i0 [" in line][0]
        self.assertEqual(label.replace('\\\\', "").replace('\\"', "").count('"'), 2)
        Path("a.reprise").write_bytes(made({"data/x.csv": b"a\n1\n"}, kind=evil))
        self.assertNotIn("<script", Archive("a.reprise")._repr_html_())
        data = np.float32([1]).tobytes()
        file = tensor_file({evil: {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, data)
        self.assertNotIn("<script", module.Tensors("x", safetensors(memoryview(file), "x"))._repr_html_())

    def refused(self, data, words):
        Path("b.reprise").write_bytes(data)
        with self.assertRaises((ArchiveError, KeyError)) as caught:
            a = Archive("b.reprise")
            for name in a:
                a.view(name)
                if name.endswith(".json"):
                    a.json(name)
        self.assertIn(words, str(caught.exception))

    def test_files_that_lie_are_refused(self):
        good = made({"data/hello.txt": b"hello\n"})
        Path("b.reprise").write_bytes(good)
        self.assertEqual(Archive("b.reprise").read("data/hello.txt"), b"hello\n")
        self.refused(good[:-512], "closes an archive")
        self.refused(good + bytes(512), "closes an archive")
        self.refused(b"", "less bytes")
        self.refused(good.replace(b"hello\n\0", b"hellx\n\0"), "SHA-256 differs")
        self.refused(good[:60] + b"x" + good[61:], "no header")
        self.refused(packed({"data/x": b"", "y": b""}), "manifest.json")
        self.refused(made({"data/x": b"1"}, members=[]), "does not list")
        entry = {"path": "data/x", "sha256": hashlib.sha256(b"1").hexdigest(), "size": 1}
        self.refused(made({"data/x": b"1"}, members=[entry, entry]), "twice")
        Path("s.reprise").write_bytes(made({})[:-1024] + packed({"signatures/a.dsse.json": '{"payload":"ä"}'.encode()}))
        with self.assertRaises(ArchiveError):
            Archive("s.reprise").signatures
        self.refused(made({"data/x": b"1"}, members=[{"path": "data/y", "sha256": "", "size": 1}]), "data/y")
        self.refused(made({"data/x": b"1"}, format=2), "not supported")
        self.refused(made({"data/x": b"1"}, run=[]), "`run`")
        self.refused(made({"run/recipe.json": b"[" * 100000}), "nested")
        self.refused(made({"run/recipe.json": b'{"a":1,"a":2}'}), "twice")
        huge = bytearray(good)
        huge[124] = 0x80
        self.refused(bytes(huge), "no header")

    def test_members_that_are_changed_are_read_or_refused_as_such(self):
        """What a signature holds or nobody signed: the digests are right, and what lies there is anything."""
        calls.run(recipe(), out="a.reprise")
        with Archive("a.reprise") as a:
            own = {n: a.read(n) for n in a if n != "manifest.json"}
            run = a.json("manifest.json")["run"]
        values = (0, -1, 2**62, 2**64, 1e300, None, True, "", "a\0", "\ud800", [], [0], [[1]], [2**62, 0], {}, {"a": 1})
        names = sorted(n for n in own if n.endswith((".json", ".csv", ".safetensors", ".bin")))
        refused = 0
        for case in range(300):
            draw = random.Random(case)
            name = names[case % len(names)]
            if name.endswith(".json") and case % 5:
                place = whole = json.loads(own[name])
                while True:
                    key = draw.choice(sorted(place)) if isinstance(place, dict) else draw.randrange(len(place))
                    if not isinstance(place[key], (dict, list)) or not place[key] or draw.random() < 0.3:
                        break
                    place = place[key]
                place[key] = draw.choice(values)
                changed = json.dumps(whole).encode()
            else:
                changed = bytearray(own[name])
                for _ in range(3):
                    changed[draw.randrange(len(changed))] = draw.randrange(256)
            Path("b.reprise").write_bytes(made({**own, name: bytes(changed)}, kind="recipe", run=run))
            with Archive("b.reprise") as b:
                for use in (lambda: b.table(), lambda: [p.to_dot() for p in b.programs], lambda: [b.weights[n].sum() for n in b.weights],
                            lambda: (b.recipe, b.metrics, b.losses, list(b.steps), b._repr_html_())):
                    try:
                        use()
                    except (ArchiveError, KeyError):
                        refused += 1
                    except Exception as e:
                        self.fail(f"case {case}, {name}: {e!r}")
        self.assertGreater(refused, 30)
        for shape in ([2**62, 0], [0, 2**62]):
            with self.assertRaises(ArchiveError):
                safetensors(memoryview(tensor_file({"x": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}}, b"")), "x")

    def test_its_errors_are_the_librarys_and_say_where(self):
        good, hello = made({"data/hello.txt": b"hello\n"}), "data/hello.txt"
        for data, code, exit_code, member in ((b"", "RP_EFORMAT", 4, None), (good[:60] + b"x" + good[61:], "RP_EFORMAT", 4, None),
                                              (good.replace(b"hello\n\0", b"hellx\n\0"), "RP_EHASH", 4, hello),
                                              (made({}, format=2), "RP_EUNSUPPORTED", 5, "manifest.json")):
            Path("b.reprise").write_bytes(data)
            with self.assertRaises(reprise.Error) as caught:
                Archive("b.reprise").read(hello)
            for e in (caught.exception, pickle.loads(pickle.dumps(caught.exception))):
                self.assertEqual((type(e), e.code, e.exit_code, e.member, e.step), (ArchiveError, code, exit_code, member, None))
                self.assertEqual(str(e), str(caught.exception))

    def test_sets_of_tensors_that_lie_are_refused(self):
        one = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
        for entries, data in (({"a": dict(one, shape=[2])}, 4), ({"a": dict(one, data_offsets=[0, 8])}, 4),
                              ({"a": dict(one, shape=[1 << 62, 1 << 62, 0])}, 4), ({"a": dict(one, shape=[-1, -1])}, 4),
                              ({"a": dict(one, dtype="F99")}, 4), ({"a": one, "b": one}, 4), ({"a": one}, 8), ({"a": 1}, 4),
                              ({"a": dict(one, shape=[True])}, 4), ({"a": dict(one, data_offsets=[4, 0])}, 4),
                              ({"a": dict(one, shape="1")}, 4)):
            with self.assertRaises(ArchiveError, msg=str(entries)):
                safetensors(memoryview(tensor_file(entries, bytes(data))), "x")
        with self.assertRaises(ArchiveError):
            safetensors(memoryview(struct.pack("<Q", 1 << 60) + b"{}"), "x")
        with self.assertRaises(ArchiveError):
            safetensors(memoryview(tensor_file({"a": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}}, b"\1\2")), "x")

    def test_parts_of_a_set_and_bf16(self):
        one = {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}
        data = struct.pack("<HH", 0x3F80, 0xC000)
        names = [f"weights/final-0000{i}-of-00002.safetensors" for i in (1, 2)]
        Path("a.reprise").write_bytes(made({names[0]: tensor_file({"a": one}, data), names[1]: tensor_file({"b": one}, data)}))
        a = Archive("a.reprise")
        self.assertEqual(a.sets, ["weights/final"])
        self.assertEqual(list(a.weights), ["a", "b"])
        self.assertEqual(list(a.weights.float32("b")), [1, -2])
        self.assertIn("-2", a.weights._repr_html_())
        Path("b.reprise").write_bytes(made({names[0]: tensor_file({"a": dict(one, dtype="U16")}, data)}))
        with self.assertRaises(ArchiveError):  # the second part is missing
            Archive("b.reprise").weights
        Path("c.reprise").write_bytes(made({"weights/final.safetensors": tensor_file({"a": dict(one, dtype="U16")}, data)}))
        self.assertEqual(list(Archive("c.reprise").weights.float32("a")), [0x3F80, 0xC000])

    @unittest.skipIf(shutil.which("cc") is None, "no C compiler")
    def test_another_librarys_symbols_are_not_called(self):
        """Those that a package gave the process before, as TensorFlow does: of a library whose objects are other ones."""
        calls.keygen("me")
        Path("taken.c").write_text("#include <stdlib.h>\nvoid EVP_DigestSign(void) { _Exit(66); }\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", "taken.so", "taken.c"], check=True)
        script = """import ctypes, os
ctypes.CDLL(os.path.abspath("taken.so"), ctypes.RTLD_GLOBAL)
import reprise
b = reprise.Builder()
w = b.state("w", (2,))
b.update("w", w + 1.0)
with reprise.record("signed.reprise", key="me.pem") as run:
    run.add_state("w", [0.0, 0.0])
    run.compile(b.finish())()
"""
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(calls.verify("signed.reprise", trust=["me.pub.pem"]).verified)

    def test_titles_are_escaped_once(self):
        self.assertIn("<b>a&lt;b</b>", module.tensor_html("a<b", np.float32([1])))


if __name__ == "__main__":
    unittest.main()
