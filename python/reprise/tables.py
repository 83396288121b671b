# SPDX-License-Identifier: Apache-2.0
"""Tables from other libraries as the CSV that recipes read, and an archive's CSV as columns.

A table is a pandas or polars frame, whatever exports Arrow (`__arrow_c_stream__`), a NumPy array of one or two axes, a
dict of columns, or a cursor of the Python database interface after its query; a path that ends in `.parquet` is read by
pyarrow. None of these libraries is imported unless such an object is given. Numbers are written as the shortest
decimal that reads back as the same number, so nothing of a table is rounded; what is missing is an empty cell."""
from __future__ import annotations

import csv
import datetime
import importlib
import io
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, Union, runtime_checkable

import numpy as np


@runtime_checkable
class ArrowTable(Protocol):
    """What exports a stream of Arrow batches: pyarrow, polars, pandas, duckdb."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


@runtime_checkable
class Cursor(Protocol):
    """A cursor of the Python database interface (PEP 249) that has executed a query."""

    @property
    def description(self) -> Any: ...

    def fetchmany(self, size: int) -> Sequence[Sequence[Any]]: ...


TableLike = Union[ArrowTable, Cursor, Mapping[str, Any], "np.ndarray[Any, Any]"]


def is_table(value: object) -> bool:
    """Whether it is written as a CSV file first; else it is the path of one."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value).endswith(".parquet")
    return True


def write_csv(table: Any, path: str) -> None:
    """Writes a table as CSV: a line of names, then a line a row."""
    names, rows = header_and_rows(table)
    if len(set(names)) != len(names) or not names:
        raise ValueError(f"a table's columns need names, each its own: {names}")
    with open(path, "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(names)
        for row in rows:
            cells = [cell(v) for v in row]
            if len(cells) != len(names):
                raise ValueError(f"a row of {len(cells)} cells where there are {len(names)} columns")
            if len(cells) == 1 and cells[0] == "":
                f.write('""\n')  # a line without anything would be no row
            else:
                out.writerow(cells)


def header_and_rows(table: Any) -> tuple[list[str], Iterable[Sequence[Any]]]:
    if isinstance(table, (str, os.PathLike)):
        return arrow_rows(importlib.import_module("pyarrow.parquet").read_table(os.fspath(table)))
    if isinstance(table, Mapping):
        return columns_rows({str(k): v for k, v in table.items()})
    if isinstance(table, np.ndarray):
        return array_rows(table)
    if hasattr(table, "itertuples") and hasattr(table, "columns"):
        return [str(c) for c in table.columns], table.itertuples(index=False, name=None)
    if isinstance(table, ArrowTable):
        return arrow_rows(importlib.import_module("pyarrow").table(table))
    if hasattr(table, "iter_rows") and hasattr(table, "columns"):
        return [str(c) for c in table.columns], table.iter_rows()
    if isinstance(table, Cursor):
        if table.description is None:
            raise ValueError("a cursor without a result: execute a query that selects rows first")
        return [str(d[0]) for d in table.description], cursor_rows(table)
    raise TypeError(f"{type(table).__name__} is no table: a path, a pandas, polars or Arrow table, a NumPy array, a dict "
                    "of columns, or a cursor")


def columns_rows(columns: dict[str, Any]) -> tuple[list[str], Iterable[Sequence[Any]]]:
    lists = [list(v) for v in columns.values()]
    if len({len(v) for v in lists}) > 1:
        raise ValueError(f"columns of different lengths: { {k: len(v) for k, v in zip(columns, lists)} }")
    return list(columns), zip(*lists)


def array_rows(a: np.ndarray[Any, Any]) -> tuple[list[str], Iterable[Sequence[Any]]]:
    if a.dtype.names:
        if a.ndim != 1:
            raise ValueError(f"an array of records needs one axis, not {a.ndim}")
        return list(a.dtype.names), (list(r) for r in a)
    if a.ndim not in (1, 2) or a.dtype.kind not in "bifuUO":
        raise ValueError(f"an array of {a.ndim} axes of {a.dtype} is no table: one or two axes of numbers or texts")
    wide = a if a.ndim == 2 else a[:, None]
    return [f"x{i}" for i in range(wide.shape[1])], iter(wide)


def arrow_rows(table: Any) -> tuple[list[str], Iterable[Sequence[Any]]]:
    def rows() -> Iterator[Sequence[Any]]:
        for batch in table.to_batches(max_chunksize=65536):
            yield from zip(*[narrow_list(column) for column in batch.columns])
    return [str(n) for n in table.column_names], rows()


def narrow_list(column: Any) -> list[Any]:
    """A column's values; binary32 stays binary32, so that its decimals are as short as the numbers are."""
    values = column.to_pylist()
    if str(column.type) == "float":
        return [None if v is None else np.float32(v) for v in values]
    return list(values)


def cursor_rows(cursor: Cursor) -> Iterator[Sequence[Any]]:
    while True:
        rows = cursor.fetchmany(4096)
        if not rows:
            return
        yield from rows


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
    if isinstance(value, (bytes, bytearray, memoryview, complex, list, tuple, dict)):
        raise TypeError(f"a cell that is {type(value).__name__}: only numbers, texts, booleans, dates and None are cells")
    text = str(value)
    if "\0" in text:
        raise ValueError("a cell with a zero byte")
    return text


def number(text: str, value: float) -> str:
    if math.isinf(value):
        raise ValueError("a cell that is infinite: recipes read finite numbers")
    return text


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
    """An archive's CSV as columns: integers or binary64 where every cell is a number or empty, else texts. Without a header
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


NO_NUMBER = re.compile(r"-?0\d|.*[^\x00-\x7f]|.*_", re.S)  # a code such as 01234, and what float() alone takes for a number


def typed(texts: list[str]) -> np.ndarray[Any, Any]:
    try:
        if any(NO_NUMBER.match(t) or t.strip() and t.strip()[-1] not in "0123456789." and t not in ("inf", "-inf", "nan")
               for t in texts):
            return np.array(texts, dtype=object)
        if all(t and t.lstrip("-").isdigit() and len(t) < 18 for t in texts):
            return np.array([int(t) for t in texts], dtype=np.int64)
        return np.array([float(t) if t else math.nan for t in texts], dtype=np.float64)
    except ValueError:
        return np.array(texts, dtype=object)
