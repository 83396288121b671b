# SPDX-License-Identifier: Apache-2.0
"""Tables from other libraries as the CSV that recipes read, and an archive's CSV as columns.

A table is a pandas or polars frame, whatever exports Arrow (`__arrow_c_stream__`), a NumPy array of one or two axes, a
dict of columns, a query (`reprise.sql`) or a cursor after its query; a path that ends in `.parquet` is read by pyarrow.
Numbers are written as the shortest decimal that reads back as the same number, what is missing as an empty cell. What a
CSV would make something else of (an empty text, texts beside numbers in one column) is refused."""
from __future__ import annotations

import collections
import csv
import datetime
import decimal
import io
import math
import os
import re
import uuid
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .table_rows import Query as Query, TableLike as TableLike, opened, sql as sql

MISSING = ("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL",
           "NaN", "None", "n/a", "nan", "null", "?")  # cells that a recipe without `missing` takes for missing (docs/recipe.md)
NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")


def is_table(value: object) -> bool:
    """Whether it is written as a CSV file first; else it is the path of one."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value).endswith(".parquet")
    return True


@dataclass
class Column:
    """What a column's cells were: kinds of value, and of texts what matters to whoever reads them back."""

    name: str
    kinds: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)  # None, NaN
    numbers: bool = True  # all texts look like numbers
    days: int = 0   # datetimes of midnight, written as days
    times: int = 0  # and others
    zones: set[bool] = field(default_factory=set)  # whether a datetime has a time zone
    words: set[str] = field(default_factory=set)  # texts that are words for a missing cell
    category: bool = False  # its own type says so, whatever its values look like
    own_format: bool = False  # its dates are written by a recipe's format
    met: bool = False  # one of its cells is a category that a run has learnt
    strange: str = ""  # the first that is not, of values that are no texts

    def see(self, value: Any, text: str) -> str:
        """What kind of value it is."""
        kind = kind_of(value)
        if text == "" and not isinstance(value, str):
            self.missing.add("NaN" if isinstance(value, (float, np.floating)) else "None")
            return kind
        self.kinds.add(kind)
        if kind == "text":
            if text == "":
                raise ValueError(f"column {self.name}: an empty text, which is a missing cell in a CSV: give None, or another text")
            self.numbers = self.numbers and NUMBER.fullmatch(text) is not None
            if text in MISSING:
                self.words.add(text)
        if isinstance(value, datetime.datetime):
            self.zones.add(value.tzinfo is not None)
        if kind == "datetime":
            self.days, self.times = self.days + (len(text) == 10), self.times + (len(text) != 10)
        return kind

    def check(self) -> None:
        kinds = self.kinds - {"datetime"} | ({"date"} if "datetime" in self.kinds else set())
        if len(kinds) > 1:
            raise ValueError(f"column {self.name}: {' and '.join(sorted(kinds))} in one column, which a CSV does not keep apart: "
                             "make it one of them")
        if "date" in self.kinds and self.times:
            raise ValueError(f"column {self.name}: days and times of a day in one column: make it one of them")
        if len(self.zones) > 1:
            raise ValueError(f"column {self.name}: times with a time zone and without in one column: make it one of them")
        if self.missing == {"NaN", "None"} and self.kinds <= {"number"}:
            raise ValueError(f"column {self.name}: both missing values and NaN, and a CSV has one empty cell: make it one of them")


def kind_of(value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, (datetime.datetime, np.datetime64)):
        return "datetime"
    if isinstance(value, datetime.date):
        return "date"
    if isinstance(value, datetime.time):
        return "time"
    return "number" if isinstance(value, (int, float, np.number, decimal.Decimal)) else "text"


