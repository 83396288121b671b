# SPDX-License-Identifier: Apache-2.0
"""Calls the command `reprise` with `--json` as a process and gives what it says as a typed result, or raises.

The functions themselves, one for each of the command's, are in command_calls.py and their results in
command_results.py: both are written by scripts/python-commands.py from the tables by which the command parses."""
from __future__ import annotations

import datetime
import importlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar, Union

import numpy as np

from . import _core
from .tables import Dialect, TableLike, Written, cell, is_table, write_csv

PathLike = Union[str, "os.PathLike[str]"]
Document = Union[PathLike, Mapping[str, Any]]
Table = Union[PathLike, TableLike]
Value = Union[str, int, float]
SCHEMA = 1


class CommandError(_core.Error, RuntimeError):
    """What the command refused or found to be wrong.

    code        its status, such as ``RP_EHASH``
    message     the line that it writes for people: what, where, expected, found
    exit        the process's exit code: 2 usage, 3 bits differ, 4 an archive that does not verify, 5 not supported ...; also ``exit_code``
    difference  of an error of different bits: ``member``, ``step``, ``value``, ``expected``, ``found``, which the error has itself too;
                else None
    command     the words that were called"""
    exit_code: int  # which other errors may lack

    def __init__(self, code: str, message: str, exit: int, difference: Mapping[str, Any] | None = None,
                 command: Sequence[str] = ()) -> None:
        super().__init__(f"{message} [{code}]")
        self.code, self.message, self.exit, self.exit_code = code, message, exit, exit
        self.difference = None if difference is None else dict(difference)
        where = self.difference or {}
        self.member, self.step, self.value = where.get("member"), where.get("step"), where.get("value")
        self.expected, self.found = where.get("expected"), where.get("found")
        self.command = tuple(command)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.code, self.message, self.exit, self.difference, self.command)


@dataclass(frozen=True)
class Result:
    """What a command said. ``json`` is its whole document, ``exit`` its exit code: 0, or what docs/json.md says of the
    results that have another."""

    json: dict[str, Any] = field(repr=False)
    exit: int = field(repr=False)
    DOCUMENT: ClassVar[str] = ""

    def _repr_html_(self) -> str:
        from .report_html import rows_html
        return rows_html(f"reprise {self.DOCUMENT}", [(f.name, getattr(self, f.name)) for f in fields(self)
                                                      if f.name not in ("json", "exit")])


R = TypeVar("R", bound=Result)


def executable() -> str:
    """The path of the command: what REPRISE_COMMAND names, else the package's own, else the one that PATH has."""
    named = os.environ.get("REPRISE_COMMAND")
    if named:
        return named
    own = Path(__file__).parent / "bin" / "reprise"
    found = str(own) if own.is_file() else shutil.which("reprise")
    if found is None:
        raise FileNotFoundError(f"no command `reprise`: neither {own} nor a folder of PATH has it")
    return found


