# SPDX-License-Identifier: Apache-2.0
"""Nothing of a built site is fetched from elsewhere when it is viewed, and no link inside of it leads nowhere.

Usage: closed.py SITE_DIR. Looks at every src, srcset, poster and data, at href of link, use and image, at url() and @import in styles,
and follows every a href that stays inside, its anchor too."""
from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

OUTSIDE = re.compile(r"^\s*(?:[a-z][a-z0-9+.-]*:)?//", re.I)
FETCHED = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)", re.I)


class Page(HTMLParser):
    """What a page fetches, where it links, and which anchors it has."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if not value:
                continue
            if name in ("id", "name"):
                self.anchors.add(value)
            if name in ("src", "srcset", "poster") or name == "data" and tag == "object":
                self.fetched.append(value)
            elif name in ("href", "xlink:href"):
                (self.links if tag == "a" else self.fetched).append(value)
            elif name == "style":
                self.fetched += [a or b for a, b in FETCHED.findall(value)]


def main() -> None:
    root = Path(sys.argv[1]).resolve()
    pages: dict[Path, Page] = {}
    failures: list[str] = []
    for path in sorted(root.rglob("*.html")):
        pages[path] = Page()
        pages[path].feed(path.read_text(encoding="utf-8"))
        failures += [f"{path.relative_to(root)} fetches {at}" for at in pages[path].fetched if OUTSIDE.match(at)]
    for path in sorted([*root.rglob("*.css"), *root.rglob("*.svg")]):
        text = path.read_text(encoding="utf-8")
        found = [a or b for a, b in FETCHED.findall(text)] + re.findall(r"""(?:xlink:href|src)=["']([^"']+)""", text)
        failures += [f"{path.relative_to(root)} fetches {at}" for at in found if OUTSIDE.match(at)]
    for path, page in pages.items():
        for at in [*page.links, *page.fetched]:
            parts = urlsplit(at)
            if parts.scheme or parts.netloc:
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not to.is_file():
                failures.append(f"{path.relative_to(root)} leads to {at}, which is not there")
            elif parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].anchors and parts.fragment != "top":
                failures.append(f"{path.relative_to(root)} leads to {at}, which has no such anchor")
    if failures or not pages:
        more = [f"and {len(failures) - 40} more"] if len(failures) > 40 else []
        sys.exit("\n".join(failures[:40] + more) or f"{root} has no pages")
    print(f"{len(pages)} pages; nothing is fetched from elsewhere; every link inside leads somewhere")


if __name__ == "__main__":
    main()