@dataclass
class Written:
    """A table that was written: its columns, how many rows, and where they come from (None: not known)."""

    columns: list[Column]
    rows: int
    origin: str | None

    def typed(self) -> dict[str, str]:
        """The columns whose texts, or categories, a recipe would read as numbers, with the kind that keeps them what they are."""
        return {c.name: "categorical" for c in self.columns
                if c.kinds == {"text"} and c.numbers or c.category and c.kinds == {"number"}}

    def says_missing(self) -> bool:
        """Whether a text is one that a recipe takes for a missing cell unless it says otherwise."""
        return any(c.words for c in self.columns)


@dataclass(frozen=True)
class Dialect:
    """How a recipe reads its table, as far as it decides how one is written."""

    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    header: bool = True
    skip_lines: int = 0
    comment: str | None = None
    dates: Mapping[Any, tuple[str, int]] = field(default_factory=dict)  # columns, by name or index: format and pivot of their dates
    spelled: Mapping[Any, Mapping[Any, str]] = field(default_factory=dict)  # columns: how a category is written that is a number or a boolean
    missing: Mapping[Any, str] = field(default_factory=dict)  # words for a missing cell that are numbers or booleans
    learnt: Mapping[Any, frozenset[str]] = field(default_factory=dict)  # columns: the categories that a run has learnt

    @staticmethod
    def of(data: Any, schema: Any = None) -> Dialect:
        """That of a recipe's section `data`, and of what a run learnt; a value that is none is left for the command to refuse."""
        found = Dialect()
        if not isinstance(data, Mapping):
            return found
        encoding, skip = data.get("encoding", found.encoding), data.get("skip_lines", found.skip_lines)
        return Dialect(one(data.get("delimiter"), found.delimiter), one(data.get("decimal"), found.decimal),
                       encoding if encoding in ("latin-1", "windows-1252", "utf-16") else found.encoding, data.get("header") is not False,
                       skip if isinstance(skip, int) and 0 <= skip < 65536 else 0, one(data.get("comment"), "") or None,
                       formats(data.get("columns")), spellings(schema, data.get("header") is not False, one(data.get("decimal"), ".")),
                       likes(data.get("missing"), one(data.get("decimal"), ".")), categories_of(schema, data.get("header") is not False))

    def text(self, column: Column, index: int, value: Any, text: str) -> str:
        """A cell of that value, whose text is `text` where a recipe says nothing."""
        kind = column.see(value, text)
        written = self.spell(column, index, kind, value, text)
        known = self.learnt.get(column.name, self.learnt.get(index)) if self.learnt and text and kind != "text" else None
        if known:
            column.met = column.met or written in known
            column.strange = column.strange or ("" if written in known else written)
        return written

    def spell(self, column: Column, index: int, kind: str, value: Any, text: str) -> str:
        if kind in ("number", "bool"):
            plain = text if self.decimal == "." or kind == "bool" else text.replace(".", self.decimal)
            known = self.spelled.get(column.name, self.spelled.get(index)) if self.spelled else None
            if not text or not known and not self.missing:
                return plain
            like = likeness(text)
            return self.missing[like] if like in self.missing else known.get(like, plain) if known else plain
        dates = self.dates.get(column.name, self.dates.get(index))
        if dates is None or not text or not isinstance(value, (datetime.date, np.datetime64)):
            return text
        column.own_format = True
        return formatted(exact_date(value) if isinstance(value, np.datetime64) else value, *dates)


def formats(columns: Any) -> dict[Any, tuple[str, int]]:
    """The columns that a recipe, or a resolved one, reads as dates of a format of their own."""
    pairs = columns.items() if isinstance(columns, Mapping) else [(c.get("column"), c) for c in columns or () if isinstance(c, Mapping)]
    return {n: (c["format"], int(c.get("pivot", 69))) for n, c in pairs
            if isinstance(c, Mapping) and c.get("kind") == "date" and str(c.get("format", "iso")) != "iso"}


def likeness(text: str) -> Any:
    """What a category's texts have in common: the number, or the boolean; of others None."""
    if NUMBER.fullmatch(text):
        return decimal.Decimal(text.strip())
    return text.lower() if text.lower() in ("true", "false") else None


