#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every link between the repository's Markdown files leads to a file or folder that is there, and every anchor to a heading, as a
forge makes anchors of headings; the site takes the same links. Usage: links.py SOURCE_DIR"""
import re
import sys
from pathlib import Path

LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")


def prose(text: str) -> str:
    """The text without fenced blocks and without comments."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return re.sub(r"<!--.*?-->", "", text, flags=re.S)


def anchors(text: str) -> set[str]:
    """What a forge calls the headings: lower case, no punctuation, a dash for a space, -1 for the second of a name."""
    found: dict[str, int] = {}
    names = set()
    for heading in re.findall(r"^#+ +(.*?) *$", prose(text), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        names.add(name if name not in found else f"{name}-{found[name]}")
        found[name] = found.get(name, 0) + 1
    return names


def main() -> None:
    root = Path(sys.argv[1]).resolve()
    documents = sorted([*root.glob("*.md"), *(p for d in ("audit", "determinism", "docs", "golden") for p in (root / d).rglob("*.md"))])
    texts = {p: p.read_text(encoding="utf-8") for p in documents}
    headings = {p: anchors(t) for p, t in texts.items()}
    failures, seen = [], 0
    for path, text in texts.items():
        for at in LINK.findall(re.sub(r"`[^`\n]*`", "``", prose(text))):
            if re.match(r"[a-z]+:", at):
                continue
            seen += 1
            file, _, anchor = at.partition("#")
            to = (path.parent / file).resolve() if file else path
            if not to.exists():
                failures.append(f"{path.relative_to(root)} links to {at}, which does not exist")
            elif anchor and anchor not in headings.get(to, set()):
                failures.append(f"{path.relative_to(root)} links to {at}, which has no such heading")
    if failures or seen < 100:
        sys.exit("\n".join(failures) or f"only {seen} links were found")
    print(f"{seen} links of {len(texts)} documents lead somewhere")


if __name__ == "__main__":
    main()
