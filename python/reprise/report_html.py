# SPDX-License-Identifier: Apache-2.0
"""HTML for notebooks. What archives hold is untrusted: every text is escaped and cut, and nothing is a link or a script."""
from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

LONGEST = 400
MOST_ROWS = 60


def escaped(value: Any) -> str:
    """A value as text that a page shows and does not obey, at most LONGEST characters of it."""
    if isinstance(value, float):
        text = repr(value)
    elif isinstance(value, Mapping):
        text = f"{{{', '.join(map(str, list(value)[:20]))}}}" if value else "{}"
    elif isinstance(value, (list, tuple)):
        text = f"{len(value)} entries" if len(value) > 8 or any(isinstance(v, (Mapping, list)) for v in value) else \
            ", ".join(map(str, value))
    else:
        text = "" if value is None else str(value)
    if len(text) > LONGEST:
        text = text[:LONGEST] + " ..."
    return html.escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


def rows_html(title: str, rows: Iterable[tuple[str, Any]]) -> str:
    """A table of names and values."""
    body = "".join(f"<tr><th style='text-align:left'>{escaped(n)}</th><td style='text-align:left'>{escaped(v)}</td></tr>"
                   for n, v in rows)
    return f"<div><b>{escaped(title)}</b><table>{body}</table></div>"


def table_html(title: str, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table with a line of names; of many rows the first ones, and how many there are."""
    head = "".join(f"<th>{escaped(n)}</th>" for n in names)
    body = "".join("<tr>" + "".join(f"<td>{escaped(v)}</td>" for v in row) + "</tr>" for row in rows[:MOST_ROWS])
    more = f"<p>{len(rows) - MOST_ROWS} more</p>" if len(rows) > MOST_ROWS else ""
    return f"<div><b>{escaped(title)}</b><table><tr>{head}</tr>{body}</table>{more}</div>"