def likes(texts: Any, point: str) -> dict[Any, str]:
    """The texts that are numbers or booleans, by what they have in common."""
    given = [t for t in texts if isinstance(t, str)] if isinstance(texts, (list, tuple)) else []
    return {k: t for t in given if (k := likeness(t.replace(point, "."))) is not None}


def spellings(schema: Any, header: bool, point: str) -> dict[Any, dict[Any, str]]:
    """How a run's categories and classes are written that are numbers or booleans: 1 or 1.0, true or True. Of two texts of one number
    neither is chosen."""
    if not isinstance(schema, Mapping):
        return {}
    found: dict[Any, dict[Any, str]] = {}
    for i, column in enumerate(schema.get("columns", ())):
        texts = schema.get("classes") if column.get("kind") == "target" else column.get("categories")
        like = [(likeness(t.replace(point, ".")), t) for t in texts or () if isinstance(t, str)]
        count = collections.Counter(k for k, _ in like)
        found[column.get("name") if header else i] = {k: t for k, t in like if k is not None and count[k] == 1}
    return found


def categories_of(schema: Any, header: bool) -> dict[Any, frozenset[str]]:
    columns = schema.get("columns", ()) if isinstance(schema, Mapping) else ()
    return {c.get("name") if header else i: frozenset(c["categories"]) for i, c in enumerate(columns) if c.get("categories")}


MONTHS = "January February March April May June July August September October November December".split()


def formatted(value: datetime.date, form: str, pivot: int) -> str:
    """A day or a time as a recipe's format has it (docs/recipe.md, Dates), in English whatever the locale is.
    Errors: ValueError where the format would lose a part of it."""
    moment = value if isinstance(value, datetime.datetime) else datetime.datetime(value.year, value.month, value.day)
    parts = {"Y": f"{moment.year:04d}", "y": f"{moment.year % 100:02d}", "m": f"{moment.month:02d}", "d": f"{moment.day:02d}",
             "b": MONTHS[moment.month - 1][:3], "B": MONTHS[moment.month - 1], "H": f"{moment.hour:02d}", "M": f"{moment.minute:02d}",
             "S": f"{moment.second:02d}"}
    text = re.sub("%([YymdbBHMS])", lambda m: parts[m[1]], form)
    kept = [("%Y" in form or "%y" in form and moment.year == moment.year % 100 + (1900 if moment.year % 100 >= pivot else 2000)),
            any(t in form for t in ("%m", "%b", "%B")), "%d" in form or moment.day == 1, "%H" in form or moment.hour == 0,
            "%M" in form or moment.minute == 0, "%S" in form or moment.second == 0, moment.tzinfo is None,
            moment.microsecond == 0 and getattr(moment, "nanosecond", 0) == 0]
    if not all(kept):
        raise ValueError(f"{value.isoformat()}, which the recipe's format {form!r} of this column does not hold: round it to what the format has")
    return text


def one(value: Any, otherwise: str) -> str:
    return value if isinstance(value, str) and len(value) == 1 and value not in '"\r\n' else otherwise


PLAIN = Dialect()


class Lines:
    """Writes rows as lines that a recipe's reader takes for the same cells."""

    def __init__(self, file: Any, dialect: Dialect) -> None:
        self.file, self.dialect = file, dialect
        self.out = csv.writer(file, delimiter=dialect.delimiter, lineterminator="\n")

    def write(self, cells: list[str]) -> None:
        comment = self.dialect.comment
        if cells == [""]:
            self.file.write('""\n')  # a line without anything would be no row
        elif any("\r" in c for c in cells) or comment is not None and cells[0].startswith(comment):
            # carriage returns, which csv quotes only where they end its own lines, and what would be passed over
            self.file.write(self.dialect.delimiter.join('"' + c.replace('"', '""') + '"' if c else "" for c in cells) + "\n")
        else:
            self.out.writerow(cells)


