# SPDX-License-Identifier: Apache-2.0
"""Tables with types through the command: frames as they are, categories, whole floats, and rows for an archive whose own
table was read by another dialect."""
import datetime
import importlib.util
import os
import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np

import reprise
from reprise import command_calls as calls, tables

REGION = np.arange(60) % 3 + 1
CITY = np.array(["Köln", "Ulm", "Bonn"])[np.arange(60) % 3]
SIZE = np.round(np.sin(np.arange(60)) * 40 + 60, 3)
PRICE = SIZE / 10 + np.array([0.0, 5, -3])[REGION - 1]


def has(module):
    return importlib.util.find_spec(module) is not None


def recipe(table, target="price", **data):
    return {"reprise": 1, "data": {"csv": table, "target": target, "train_on_all": True, **data},
            "train": {"task": "regression", "l2": 0.001}}


class Typed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def train(self, table, **data):
        calls.run(recipe(table, **data), out="a.reprise", force=True)

    def predicted(self, rows):
        calls.predict("a.reprise", csv=rows, out="p.csv", force=True)
        return np.array([float(line.split(",")[1]) for line in Path("p.csv").read_text().splitlines()[1:]])

    @unittest.skipUnless(has("pandas"), "pandas is not installed")
    def test_frames_stand_in_a_recipe_as_they_are(self):
        import pandas
        columns = {"size": SIZE, "city": CITY, "price": PRICE}
        given = [pandas.DataFrame(columns)]
        if has("polars"):
            given.append(importlib.import_module("polars").DataFrame(columns))
        if has("pyarrow"):
            given.append(importlib.import_module("pyarrow").table(columns))
        for frame in given:
            self.train(frame, test_csv=frame)
            np.testing.assert_allclose(self.predicted(frame), PRICE, atol=0.1)
        calls.run(recipe(np.stack([SIZE, PRICE], 1), target="x1"), out="array.reprise")

    def test_whole_floats_are_the_categories_and_classes_that_integers_are(self):
        self.train({"region": REGION, "size": SIZE, "price": PRICE}, columns={"region": "categorical"})
        wanted = self.predicted({"region": REGION, "size": SIZE})
        self.assertTrue((self.predicted({"region": REGION.astype(np.float64), "size": SIZE}) == wanted).all())
        self.assertTrue((self.predicted({"region": list(REGION.astype(np.float32)), "size": SIZE}) == wanted).all())
        written = tables.write_csv({"x": [1.0, -3.0, -0.0, 1e14, 1e15, 0.5], "s": np.float32([1, 16777216, 1e8, 2, 3, 0.1])}, "w.csv")
        self.assertEqual(Path("w.csv").read_text().split(), ["x,s", "1,1", "-3,16777216", "0,100000000", "100000000000000,2",
                                                             "1000000000000000.0,3", "0.5,0.1"])
        self.assertEqual(written.typed(), {})

    def test_categories_and_classes_are_spelt_as_the_archives_are(self):
        flag = [bool(i % 2) for i in range(60)]
        price = PRICE + 9 * np.array(flag)
        for yes, no, code in (("True", "False", "{}.0"), ("TRUE", "FALSE", "{}"), ("true", "false", "{}.00")):
            lines = [f"{yes if f else no},{code.format(r)},{p}" for f, r, p in zip(flag, REGION, price.tolist())]
            Path("t.csv").write_text("\n".join(["flag,region,price", *lines, ""]))
            self.train("t.csv", columns={"region": "categorical"})
            wanted = self.predicted("t.csv")
            for region in (REGION, REGION.astype(np.float64)):
                self.assertTrue((self.predicted({"flag": flag, "region": region}) == wanted).all())
        Path("t.csv").write_text("\n".join(["size,late", *[f"{x},{i % 3 == 0:d}.0" for i, x in enumerate(SIZE.tolist())], ""]))
        calls.run({"reprise": 1, "data": {"csv": "t.csv", "target": "late"}}, out="a.reprise", force=True)
        calls.validate("a.reprise", csv={"size": SIZE, "late": [int(i % 3 == 0) for i in range(60)]}, out="v.json")
        both = tables.Dialect.of({}, {"columns": [{"name": "a", "kind": "categorical", "categories": ["1", "1.0", "2.0", None]}]})
        tables.write_csv({"a": [1, 2, 3, None], "b": [2, 2, 2, 2]}, "w.csv", both)  # which of two is meant nobody knows
        self.assertEqual(Path("w.csv").read_text(), "a,b\n1,2\n2.0,2\n3,2\n,2\n")

    def test_rows_of_which_no_value_is_a_category_are_told(self):
        days = [datetime.datetime(2020, 1, 1 + i % 3) for i in range(60)]
        for texts, rows in (([f"{d}" for d in days], days), ([f"{d.day - 1}" for d in days], [d.day > 1 for d in days]),
                            ([f"{d.day > 1}" for d in days], [d.day - 1 for d in days])):
            self.train({"when": texts, "size": SIZE, "price": PRICE}, columns={"when": "categorical"})
            with self.assertWarnsRegex(UserWarning, "column when: none of its values is a category that the archive has learnt, such as"):
                self.predicted({"when": rows, "size": SIZE})
        self.train({"when": [f"{d.date()}" for d in days], "size": SIZE, "price": PRICE}, columns={"when": "categorical"})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.predicted({"when": days, "size": SIZE})
            self.predicted({"when": ["2021-02-03"] * 60, "size": SIZE})  # a text is what it is
            self.predicted({"when": [*days[:59], datetime.date(2021, 2, 3)], "size": SIZE})

    def test_numbers_and_booleans_are_missing_where_the_archive_says_so(self):
        given = np.where(np.arange(60) % 7 == 0, -999.0, SIZE)
        for word in ("-999.0", "-9.99e2", "-999"):
            lines = [f"{word if x == -999 else x},{p}" for x, p in zip(given.tolist(), PRICE.tolist())]
            Path("t.csv").write_text("\n".join(["size,price", *lines, ""]))
            self.train("t.csv", missing=["", word])
            wanted = self.predicted("t.csv")
            for rows in (given, [int(x) if x == -999 else x for x in given.tolist()], [None if x == -999 else x for x in given.tolist()]):
                self.assertTrue((self.predicted({"size": rows}) == wanted).all())
            self.train({"size": given, "price": PRICE}, missing=["", word])
            self.assertTrue((self.predicted("t.csv") == wanted).all())
        self.assertEqual(tables.Dialect.of({"missing": ["False"]}).text(tables.Column("x"), 0, False, "false"), "False")
        many = {"columns": [{"name": "x", "kind": "categorical", "categories": [str(i) for i in range(50000)]}]}
        self.assertEqual(len(tables.spellings(many, True, ".")["x"]), 50000)

    def test_a_format_of_dates_holds_no_part_of_a_second(self):
        with self.assertRaisesRegex(ValueError, "does not hold"):
            tables.formatted(datetime.datetime(2024, 3, 31, 12, 30, 59, 500000), "%Y-%m-%d %H:%M:%S", 69)

    @unittest.skipUnless(has("pandas"), "pandas is not installed")
    def test_a_column_of_categories_is_categorical_though_its_values_are_numbers(self):
        import pandas
        given = [pandas.DataFrame({"region": pandas.Categorical(REGION), "price": PRICE})]
        given.append({"region": pandas.Categorical(REGION), "price": PRICE})
        if has("pyarrow"):
            import pyarrow
            given.append(pyarrow.table({"region": pyarrow.array(REGION).dictionary_encode(), "price": PRICE}))
            given.append(pandas.DataFrame({"region": pandas.arrays.ArrowExtensionArray(pyarrow.array(REGION).dictionary_encode()),
                                           "price": PRICE}))
        for table in given:
            self.train(table)
            with reprise.open("a.reprise") as a:
                self.assertEqual(a.recipe["data"]["columns"], [{"column": "region", "kind": "categorical"}])
        self.train(given[0], columns={"region": "numeric"})  # what the recipe says goes before
        with reprise.open("a.reprise") as a:
            self.assertEqual(a.recipe["data"]["columns"], [{"column": "region", "kind": "numeric"}])

    def test_rows_are_written_as_the_archives_own_table_was_read(self):
        lines = [f"{a},{b},{c}" for a, b, c in zip(SIZE.tolist(), CITY, PRICE.tolist())]
        german = [s.replace(",", ";").replace(".", ",") for s in lines]
        cases = [({}, "size,city,price", lines, "utf-8"),
                 ({"delimiter": ";", "decimal": ",", "thousands": "."}, "size;city;price", german, "utf-8"),
                 ({"delimiter": ";", "decimal": ",", "encoding": "latin-1"}, "size;city;price", german, "latin-1"),
                 ({"encoding": "utf-16"}, "size,city,price", lines, "utf-16"),
                 ({"skip_lines": 2}, "a report\nof today\nsize,city,price", lines, "utf-8"),
                 ({"decimal": ",", "thousands": "."}, "size,city,price",
                  ['"' + s.replace(";", '","') + '"' for s in german], "utf-8"),
                 ({"header": False, "target": 2}, None, lines, "utf-8")]
        rows = {"size": SIZE[:9], "city": CITY[:9]}
        for data, header, body, encoding in cases:
            with self.subTest(data=data):
                Path("t.csv").write_bytes("\n".join([*([header] if header else []), *body, ""]).encode(encoding))
                self.train("t.csv", **{"target": "price", **data})
                np.testing.assert_allclose(self.predicted(rows), PRICE[:9], atol=0.1)
                self.train({"size": SIZE, "city": CITY, "price": PRICE}, **{"target": "price", **data})
                np.testing.assert_allclose(self.predicted(rows), PRICE[:9], atol=0.1)
        self.train({"size": SIZE, "city": CITY, "price": PRICE}, encoding="latin-1")
        with self.assertRaisesRegex(ValueError, "data.encoding of the recipe is latin-1"):
            self.predicted({"size": [1.5], "city": ["Łódź"]})

    def test_a_text_that_begins_like_a_comment_is_a_row(self):
        tags = np.array(["#1", "b"])[np.arange(60) % 2]
        self.train({"tag": tags, "price": PRICE}, comment="#")
        self.assertEqual(len(self.predicted({"tag": tags})), 60)

    def test_a_word_for_a_missing_cell_among_texts_is_told(self):
        land = [[None, "DE", "US"][i % 3] for i in range(60)]
        self.train({"land": land, "price": PRICE})
        with self.assertWarnsRegex(UserWarning, "column land: the text 'NA' is read as a missing cell"):
            self.predicted({"land": ["NA", "DE"]})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.predicted({"land": [None, "DE", "XX"]})
            self.train({"land": land, "price": PRICE}, missing=[""])
            self.predicted({"land": ["NA", "DE"]})

    def test_days_of_python_stand_in_conditions(self):
        days = np.datetime64("2024-01-01") + np.arange(60)
        for day in (days[20], days[20].item(), datetime.datetime(2024, 1, 21)):
            self.train({"day": days, "size": SIZE, "price": PRICE}, columns={"day": "date"}, where=[{"column": "day", "is": ">=", "value": day}])
            with reprise.open("a.reprise") as a:
                self.assertEqual(a.recipe["data"]["where"][0]["value"], "2024-01-21")
                self.assertEqual(a.json("data/schema.json")["split"]["rows"], 40)

    def test_days_are_written_in_the_archives_format(self):
        days = np.datetime64("2024-01-01") + np.arange(60)
        price = np.arange(60) * 0.5
        rows = {"day": days[5:9]}
        for form, pattern in (("%d.%m.%Y", "{0:%d.%m.%Y}"), ("%y%m%d", "{0:%y%m%d}"), ("%m/%d/%Y %H:%M", "{0:%m/%d/%Y} 00:00"),
                              ("%d %b %Y", "{0:%d %b %Y}")):
            lines = [f"{pattern.format(d.item())};{p}" for d, p in zip(days, price)]
            Path("t.csv").write_text("\n".join(["day;price", *lines, ""]))
            columns = {"day": {"kind": "date", "format": form}}
            self.train("t.csv", delimiter=";", columns=columns)
            np.testing.assert_allclose(self.predicted(rows), price[5:9], atol=0.01)
            self.train({"day": days, "price": price}, columns=columns)
            np.testing.assert_allclose(self.predicted({"day": [d.item() for d in days[5:9]]}), price[5:9], atol=0.01)
        noon = datetime.datetime(2024, 1, 1, 12, 30)
        for form, day, said in (("%d.%m.%Y", noon, "does not hold"), ("%y%m%d", datetime.date(1950, 1, 1), "does not hold"),
                                ("%Y-%m", datetime.date(2024, 1, 2), "column day, row 1: 2024-01-02")):
            with self.assertRaisesRegex(ValueError, said):
                tables.write_csv({"day": [day]}, "w.csv", tables.Dialect.of({"columns": {"day": {"kind": "date", "format": form}}}))
        written = tables.Dialect.of({"columns": {"t": {"kind": "date", "format": "%d.%m.%Y %H:%M"}}})
        tables.write_csv({"t": [noon, datetime.datetime(2024, 1, 2), None], "n": [1, 2, 3]}, "w.csv", written)
        self.assertEqual(Path("w.csv").read_text(), "t,n\n01.01.2024 12:30,1\n02.01.2024 00:00,2\n,3\n")

    def test_midnights_are_spelt_out_beside_texts_with_carriage_returns(self):
        times = [datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, 5)]
        tables.write_csv({"a": ["x\ry", "z"], "t": times, "n": [0.5, 2]}, "w.csv", tables.Dialect(";", ",", skip_lines=1, comment="z"))
        self.assertEqual(Path("w.csv").read_bytes(), b'\na;t;n\n"x\ry";"2024-01-01T00:00:00";"0,5"\n"z";"2024-01-01T05:00:00";"2"\n')


if __name__ == "__main__":
    unittest.main()
