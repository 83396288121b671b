#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every fenced block of README.md and docs/ is run by a test, or is a transcript that says what it needs: a new one in a language or
document that no test runs is a failure. Usage: blocks.py SOURCE_DIR [list], which prints who runs what."""
import re
import sys
from pathlib import Path

root = Path(sys.argv[1]).resolve()
cmake = (root / "tests/CMakeLists.txt").read_text(encoding="utf-8")
sessions = set(re.findall(r"SOURCE_DIR}/(docs/[\w/-]+\.md) \$", cmake))
for pages in re.findall(r"foreach\(page ([^)]*)\)", cmake):
    sessions |= {f"docs/{page}.md" for page in pages.split()}


def tested(path: str, language: str) -> str:
    """The ctest that runs a document's blocks of a language; "" where none does."""
    python = re.fullmatch(r"README\.md|docs/(python[\w-]*|start/[\w-]+)\.md", path)
    return {"sh": "documentation" if path == "README.md" else "document_recipes" if path == "docs/exact-models.md" else
            "a session" if path in sessions else "",
            "python": "python" if python else "cli_replay" if path == "docs/replay.md" else "",
            "c": "documentation" if path.startswith("docs/") else "",
            "yaml": "document_recipes" if path.startswith("docs/") else "",
            "pem": "test_log" if path == "docs/log.md" else "",
            "text": "what a session prints, a form or a file"}.get(language, "")


failures, counts = [], {}
for file in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
    path, inside = str(file.relative_to(root)), False
    for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
        fence = re.match(r"\s*```(.*)$", line)
        if fence and not inside:
            language, _, needs = fence[1].partition(" ")
            by = f"transcript, {needs}" if language == "console" and needs.startswith("needs ") else tested(path, language)
            counts[path, language, by] = counts.get((path, language, by), 0) + 1
            if not by:
                failures.append(f"{path}:{number}: no test runs a block of {language or 'no language'}; "
                                "a transcript is `console needs ...`")
        inside = inside != bool(fence)
if sys.argv[2:] == ["list"]:
    print("\n".join(f"{n:3} {path} {language}: {by}" for (path, language, by), n in counts.items()))
if failures or sum(counts.values()) < 50:
    sys.exit("\n".join(failures) or "fewer than 50 blocks were found")
print(f"{sum(counts.values())} blocks, each with a test or a reason")