def write_csv(table: Any, path: str, dialect: Dialect = PLAIN) -> Written:
    """Writes a table as CSV: a line of names, then a line a row; by a recipe's dialect, so that it reads the very table.
    Errors: ValueError, TypeError for what a CSV has not, with the column."""
    source = opened(table)
    try:
        found = write_rows(source.names, source.rows, path, source.categories, dialect)
    except UnicodeEncodeError as e:
        raise ValueError(f"a text with {e.object[e.start:e.end]!r}, which {e.encoding} has not: data.encoding of the recipe is "
                         f"{dialect.encoding}") from None
    finally:
        if source.close is not None:
            source.close()
    found.origin = source.origin
    mixed = {i for i, c in enumerate(found.columns) if c.days and c.times and not c.own_format}
    if mixed:
        spell_out(path, mixed, dialect)
    return found


def spell_out(path: str, columns: set[int], dialect: Dialect) -> None:
    """Midnights of columns that have other times too, as times."""
    with (open(path, encoding=dialect.encoding, newline="") as old,
          open(path + ".new", "w", encoding=dialect.encoding, newline="") as new):
        for _ in range(dialect.skip_lines):
            new.write(old.readline())
        lines = Lines(new, dialect)
        for line, row in enumerate(csv.reader(old, delimiter=dialect.delimiter)):
            first = line == 0 and dialect.header
            lines.write([v + "T00:00:00" if not first and i in columns and len(v) == 10 else v for i, v in enumerate(row)])
    os.replace(path + ".new", path)


def write_rows(names: list[str], rows: Any, path: str, categories: frozenset[str], dialect: Dialect) -> Written:
    if len(set(names)) != len(names) or not names:
        raise ValueError(f"a table's columns need names, each its own: {names}")
    odd = [n for n in names if "\r" in n or n.startswith("\ufeff")]
    if odd:
        raise ValueError(f"a column is named {odd[0]!r}: a CSV's reader takes a carriage return for the end of a line, and a mark of "
                         "the byte order for no part of the text")
    columns, count = [Column(n, category=n in categories) for n in names], 0
    with open(path, "w", encoding=dialect.encoding, newline="") as f:
        f.write("\n" * dialect.skip_lines)
        lines = Lines(f, dialect)
        if dialect.header:
            lines.write(names)
        for row in rows:
            if len(row) != len(names):
                raise ValueError(f"a row of {len(row)} cells where there are {len(names)} columns")
            cells: list[str] = []
            for column, value in zip(columns, row):
                try:
                    cells.append(dialect.text(column, len(cells), value, cell(value)))
                except (TypeError, ValueError) as e:
                    raise type(e)(str(e) if str(e).startswith("column ") else f"column {column.name}, row {count + 1}: {e}") from None
            count += 1
            lines.write(cells)
    for column in columns:
        column.check()
        if column.strange and not column.met:
            warnings.warn(f"column {column.name}: none of its values is a category that the archive has learnt, such as {column.strange!r}: "
                          "give the texts of the categories", UserWarning, stacklevel=2)
    return Written(columns, count, None)


