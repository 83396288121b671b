# SPDX-License-Identifier: Apache-2.0
"""What comments and docstrings refer to in words (rp/run.h, docs/nn.md, CONTRACT 4.4, FORMAT 9) as links of the reference's pages."""
from __future__ import annotations

import re
from pathlib import Path

TEXTS = {"CONTRACT": "determinism/CONTRACT.md", "FORMAT": "audit/FORMAT.md"}
WORDS = re.compile(r"(?<![\w/`\[])(?:include/)?rp/(?P<header>\w+)\.h|(?<![\w/`\[])docs/(?P<page>[\w-]+)\.md|"
                   r"(?<![\w/`\[])(?P<whole>determinism/CONTRACT|audit/FORMAT)\.md|"
                   r"(?<![\w/`\[])(?P<text>CONTRACT|FORMAT)(?:\.md)? (?P<clause>\d+[a-z]?(?:\.\d+[a-z]?)*)")


class References:
    """The places of a checkout's headers, documents and clauses, as seen from a folder one below the site's root."""

    def __init__(self, root: Path) -> None:
        self.headers = {p.stem for p in (root / "include/rp").glob("*.h")}
        self.pages = {p.stem for p in (root / "docs").glob("*.md")}
        self.clauses: dict[tuple[str, str], str] = {}
        for name, path in TEXTS.items():
            for number, title in re.findall(r"^#+ (\d+[a-z]?(?:\.\d+[a-z]?)*) (.*)$", (root / path).read_text(encoding="utf-8"), re.M):
                slug = re.sub(r"[^\w\- ]", "", f"{number} {title}".lower()).replace(" ", "-")
                self.clauses[name, number] = f"../{name.lower()}.md#{slug}"

    def linked(self, text: str) -> str:
        """The text (Markdown) with links for what it refers to; what is not known stays as it is."""
        def link(m: re.Match[str]) -> str:
            if m["header"]:
                return f"[{m[0]}](../c/{m['header']}.md)" if m["header"] in self.headers else m[0]
            if m["page"]:
                return f"[{m[0]}](../{m['page']}.md)" if m["page"] in self.pages else m[0]
            if m["whole"]:
                return f"[{m[0]}](../{m['whole'].split('/')[1].lower()}.md)"
            place = self.clauses.get((m["text"], m["clause"]))
            return f"[{m[0]}]({place})" if place else m[0]
        return WORDS.sub(link, text)
