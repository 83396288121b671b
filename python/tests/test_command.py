# SPDX-License-Identifier: Apache-2.0
"""The command as functions: results, errors, inputs that are objects, and that nothing given is taken for an option."""
import datetime
import decimal
import hashlib
import importlib.util
import os
import pickle
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import numpy as np

import reprise
from reprise import command, command_calls as calls, tables
from reprise.command import CommandError

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = {"age": [20.5, 31.25, None, 44.0] * 12, "city": ["Ulm", "Bonn, Rhein", 'a "b"', "Köln"] * 12,
           "bad": ["no", "yes", "no", "no"] * 12}


def has(module):
    return importlib.util.find_spec(module) is not None


def recipe(table=COLUMNS, seed=1):
    return {"reprise": 1, "seed": seed, "data": {"csv": table, "target": "bad", "positive": "yes"},
            "model": {"hidden": [3]}, "train": {"epochs": 2, "optimizer": {"lr": 0.01}}}


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder.name)


class Functions(Folder):
    def test_written_files_are_what_the_commands_tables_say(self):
        done = subprocess.run([sys.executable, ROOT / "scripts" / "python-commands.py", command.executable(), "check"],
                              capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_a_run_from_objects_is_the_run_from_files(self):
        tables.write_csv(COLUMNS, "t.csv")
        Path("r.yaml").write_text(command.canonical(recipe("t.csv")))
        mine = calls.run(recipe(), out="a.reprise")
        its = subprocess.run([command.executable(), "run", "r.yaml", "-o", "b.reprise"], capture_output=True)
        self.assertEqual(its.returncode, 0)
        self.assertEqual(mine.archive_id, calls.verify("b.reprise", allow_unsigned=True).archive_id)
        self.assertTrue(calls.diff("a.reprise", "b.reprise").same)
        self.assertEqual(Path("a.reprise").read_bytes()[:4096], Path("b.reprise").read_bytes()[:4096])

    def test_a_run_is_signed_checked_replayed_and_decided_on(self):
        key = calls.keygen("me")
        run = calls.run(recipe(), out="a.reprise", key=key.private)
        self.assertEqual(run.key_id, key.key_id)
        self.assertTrue(run.signed)
        self.assertEqual(run.json["archive_id"], run.archive_id)
        self.assertTrue(calls.verify("a.reprise", trust=["me.pub.pem"]).verified)
        self.assertTrue(calls.replay("a.reprise", trust="me.pub.pem", threads=1, isa="ref").identical)
        calls.approve("a.reprise", role="validator", decision="approve", reason="--force", key="me.pem",
                      trust="me.pub.pem")
        self.assertIn("approve", str(calls.verify("a.reprise", trust="me.pub.pem").statements))
        scores = calls.predict("a.reprise", csv=COLUMNS, out="p.csv")
        self.assertEqual(scores.rows, 48)
        calls.report("a.reprise", out="a.html", trust="me.pub.pem")
        self.assertIn(b"<html", Path("a.html").read_bytes())
        self.assertEqual(calls.log.init("log", origin="example.com/m", key="me.pem").key_id, key.key_id)
        self.assertTrue(calls.log.add("log", "a.reprise", key="me.pem").added)
        self.assertEqual(calls.log.list("log").size, 1)
        self.assertEqual(len(calls.compare("a.reprise", "a.reprise").runs), 2)
        self.assertEqual(calls.inspect_step("a.reprise", step=1).step, 1)
        self.assertEqual(calls.data(COLUMNS).rows, 48)
        self.assertTrue(calls.validate("a.reprise", csv=COLUMNS, trust="me.pub.pem").statement)
        self.assertTrue(calls.monitor("a.reprise", csv=COLUMNS, trust="me.pub.pem").statement)

    def test_a_report_has_what_a_door_says_the_program_was_made_of(self):
        text = '{"framework": "<b>torch</b>", "version": "2.15.0"}'
        for name, said in (("a", text), ("b", "\u00e9" * 9000), ("c", "before\0behind")):
            with reprise.record(f"{name}.reprise") as run:
                run.add_state("w", np.ones(2, np.float32))
                run.add_state("origin.json", np.frombuffer(said.encode(), np.uint8))
                b = reprise.Builder()
                b.update("w", b.state("w", (2,), "f32") * 2.0)
                run.compile(b.finish())()
            calls.report(f"{name}.reprise", out=f"{name}.html")
        shown = Path("a.html").read_text()
        self.assertIn("by its author's word", shown)
        self.assertIn("{&quot;framework&quot;: &quot;&lt;b&gt;torch&lt;/b&gt;&quot;, &quot;version&quot;: &quot;2.15.0&quot;}", shown)
        self.assertIn("<bdi>before\ufffdbehind</bdi>", Path("c.html").read_text())
        self.assertIn("<bdi>" + "\u00e9" * 2000 + "\u2026</bdi>", Path("b.html").read_text())

    def test_a_policy_is_a_dict_and_a_clause_that_is_not_met_is_a_result(self):
        calls.keygen("me")
        calls.run(recipe(), out="a.reprise", key="me.pem")
        policy = {"policy": 1, "name": "x", "groups": {"builders": ["me.pub.pem"]}, "builder": {"of": "builders"}}
        self.assertTrue(command.policy("a.reprise", policy)["met"])
        policy["replay"] = {"mode": "full", "by": "builders"}
        found = calls.verify("a.reprise", policy=policy)
        self.assertEqual((found.exit, found.policy["met"]), (4, False))

    def test_an_error_says_code_exit_and_line(self):
        with self.assertRaises(CommandError) as caught:
            calls.verify("nothing.reprise", allow_unsigned=True)
        e = caught.exception
        self.assertEqual((e.code, e.exit, e.difference), ("RP_EIO", 1, None))
        self.assertEqual((isinstance(e, reprise.Error), e.exit_code, e.operation, e.member, e.step), (True, 1, None, None, None))
        self.assertIn("nothing.reprise", e.message)
        again = pickle.loads(pickle.dumps(e))
        self.assertEqual((again.code, again.message, again.command), (e.code, e.message, e.command))
        differs = CommandError("RP_EBITS", "differs", 3, {"member": "outputs/x", "step": 2, "value": "loss", "expected": "1", "found": "2"})
        for e in (differs, pickle.loads(pickle.dumps(differs))):
            self.assertEqual((e.member, e.step, e.value, e.expected, e.found), ("outputs/x", 2, "loss", "1", "2"))
        calls.run(recipe(), out="a.reprise")
        data = bytearray(Path("a.reprise").read_bytes())
        data[data.index(b"Bonn")] ^= 1
        Path("a.reprise").write_bytes(data)
        with self.assertRaises(CommandError) as caught:
            calls.verify("a.reprise", allow_unsigned=True)
        self.assertEqual((caught.exception.code, caught.exception.exit), ("RP_EHASH", 4))
        self.assertIn("data/raw.csv", caught.exception.message)

    def test_no_value_and_no_path_is_taken_for_an_option(self):
        for path in ("--help", "-o", "--allow-unsigned"):
            with self.assertRaises(CommandError) as caught:
                calls.verify(path, allow_unsigned=True)
            self.assertEqual(caught.exception.code, "RP_EIO")
        calls.keygen("--name")
        self.assertTrue(Path("--name.pem").exists())
        with self.assertRaises(ValueError):
            calls.verify("a\0b")
        with self.assertRaises(TypeError):
            calls.run(recipe(), out="a.reprise", threads=[None])
        with self.assertRaises(TypeError):
            calls.run(recipe(), no_such_option=1)
        self.assertEqual(os.listdir(), [n for n in os.listdir() if n.startswith("--name")])

    def test_a_key_twice_or_a_real_that_is_none_is_refused_before_a_process(self):
        with self.assertRaises(ValueError):
            calls.run(dict(recipe(), seed=float("nan")), out="a.reprise")

    def test_paths_of_a_recipe_that_is_a_dict_are_where_the_caller_is(self):
        rng = np.random.default_rng(1)
        np.save("x.npy", rng.normal(size=(40, 3)).astype(np.float32))
        np.save("y.npy", (np.arange(40) % 2).astype(np.int64))
        net = {"reprise": 1, "data": {"arrays": "x.npy", "target": "y.npy"}, "model": {"hidden": [2]}, "train": {"epochs": 1}}
        calls.run(net, out="a.reprise")
        calls.inspect_member("a.reprise", member="weights/final.safetensors", out="w.safetensors")
        given = command.Inputs(os.getcwd())
        here = os.getcwd()
        found = given.recipe({"data": {"images": "p", "labels": "l.csv", "target": "kind"}, "weights": "w.safetensors"})
        self.assertEqual(found, {"data": {"images": f"{here}/p", "labels": f"{here}/l.csv", "target": "kind"},
                                 "weights": f"{here}/w.safetensors"})
        Path("label").write_text("a file of a tensor's name")
        found = given.recipe({"data": {"arrays": "w.safetensors", "target": "label"}})
        self.assertEqual(found["data"], {"arrays": f"{here}/w.safetensors", "target": "label"})

    def test_options_that_are_numpys_or_tables_of_one_command_only(self):
        self.assertEqual(command.option_words({"threshold": np.float64(0.5), "force": np.True_, "junit": np.False_,
                                               "by": [np.str_("a"), np.int64(3)]}),
                         ["--threshold=0.5", "--force", "--by=a", "--by=3"])
        self.assertEqual(calls.profile(recipe(), rows=np.int64(3)).DOCUMENT, "profile")
        calls.run(recipe(), out="a.reprise")
        self.assertEqual(calls.inventory("a.reprise").DOCUMENT, "inventory")

    def test_other_threads_go_on_while_it_computes(self):
        counts = []
        stop = threading.Event()

        def count():
            while not stop.wait(0.001):
                counts.append(time.perf_counter())
        thread = threading.Thread(target=count, daemon=True)
        thread.start()
        try:
            calls.run(dict(recipe(), train={"epochs": 4000}), out="a.reprise", threads=1)
        finally:
            stop.set()
            thread.join()
        self.assertGreater(len(counts), 10)

    @unittest.skipUnless(has("tqdm"), "tqdm is not installed")
    def test_a_bar_is_drawn_and_the_result_is_the_same(self):
        seen = []
        bar = type("Bar", (), {"__init__": lambda s, total, desc, leave: setattr(s, "total", total) or setattr(s, "n", 0),
                               "update": lambda s, k: (setattr(s, "n", s.n + k), seen.append((s.n, s.total))),
                               "set_postfix": lambda s, **k: None, "close": lambda s: None})
        import tqdm.auto
        old, tqdm.auto.tqdm = tqdm.auto.tqdm, bar
        self.addCleanup(setattr, tqdm.auto, "tqdm", old)
        long = dict(recipe(), train={"epochs": 400, "batch": 2})
        run = calls.run(long, out="a.reprise", progress=True, threads=1)
        self.assertEqual(run.archive_id, calls.run(long, out="b.reprise", progress=False).archive_id)
        self.assertTrue(seen and all(0 < n <= t for n, t in seen))
        with self.assertRaises(CommandError):
            calls.run(long, out="a.reprise", progress=True)


class Documents(Folder):
    def test_the_blocks_of_the_documentation_do_what_they_say(self):
        names = {}
        for block in re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "python-command.md").read_text(), re.S | re.M):
            exec(compile(block, "python-command.md", "exec"), names)
            for line, said in re.findall(r"^(.*?)\s+# -> (.*)$", block, re.M):
                self.assertEqual(repr(eval(line, names)), said, line)