def word(value: Any) -> str:
    """A value as the command's arguments have it; NumPy's scalars are Python's."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool) or value is None:
        raise TypeError(f"an option's value is a text, a number or a path, not {value!r}")
    text = repr(value) if isinstance(value, float) else os.fspath(value) if hasattr(value, "__fspath__") else str(value)
    if "\0" in text:
        raise ValueError("an argument with a zero byte")
    return str(text)


def option_words(options: Mapping[str, Any]) -> list[str]:
    """Keyword arguments as options: True is the bare option, None and False none, a list one for each."""
    found: list[str] = []
    for name, value in options.items():
        value = value.item() if isinstance(value, np.generic) else value
        if value is None or value is False:
            continue
        if value is True:
            found.append(f"--{name}")
            continue
        several = isinstance(value, (list, tuple))
        # as one word, so that a value which begins with a dash is a value
        found += [f"--{name}={word(v)}" for v in (value if several else [value])]
    return found


ROLES = ("target", "weight", "offset", "exposure", "denominator", "group", "time", "split")
CARD_MOST = 4000


class Inputs:
    """Files for what is given as objects: recipes as dicts, tables of pandas, Arrow, NumPy, a cursor or Parquet."""

    def __init__(self, folder: str) -> None:
        self.folder, self.count = folder, 0
        self.written: dict[str, Written] = {}

    def path(self, suffix: str) -> str:
        self.count += 1
        return os.path.join(self.folder, f"input{self.count}{suffix}")

    def table(self, table: Any, data: Any = None, schema: Any = None) -> str:
        """A CSV file of a table, as a recipe's section `data` reads one, or the path as it is; `schema` is what a run learnt."""
        if not is_table(table):
            return word(table)
        path = self.path(".csv")
        self.written[path] = write_csv(table, path, Dialect.of(data, schema))
        return path

    def tables(self, value: Any, archive: Any = None) -> Any:
        """An option that takes a table; the rows of an archive's command are read as its run read its own."""
        if value is None:
            return None
        data, schema = own_table(archive) if archive is not None and is_table(value) else ({}, None)
        path = self.table(value, data, schema)
        if path in self.written:
            warn_missing(self.written[path], data)
        return path

    def documents(self, value: Any) -> Any:
        """An option that takes a document."""
        return None if value is None else self.document(value)

    def recipe_or_table(self, value: Any) -> str:
        """A dict of sections is a recipe, any other object that is no path a table."""
        recipe = isinstance(value, Mapping) and isinstance(value.get("data"), Mapping)
        return self.document(value) if recipe else self.table(value)

    def document(self, document: Any) -> str:
        """A file of a dict in canonical JSON, which is YAML too, or the path as it is."""
        if not isinstance(document, Mapping):
            return word(document)
        path = self.path(".yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(canonical(policy_paths(document) if "policy" in document else self.recipe(document)))
        return path

    def recipe(self, recipe: Mapping[str, Any]) -> dict[str, Any]:
        """Its tables written, its paths absolute: they are relative to the recipe, which lies elsewhere."""
        found = {k: dict(v) if isinstance(v, Mapping) else v for k, v in recipe.items()}
        for section, key, table in (("data", "csv", True), ("data", "test_csv", True), ("data", "text", False),
                                    ("data", "arrays", False), ("data", "images", False), ("data", "labels", False),
                                    ("parent", "archive", False), ("model", "program", False),
                                    ("model", "initial", False), ("model", "evaluate", False)):
            at = found.get(section)
            if isinstance(at, dict) and at.get(key) is not None and not (isinstance(at[key], str) and at[key] == "-"):
                value = self.table(at[key], at) if table else word(at[key])
                at[key] = os.path.abspath(value)
                if value in self.written:
                    keep_types(found, self.written[value])
        data = found.get("data")
        if isinstance(data, dict) and data.get("target") is not None and is_npy(data.get("arrays")):
            data["target"] = os.path.abspath(word(data["target"]))
        if found.get("weights") is not None:
            found["weights"] = os.path.abspath(word(found["weights"]))
        return found


def keep_types(recipe: dict[str, Any], table: Written) -> None:
    """What a typed table knows and a CSV does not, as keys of the recipe, where it has none of them: texts that look like
    numbers are categories, texts such as NA are texts. Where the rows come from goes into the card."""
    data = recipe["data"]
    roles = {data.get(k) for k in ROLES if isinstance(data.get(k), str)}
    columns = dict(data.get("columns") or {})
    added = {n: k for n, k in table.typed().items() if n not in columns and n not in roles}
    if added:
        data["columns"] = {**columns, **added}
    if "missing" not in data and table.says_missing():
        data["missing"] = [""]
    if table.origin is not None:
        card = dict(recipe.get("card") or {})
        said = "\n".join(t for t in (card.get("data_source"), f"{table.origin}, written as CSV") if t)
        if len(said.encode()) > CARD_MOST:
            raise ValueError(f"card.data_source: {len(said.encode())} bytes with what is said of the table's origin, where "
                             f"{CARD_MOST} are the most: give a cursor instead of a query, and say yourself where the rows come "
                             f"from: {table.origin[:200]} ...")
        recipe["card"] = {**card, "data_source": said}


def own_table(archive: Any) -> tuple[Mapping[str, Any], Any]:
    """How an archive's run read its table and what it learnt of it; nothing of one that cannot be read, which the command will say."""
    from .archive import Archive

    try:
        with Archive(archive) as a:
            data = (a.recipe or {}).get("data")
            schema = a.json("data/schema.json") if "data/schema.json" in a.members else None
    except Exception:
        return {}, None
    return (data if isinstance(data, Mapping) else {}), schema


def warn_missing(table: Written, data: Mapping[str, Any]) -> None:
    """Says which texts of a typed table are missing cells by the rules of the archive's run, which is not what they were."""
    words = set(data.get("missing") or ())
    for column in table.columns:
        found = sorted(column.words & words)
        if found:
            warnings.warn(f"column {column.name}: the text {found[0]!r} is read as a missing cell, since the archive's run was made with "
                          "data.missing that has it; None says so without a doubt, and where it is a text train with "
                          'data: {missing: [""]}', stacklevel=4)


def is_npy(path: Any) -> bool:
    """Whether arrays are an `.npy` file, beside which `target` is a path and no name."""
    if not isinstance(path, str):
        return False
    try:
        with open(path, "rb") as f:
            start = f.read(6)
    except OSError:
        return False
    packed = start[:2] == b"\x1f\x8b" or start[:4] == b"\x28\xb5\x2f\xfd"
    return start == b"\x93NUMPY" or packed and ".npy" in os.path.basename(path)


def policy_paths(policy: Mapping[str, Any]) -> dict[str, Any]:
    """A policy whose files of groups are absolute: they are relative to the policy, which lies elsewhere."""
    def absolute(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [absolute(v) for v in value]
        text = word(value)
        return text if re.fullmatch("[0-9a-f]{64}", text) or "\n" in text else os.path.abspath(text)

    def group(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {k: absolute(v) if k in ("ca", "tsa", "crl") else v for k, v in value.items()}
        return absolute(value)

    groups = policy.get("groups")
    return dict(policy, groups={k: group(v) for k, v in groups.items()}) if isinstance(groups, Mapping) else dict(policy)


def plain(value: Any) -> Any:
    """What JSON has of a value; NumPy's scalars become Python's, days and times the texts of cells."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if hasattr(value, "__fspath__"):
        return os.fspath(value)
    if isinstance(value, (datetime.date, np.datetime64)):
        return cell(value)
    if hasattr(value, "tolist") and not isinstance(value, (str, bytes)):
        return plain(value.tolist())
    return value


def canonical(value: Any) -> str:
    """JSON without white space, keys in order; what is no number is refused."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


@contextmanager
def inputs() -> Iterator[Inputs]:
    with tempfile.TemporaryDirectory(prefix="reprise-") as folder:
        yield Inputs(folder)


def arguments(words: Sequence[str], operands: Sequence[str], options: Mapping[str, Any]) -> list[str]:
    """The argument list: no shell reads it, and no operand can be taken for an option."""
    given = option_words(options)
    if list(words) in (["compare"], ["inventory"]):  # any number of operands: they come first
        paths = [f"./{o}" if o.startswith("-") else o for o in operands]
        return [executable(), *words, *paths, "--json", *given]
    return [executable(), *words, "--json", *given, *(["--", *operands] if operands else [])]


def call(kind: type[R], words: Sequence[str], operands: Sequence[str], options: Mapping[str, Any],
         progress: bool | None = None) -> R:
    """Calls the command and waits for it; other threads of this process go on meanwhile."""
    given = arguments(words, operands, options)
    out, err, code = run_process(given, " ".join(words), show_progress(progress))
    try:
        found = json.loads(out)
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        said = err.strip() or out.strip() or "nothing"
        raise CommandError("RP_EFORMAT", f"{given[0]} gave no document of version {SCHEMA}, exit code {code}: {said}",
                           code, None, given)
    if "error" in found and isinstance(found["error"], dict):
        e = found["error"]
        raise CommandError(str(e["status"]), str(e["message"]), int(e["exit"]), e.get("difference"), given)
    return result(kind, found, code)


def result(kind: type[R], document: dict[str, Any], code: int = 0) -> R:
    """The typed result of a document; keys that this version does not know stay in ``json``."""
    names = [f.name for f in fields(kind) if f.name not in ("json", "exit")]
    return kind(json=document, exit=code, **{n: document[n] for n in names if n in document})


def policy(archive: PathLike, policy: Document, *, trust: PathLike | Sequence[PathLike] | None = None,
           **options: Any) -> dict[str, Any]:
    """Whether an archive meets a policy (docs/policy.md), a file or a dict of its clauses: ``met`` and the clauses. The
    other options are those of ``verify``."""
    from .command_calls import verify

    found = verify(archive, policy=policy, trust=trust, **options).policy
    assert found is not None
    return found


# ---- the process, and what it says while it works ----

COUNT = re.compile(r"(?:trial )?(\d+)/(\d+)(?:  ETA \S+ s)?(?:  loss (\S+))?\s*$")


def show_progress(wanted: bool | None) -> bool:
    """By default where tqdm is there and somebody may look: a terminal, or a notebook."""
    if importlib.util.find_spec("tqdm") is None:
        return False
    if wanted is None:
        return sys.stderr.isatty() or "ipykernel" in sys.modules
    return wanted


def run_process(given: Sequence[str], label: str, progress: bool) -> tuple[str, str, int]:
    if progress and hasattr(os, "openpty"):
        return run_watched(given, label)
    process = subprocess.Popen(given, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with interruptible(process):
        out, err = process.communicate()
    return out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), process.returncode


@contextmanager
def interruptible(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """An interrupt here is one there, which keeps what can be gone on with; nothing is left behind."""
    try:
        yield
    except BaseException:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        raise


def run_watched(given: Sequence[str], label: str) -> tuple[str, str, int]:
    """Its bar is drawn for a terminal of our own, read and drawn again by tqdm."""
    ours, its = os.openpty()
    environment = dict(os.environ, TERM="xterm", NO_COLOR="1", COLUMNS="100")
    try:
        process = subprocess.Popen(given, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=its,
                                   env=environment)
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(its)
    lines: list[str] = []
    reader = threading.Thread(target=draw, args=(ours, label, lines), daemon=True)
    reader.start()
    with interruptible(process):
        assert process.stdout is not None
        out = process.stdout.read()
        process.wait()
        process.stdout.close()
    reader.join()
    return out.decode("utf-8", "replace"), "\n".join(lines), process.returncode


def draw(terminal: int, label: str, lines: list[str]) -> None:
    tqdm = importlib.import_module("tqdm.auto").tqdm
    rest, bar = "", None
    try:
        while True:
            try:
                got = os.read(terminal, 4096)
            except OSError:  # the other end is closed
                break
            if not got:
                break
            *whole, rest = re.split(r"[\r\n]+", rest + got.decode("utf-8", "replace"))
            for line in whole:
                line = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line).rstrip()
                found = COUNT.search(line)
                if not found:
                    if line:
                        lines.append(line)
                    continue
                done, total = int(found[1]), int(found[2])
                if bar is None or bar.total != total:
                    bar = tqdm(total=total, desc=label, leave=False)
                bar.update(done - bar.n)
                if found[3]:
                    bar.set_postfix(loss=found[3])
    finally:
        if bar is not None:
            bar.close()
        os.close(terminal)