def cell(value: Any) -> str:
    """One value as a cell."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, np.generic):
        if isinstance(value, np.floating):
            return "" if np.isnan(value) else number(str(value), float(value))
        if isinstance(value, np.datetime64):
            return "" if np.isnat(value) else date_cell(exact_date(value))
        if isinstance(value, np.timedelta64):
            raise TypeError("a cell that is timedelta64: a length of time is written as a number of a unit of your choice")
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "" if math.isnan(value) else number(repr(value), value)
    if isinstance(value, (datetime.datetime, datetime.date)):
        return date_cell(value)
    if isinstance(value, decimal.Decimal):
        if not value.is_finite():
            raise ValueError(f"a cell that is the decimal {value}: recipes read finite numbers, and None is missing")
        return str(value)
    if not isinstance(value, (str, int, datetime.time, uuid.UUID)):
        raise TypeError(f"a cell that is {type(value).__name__}: only numbers, texts, booleans, dates, times and None are cells")
    text = value.isoformat() if isinstance(value, datetime.time) else str(value)
    if "\0" in text:
        raise ValueError("a cell with a zero byte")
    return text


def number(text: str, value: float) -> str:
    """A float, whole ones as the integer that they are (of at most 15 digits): a column of integers becomes one of floats where
    a value is missing, and as categories or classes 1 and 1.0 are the same then."""
    if math.isinf(value):
        raise ValueError("a cell that is infinite: recipes read finite numbers")
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else text


def exact_date(value: Any) -> datetime.date:
    """NumPy's date as Python's, whose unit is the microsecond and whose years are 1 to 9999."""
    micro = value.astype("datetime64[us]")
    found = micro.item()
    if not isinstance(found, datetime.date) or micro != value:
        raise ValueError(f"a cell that is {value}: dates are of the years 1 to 9999, in whole microseconds")
    return found


def date_cell(value: datetime.date) -> str:
    """A day where the time is midnight, so that a column of days is one."""
    if isinstance(value, datetime.datetime):
        if (value.hour, value.minute, value.second, value.microsecond,
            getattr(value, "nanosecond", 0)) != (0, 0, 0, 0, 0) or value.tzinfo is not None:
            return value.isoformat()
        value = value.date()
    return value.isoformat()


def read_csv(data: bytes, delimiter: str = ",", header: bool = True, encoding: str = "utf-8",
             skip_lines: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """An archive's CSV as columns: integers or binary64 where every cell is a number or empty, else texts, as
    where binary64 does not hold an integer or an end. Without a header
    the columns' names are their numbers from 0."""
    text = io.StringIO(data.decode(encoding).removeprefix("\ufeff"), newline="")  # ends lines at CR and LF alone
    for _ in range(skip_lines):
        text.readline()
    try:
        rows = list(csv.reader(text, delimiter=delimiter))
    except csv.Error as e:
        raise ValueError(str(e)) from None
    names = [str(i) for i in range(len(rows[0]))] if rows and not header else rows.pop(0) if rows else []
    if len(set(names)) != len(names):
        raise ValueError(f"two columns have one name: {', '.join(sorted({n for n in names if names.count(n) > 1}))}")
    for i, row in enumerate(rows):
        if len(row) != len(names):
            raise ValueError(f"row {i + 1} has {len(row)} cells, the first line {len(names)}")
    return {n: typed([row[i] for row in rows]) for i, n in enumerate(names)}


WHOLE = re.compile(r"-?[0-9]{1,40}")
NO_NUMBER = re.compile(r"-?0\d|.*[^\x00-\x7f]|.*_", re.S)  # a code such as 01234, and what float() alone takes for a number


def typed(texts: list[str]) -> np.ndarray[Any, Any]:
    try:
        if any(NO_NUMBER.match(t) or t.strip() and t.strip()[-1] not in "0123456789." and t not in ("inf", "-inf", "nan")
               for t in texts):
            return np.array(texts, dtype=object)
        whole = [int(t) if WHOLE.fullmatch(t) else None for t in texts]
        if all(n is not None and -2 ** 63 <= n < 2 ** 63 for n in whole):
            return np.array(whole, dtype=np.int64)
        found = np.array([float(t) if t else math.nan for t in texts], dtype=np.float64)
        if any(n is not None and n != x for n, x in zip(whole, found.tolist())) or \
                any(math.isinf(x) and t.strip() not in ("inf", "-inf") for t, x in zip(texts, found.tolist())):
            return np.array(texts, dtype=object)  # numbers that binary64 does not hold
        return found
    except ValueError:
        return np.array(texts, dtype=object)
