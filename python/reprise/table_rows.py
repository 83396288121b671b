# SPDX-License-Identifier: Apache-2.0
"""Where tables come from: names of columns and rows of values, of frames, Arrow, NumPy, dicts, cursors, queries, Parquet.

No library is imported unless an object of it is given. What a library would round on its way to Python (nanoseconds of
polars, binary32) is either kept or refused."""
from __future__ import annotations

import hashlib
import importlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Query:
    """The rows of a query, read when they are wanted: `reprise.sql`. Its text, its parameters and their SHA-256 go where the
    archive tells where the rows come from."""

    connection: Any
    text: str
    parameters: Sequence[Any] | Mapping[str, Any] | None = None

    def origin(self) -> str:
        given = json.dumps(self.parameters, ensure_ascii=False, default=str)
        digest = hashlib.sha256(json.dumps([self.text, given], ensure_ascii=False).encode()).hexdigest()
        kind = type(self.connection).__module__.partition(".")[0]
        return f"query by {kind}, SHA-256 {digest}: {self.text}" + ("" if self.parameters is None else f" with {given}")


TableLike = Union[ArrowTable, Cursor, Query, Mapping[str, Any], "np.ndarray[Any, Any]"]


def sql(connection: Any, text: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None) -> Query:
    """A query as a table: of a connection of the Python database interface (sqlite3, duckdb, psycopg, ADBC's dbapi ..), whose
    `cursor()` executes it when the rows are read."""
    if not hasattr(connection, "cursor"):
        raise TypeError(f"{type(connection).__name__} has no cursor(): a connection of the Python database interface is wanted")
    return Query(connection, str(text), parameters)


@dataclass
class Opened:
    """A table that is being read: names, rows, where they come from (None: not known), what to close at the end, and which
    columns are categories by their own type, whatever their values look like."""

    names: list[str]
    rows: Iterable[Sequence[Any]]
    origin: str | None = None
    close: Any = None
    categories: frozenset[str] = frozenset()


def opened(table: Any) -> Opened:
    if isinstance(table, (str, os.PathLike)):
        return parquet(os.fspath(table))
    if isinstance(table, Query):
        cursor = table.connection.cursor()
        cursor.execute(table.text, *(() if table.parameters is None else (table.parameters,)))
        names, rows = cursor_table(cursor)
        return Opened(names, rows, table.origin(), cursor.close)
    return Opened(*header_and_rows(table), categories=declared(table))


def declared(table: Any) -> frozenset[str]:
    """The columns of pandas' dtype `category` and of Arrow's dictionaries, of frames, tables and dicts of columns."""
    if isinstance(table, Mapping):
        return frozenset(str(k) for k, v in table.items() if str(getattr(v, "dtype", "")) == "category")
    if hasattr(table, "itertuples") and hasattr(table, "columns"):
        return frozenset(str(n) for n, d in zip(table.columns, table.dtypes) if str(d).startswith(("category", "dictionary<")))
    schema: Any = getattr(table, "schema", None)
    known = type(schema).__module__.partition(".")[0] == "pyarrow"
    return frozenset(str(f.name) for f in schema if str(f.type).startswith("dictionary<")) if known else frozenset()


def parquet(path: str) -> Opened:
    """A Parquet file, a batch of rows at a time, and its digest."""
    module = importlib.import_module("pyarrow.parquet")
    if os.path.isdir(path):
        raise ValueError(f"{path} is a folder: a data set of several files is given as a table that was read from it")
    f = open(path, "rb")
    try:
        digest = hashlib.file_digest(f, "sha256").hexdigest()
        size = f.tell()
        f.seek(0)
        found = module.ParquetFile(f)
        names = [str(n) for n in found.schema_arrow.names]
    except BaseException:
        f.close()
        raise
    rows = (row for batch in found.iter_batches(65536) for row in batch_rows(batch))
    return Opened(names, rows, f"Parquet file {os.path.basename(path)}, {size} bytes, SHA-256 {digest}, "
                  f"{found.metadata.num_rows} rows", f.close)