class Tables(Folder):
    def written(self, table):
        tables.write_csv(table, "w.csv")
        return Path("w.csv").read_text()

    def test_cells_read_back_as_the_same_numbers(self):
        values = [0.1, 1e-320, 1.7976931348623157e308, -0.0, 3.0, 12345678.9]
        text = self.written({"x": values, "f": np.array(values, np.float64), "s": np.float32([0.1, 1, 2, 3, 4, 5])})
        rows = [line.split(",") for line in text.splitlines()[1:]]
        self.assertEqual([float(r[0]) for r in rows], values)
        self.assertEqual([r[0] for r in rows], [r[1] for r in rows])
        self.assertEqual(rows[0][2], "0.1")

    def test_what_is_missing_is_an_empty_cell_and_infinity_is_refused(self):
        for nothing in (None, float("nan")):
            self.assertEqual(self.written({"x": [nothing, 1]}), 'x\n""\n1\n')
        with self.assertRaisesRegex(ValueError, "column x: both missing values and NaN"):
            self.written({"x": [None, float("nan"), 1]})
        with self.assertRaises(ValueError):
            self.written({"x": [float("inf")]})
        with self.assertRaises(ValueError):
            self.written({"x": [1], "y": [1, 2]})
        for bad in ({"x": [b"bytes"]}, {"x": [[1]]}, {"x": [1j]}, 7, object()):
            with self.assertRaises(TypeError):
                self.written(bad)

    def test_numpys_dates_are_dates(self):
        days = np.array(["2024-01-01", "NaT", "2024-01-01T01:02:03"], "datetime64[ns]")
        self.assertEqual(self.written({"d": days, "n": [1, 2, 3]}), "d,n\n2024-01-01T00:00:00,1\n,2\n2024-01-01T01:02:03,3\n")
        for unit in ("D", "s", "us"):
            self.assertEqual(self.written({"d": days[:1].astype(f"datetime64[{unit}]")}), "d\n2024-01-01\n")
        with self.assertRaises(ValueError):
            self.written({"d": days + np.timedelta64(1, "ns")})
        with self.assertRaises(ValueError):
            self.written({"d": np.array(["12024-01-01"], "datetime64[D]")})
        with self.assertRaises(TypeError):
            self.written({"d": days - days[0]})

    def test_lines_end_at_line_feeds_alone_and_codes_are_texts(self):
        found = tables.read_csv("a,b\n1,x\x85y\r\n2,x\u2028\x0c\x1ey\n".encode())
        self.assertEqual(list(found["b"]), ["x\x85y", "x\u2028\x0c\x1ey"])
        self.assertEqual(found["a"].dtype, np.int64)
        found = tables.read_csv(b"z,u,n,f\n01234,1_000,-0,0.5\n12345,2,10,\n")
        self.assertEqual([list(found[k]) for k in "zu"], [["01234", "12345"], ["1_000", "2"]])
        self.assertEqual((list(found["n"]), found["f"][0]), ([0, 10], 0.5))
        for bad in (b"a,a\n1,2\n", b"a,b\n1\n", b"a\n" + b"x" * 200000 + b"\n"):
            with self.assertRaises(ValueError):
                tables.read_csv(bad)

    def test_carriage_returns_zones_and_names_that_would_be_something_else(self):
        tables.write_csv({"a": ["x\ry", 'q"\r', "z"], "b": [1, None, 3]}, "w.csv")
        found = tables.read_csv(Path("w.csv").read_bytes())
        self.assertEqual((list(found["a"]), found["b"][2]), (["x\ry", 'q"\r', "z"], 3))
        noon = datetime.datetime(2024, 1, 1, 12)
        for bad, said in (({1: [5], "1": [6]}, "one name"), ({"\ufeffa": ["x"]}, "byte order"), ({"a\rb": ["x"]}, "carriage return"),
                          ({"a": [noon, noon.replace(tzinfo=datetime.timezone.utc)]}, "time zone and without")):
            with self.assertRaisesRegex(ValueError, said):
                self.written(bad)

    def test_integers_that_binary64_does_not_hold_stay_what_they_are(self):
        for text, values in ((b"a,b\n9007199254740993,1\n,2\n", ["9007199254740993", ""]), (b"a\n1e400\n1\n", ["1e400", "1"]),
                             (b"a\n123456789012345678\n-1\n", [123456789012345678, -1]), (b"a,b\n4,1\n,2\n", None)):
            found = tables.read_csv(text)["a"]
            self.assertEqual(list(found), values) if values else self.assertEqual((found[0], found.dtype), (4, np.float64))

    def test_arrays_records_and_cursors(self):
        self.assertEqual(self.written(np.array([[1, 2], [3, 4]])), "x0,x1\n1,2\n3,4\n")
        records = np.array([(1, 0.5)], dtype=[("a", "i4"), ("b", "f4")])
        self.assertEqual(self.written(records), "a,b\n1,0.5\n")
        base = sqlite3.connect(":memory:")
        base.execute("create table t (a integer, b text)")
        base.executemany("insert into t values (?, ?)", [(1, "x"), (None, "y,z")])
        self.assertEqual(self.written(base.execute("select a, b from t order by b")), 'a,b\n1,x\n,"y,z"\n')
        base.close()

    def test_what_a_csv_would_make_something_else_of_is_refused(self):
        day, moment = datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, 5)
        for values, said in ((["", None], "an empty text"), ([1, "2"], "number and text"), ([True, 1], "bool and number"),
                             ([day, moment], "days and times"), ([decimal.Decimal("NaN")], "decimal NaN"),
                             ([datetime.timedelta(1)], "timedelta"), ([np.zeros(2)], "ndarray"), ([{"a": 1}], "dict"),
                             ([1.0, float("inf")], "column c, row 2: a cell that is infinite")):
            with self.assertRaisesRegex((ValueError, TypeError), said):
                self.written({"c": values})
        with self.assertRaisesRegex(ValueError, "columns need names, each its own"):
            base = sqlite3.connect(":memory:")
            self.addCleanup(base.close)
            self.written(base.execute("select 1 a, 2 a"))
        exact = {"b": [2 ** 62 + 1, -2 ** 63], "d": [decimal.Decimal("1.10"), None], "t": [datetime.time(1, 2), None],
                 "z": [datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))), None]}
        self.assertEqual(self.written(exact), "b,d,t,z\n4611686018427387905,1.10,01:02:00,2024-01-01T00:00:00+01:00\n"
                         "-9223372036854775808,,,\n")

    def test_texts_stay_texts_and_a_query_says_where_rows_come_from(self):
        base = sqlite3.connect(":memory:")
        self.addCleanup(base.close)
        base.execute("create table t (code text, region text, x real, bad text)")
        base.executemany("insert into t values (?, ?, ?, ?)", [(f"0{i % 3}", ("NA", "EU", "?")[i % 3], i * 0.37, "ny"[i % 2])
                                                                for i in range(60)])
        query = reprise.sql(base, "select * from t where x >= ?", [0.0])
        calls.run({"reprise": 1, "data": {"csv": query, "target": "bad"}, "card": {"data_source": "the warehouse"}}, out="a.reprise")
        with reprise.open("a.reprise") as a:
            self.assertEqual(a.recipe["data"]["columns"], [{"column": "code", "kind": "categorical"}])
            learnt = {c["name"]: c.get("categories") for c in a.json("data/schema.json")["columns"]}
            self.assertEqual((learnt["code"], learnt["region"]), (["00", "01", "02"], ["?", "EU", "NA"]))
            source = a.recipe["card"]["data_source"].split("\n")
        self.assertEqual(source[0], "the warehouse")
        digest = hashlib.sha256(b'["select * from t where x >= ?", "[0.0]"]').hexdigest()
        self.assertEqual(source[1], f"query by sqlite3, SHA-256 {digest}: select * from t where x >= ? with [0.0], written as CSV")
        self.assertTrue(calls.replay("a.reprise", threads=1).identical)
        declared = {"reprise": 1, "data": {"csv": query, "target": "bad", "columns": {"code": "numeric"}, "missing": ["NA"]}}
        calls.run(declared, out="b.reprise")  # what the recipe says goes before
        with reprise.open("b.reprise") as b:
            self.assertEqual(b.recipe["data"]["columns"], [{"column": "code", "kind": "numeric"}])
            self.assertEqual(b.recipe["data"]["missing"], ["NA"])

    def test_a_word_for_a_missing_cell_is_found_behind_many_other_texts(self):
        said = tables.write_csv({"region": [f"r{i}" for i in range(5000)] + ["NA"]}, "many.csv")
        self.assertTrue(said.says_missing())
        self.assertFalse(tables.write_csv({"region": ["EU", None]}, "two.csv").says_missing())

    @unittest.skipUnless(has("polars"), "polars is not installed")
    def test_polars_gives_the_same_text_without_arrow(self):
        import polars
        self.assertEqual(self.written(polars.DataFrame(COLUMNS)), self.written(COLUMNS))
        with self.assertRaisesRegex(ValueError, "nanoseconds"):
            self.written(polars.DataFrame({"c": polars.Series([1]).cast(polars.Datetime("ns"))}))

    @unittest.skipUnless(has("duckdb"), "duckdb is not installed")
    def test_queries_of_duckdb(self):
        import duckdb
        base = duckdb.connect()
        self.addCleanup(base.close)
        self.assertEqual(self.written(reprise.sql(base, "select 1.10::decimal(5,2) d, true b, date '2024-01-02' t")),
                         "d,b,t\n1.10,true,2024-01-02\n")
        with self.assertRaisesRegex(TypeError, "list"):
            self.written(reprise.sql(base, "select [1] a"))

    @unittest.skipUnless(has("pandas"), "pandas is not installed")
    def test_frames_with_an_index_that_was_meant_are_refused(self):
        import pandas
        with self.assertRaisesRegex(ValueError, "reset_index"):
            self.written(pandas.DataFrame({"a": [1]}, index=pandas.Index([5], name="id")))
        with self.assertRaisesRegex(ValueError, "two levels"):
            self.written(pandas.DataFrame({("a", "b"): [1]}))
        with self.assertRaisesRegex(TypeError, "Period"):
            self.written(pandas.DataFrame({"a": pandas.period_range("2024", periods=1, freq="M")}))

    @unittest.skipUnless(has("pandas"), "pandas is not installed")
    def test_pandas_gives_the_same_text(self):
        import pandas
        frame = pandas.DataFrame({**COLUMNS, "age": pandas.array(COLUMNS["age"], dtype="Float64")})
        self.assertEqual(self.written(frame), self.written(COLUMNS))
        day = pandas.DataFrame({"d": pandas.to_datetime(["2026-01-02", None])})
        self.assertEqual(self.written(day), 'd\n2026-01-02\n""\n')

    @unittest.skipUnless(has("pyarrow"), "pyarrow is not installed")
    def test_arrow_and_parquet_give_the_same_text(self):
        import pyarrow
        import pyarrow.parquet
        table = pyarrow.table(COLUMNS)
        self.assertEqual(self.written(table), self.written(COLUMNS))
        pyarrow.parquet.write_table(table, "t.parquet")
        self.assertEqual(self.written("t.parquet"), self.written(COLUMNS))
        digest = hashlib.sha256(Path("t.parquet").read_bytes()).hexdigest()
        self.assertIn(f"SHA-256 {digest}, 48 rows", tables.write_csv("t.parquet", "w.csv").origin)
        parts = pyarrow.chunked_array([pyarrow.array(["x", "y"]).dictionary_encode(), pyarrow.array(["z"]).dictionary_encode()])
        self.assertEqual(self.written(pyarrow.table({"d": parts})), "d\nx\ny\nz\n")
        for nested in (pyarrow.array([[1]]), pyarrow.array([{"a": 1}]), pyarrow.array([b"x"]), pyarrow.array([1], pyarrow.duration("s")),
                       pyarrow.array([1], pyarrow.time64("ns"))):
            with self.assertRaises((TypeError, ValueError)):
                self.written(pyarrow.table({"c": nested}))
        self.assertEqual(self.written(pyarrow.table({"s": pyarrow.array([0.1], pyarrow.float32())})), "s\n0.1\n")


if __name__ == "__main__":
    unittest.main()