def header_and_rows(table: Any) -> tuple[list[str], Iterable[Sequence[Any]]]:
    if isinstance(table, Mapping):
        if len({str(k) for k in table}) != len(table):
            raise ValueError(f"two columns have one name: {[str(k) for k in table]}")
        return columns_rows({str(k): v for k, v in table.items()})
    if isinstance(table, np.ndarray):
        return array_rows(table)
    if hasattr(table, "itertuples") and hasattr(table, "columns"):
        return pandas_table(table)
    if type(table).__module__.partition(".")[0] == "polars" and hasattr(table, "iter_rows"):
        return polars_table(table)
    if isinstance(table, ArrowTable):
        return arrow_rows(table)
    if isinstance(table, Cursor):
        return cursor_table(table)
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


def pandas_table(frame: Any) -> tuple[list[str], Iterable[Sequence[Any]]]:
    """Its columns; an index with a name is one that was meant, and is no column."""
    if any(n is not None for n in frame.index.names):
        raise ValueError(f"the frame has an index {list(frame.index.names)}, which is no column: frame.reset_index() makes it one, "
                         "frame.reset_index(drop=True) leaves it out")
    bad = [c for c in frame.columns if isinstance(c, tuple)]
    if bad:
        raise ValueError(f"a column is named {bad[0]!r}, in two levels: frame.columns = [..] gives each one name")
    return [str(c) for c in frame.columns], zip(*[narrow(frame.iloc[:, i], str(d)) for i, d in enumerate(frame.dtypes)])


def polars_table(frame: Any) -> tuple[list[str], Iterable[Sequence[Any]]]:
    names = [str(c) for c in frame.columns]
    for name, kind in zip(names, map(str, frame.dtypes)):
        column = frame[name]
        if "'ns'" in kind or kind == "Time":  # which polars cuts to microseconds on their way to Python
            whole = column.to_physical()
            if (whole % 1000 != 0).any():
                raise ValueError(f"column {name}: times of nanoseconds; dates are in whole microseconds")
    return names, zip(*[narrow(frame[n], str(d)) for n, d in zip(names, frame.dtypes)])


def narrow(column: Any, kind: str) -> Iterable[Any]:
    """A column's values; binary32 stays binary32, so that its decimals are as short as the numbers are."""
    if kind.lower() in ("float32", "float16", "float32[pyarrow]", "float[pyarrow]"):
        wide = np.float16 if kind == "float16" else np.float32
        return (v if v is None or type(v).__name__ == "NAType" else wide(v) for v in column)
    values: Iterable[Any] = column
    return values


def arrow_rows(table: Any) -> tuple[list[str], Iterable[Sequence[Any]]]:
    """A stream of batches, some rows of each at a time."""
    stream = importlib.import_module("pyarrow").RecordBatchReader.from_stream(table)
    rows = (row for batch in stream for at in range(0, batch.num_rows, 65536) for row in batch_rows(batch.slice(at, 65536)))
    return [str(n) for n in stream.schema.names], rows


def batch_rows(batch: Any) -> Iterator[Sequence[Any]]:
    return zip(*[narrow_list(column) for column in batch.columns])


def narrow_list(column: Any) -> list[Any]:
    """A column's values; binary32 stays binary32, so that its decimals are as short as the numbers are."""
    if str(column.type) == "time64[ns]":  # which Python's time would be cut from
        column = column.cast("time64[us]")
    values = column.to_pylist()
    if str(column.type) == "float":
        return [None if v is None else np.float32(v) for v in values]
    return list(values)


def cursor_table(cursor: Cursor) -> tuple[list[str], Iterable[Sequence[Any]]]:
    if cursor.description is None:
        raise ValueError("a cursor without a result: execute a query that selects rows first")
    return [str(d[0]) for d in cursor.description], cursor_rows(cursor)


def cursor_rows(cursor: Cursor) -> Iterator[Sequence[Any]]:
    while True:
        rows = cursor.fetchmany(4096)
        if not rows:
            return
        yield from rows
