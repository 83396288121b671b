# SPDX-License-Identifier: Apache-2.0
"""Makes the site's sources: the repository's own Markdown, its links turned to the site's places, and the references.

Usage: stage.py SOURCE_DIR OUT_DIR. A link to a document becomes one to its page; to another file of the repository, one to a page
that shows it; to an HTML file, one to a copy. A link to nothing is an error. Anchors are left for Sphinx, which knows them."""
from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path, PurePosixPath

import c_headers
import python_package
import sections

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
LANGUAGES = {".c": "c", ".h": "c", ".py": "python", ".sh": "sh", ".yaml": "yaml", ".json": "json", ".cu": "cpp", ".def": "c"}
SHOWN_MOST = 200_000  # bytes of a file that a page shows whole


def outside_code(text: str) -> list[tuple[bool, str]]:
    """The text in pieces: (whether it is code, piece); code is fenced, indented by four, or between backticks."""
    pieces: list[tuple[bool, str]] = []
    fenced, before_blank = False, True
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        indented = line.startswith("    ") and before_blank
        if fence or fenced or indented:
            pieces.append((True, line + "\n"))
            fenced = fenced != fence
        else:
            parts = re.split(r"(`+[^`]+`+)", line + "\n")
            pieces += [(i % 2 == 1, part) for i, part in enumerate(parts) if part]
        before_blank = not line.strip() or indented
    return pieces


class Stage:
    """The sources as they grow. `shown` are files that got a page because something links to them."""

    def __init__(self, root: Path, out: Path) -> None:
        self.root, self.out = root, out
        self.sections = sections.pages(root)
        self.documents = {sections.HOME, *(p for _, ps in self.sections for p in ps if p.endswith(".md")),
                          *sections.decisions(root)}
        self.shown: dict[str, str] = {}
        self.failures: list[str] = []

    def place(self, path: str) -> str | None:
        """The site's source for a path of the repository, made where it is missing; None where there is no such path."""
        if path in self.documents:
            return sections.name_of(path) + ".md"
        header = re.fullmatch(r"include/rp/(\w+)\.h", path)
        if header and (self.root / path).is_file():
            return f"c/{header[1]}.md"
        if path in ("include/rp", "docs/decisions"):
            return "c/index.md" if path == "include/rp" else "decisions/index.md"
        if path not in self.shown:
            there = self.root / path
            if not there.exists():
                return None
            self.shown[path] = f"source/{path}{'/index' if there.is_dir() else ''}.md"
        return self.shown[path]

    def target(self, document: str, name: str, at: str, image: bool) -> str:
        """Where a link of a document leads, as its page must write it."""
        path, _, anchor = at.partition("#")
        if re.match(r"[a-z]+:", at) or not path:
            return at
        wanted = str(PurePosixPath(os.path.normpath(PurePosixPath(document).parent / path)))
        back = "../" * name.count("/")
        suffix = PurePosixPath(wanted).suffix
        if image and (self.root / wanted).is_file():
            self.copy(wanted, self.out / "images" / wanted)
            return f"{back}images/{wanted}"
        if suffix == ".html" and (self.root / wanted).is_file():
            self.copy(wanted, self.out / "extra/files" / wanted)
            return f"{back}files/{wanted}"
        place = self.place(wanted)
        if place is None:
            self.failures.append(f"{document} links to {at}, which does not exist")
            return at
        return back + place + (f"#{anchor}" if anchor else "")

    def copy(self, path: str, to: Path) -> None:
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.root / path, to)

    def links(self, document: str, name: str, text: str) -> str:
        """The document's text with the links of its page."""
        def rewritten(m: re.Match[str]) -> str:
            at = self.target(document, name, m[3], m[1] == "!")
            if m[3].endswith(".html") and not re.match(r"[a-z]+:", m[3]):
                return f'<a href="{at}">{m[2]}</a>'
            return f"{m[1]}[{m[2]}]({at})"

        codes: list[str] = []

        def hidden(piece: str) -> str:
            codes.append(piece)
            return f"\x00{len(codes) - 1}\x00"
        plain = "".join(hidden(piece) if code else piece for code, piece in outside_code(text.replace("\x00", "")))
        return re.sub("\x00(\\d+)\x00", lambda m: codes[int(m[1])], LINK.sub(rewritten, plain))

    def document(self, path: str) -> None:
        name = sections.name_of(path)
        text = self.links(path, name, (self.root / path).read_text(encoding="utf-8"))
        text = re.sub(r"^```(csv|hex|pem)$", "```text", text, flags=re.M)  # languages that only forges know
        text = re.sub(r"^```console needs .*$", "```sh", text, flags=re.M)  # without a prompt all of it would be output
        if path == sections.HOME:
            text += "".join(f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n" +
                            "".join(f"{self.entry(p)}\n" for p in ps) + "```\n" for title, ps in self.sections)
        to = self.out / f"{name}.md"
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text, encoding="utf-8")

    @staticmethod
    def entry(path: str) -> str:
        """A line of the navigation: the page's own title, or a shorter one."""
        name = f"{path}index" if path.endswith("/") else sections.name_of(path)
        return f"{sections.TITLES[path]} <{name}>" if path in sections.TITLES else name

    def decisions(self) -> None:
        """The list of decisions, each of which is a page below it."""
        names = [sections.name_of(p).split("/")[1] for p in sections.decisions(self.root)]
        (self.out / "decisions/index.md").write_text(
            "# Decisions\n\nWhy things are so: one short page each, what was chosen, why, and what was measured.\n\n```{toctree}\n" +
            "\n".join(names) + "\n```\n", encoding="utf-8")

    def show(self, path: str, place: str) -> None:
        """A page for a file or folder that is linked to and is no document."""
        there, to = self.root / path, self.out / place
        to.parent.mkdir(parents=True, exist_ok=True)
        back = "../" * place.count("/")
        if there.is_dir():
            names = sorted(p.name + ("/" if p.is_dir() else "") for p in there.iterdir() if p.name[0] != "." and p.name != "__pycache__")
            lines = []
            for name in names:
                inner = self.place(f"{path}/{name}".rstrip("/")) if name.endswith((".c", ".h", ".md", ".yaml")) else None
                lines.append(f"- [{name}]({back}{inner})" if inner else f"- {name}")
            head = f"---\norphan: true\n---\n# {path}/\n\nA folder of the repository.\n\n"
            to.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
            return
        language = LANGUAGES.get(there.suffix, "text")
        data = there.read_bytes()
        text = data.decode("utf-8", "replace") if b"\0" not in data[:4096] and len(data) <= SHOWN_MOST else f"{len(data)} bytes"
        fence = "`" * (3 + max((len(t) for t in re.findall("`+", text)), default=0))
        to.write_text(f"---\norphan: true\n---\n# {path}\n\nA file of the repository.\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n",
                      encoding="utf-8")

    def write(self) -> None:
        """Everything; ValueError with all links that lead nowhere."""
        c_headers.write(self.root, self.out / "c")
        python_package.write(self.root, self.out / "py")
        for path in sorted(self.documents):
            self.document(path)
        self.decisions()
        done: set[str] = set()
        while left := sorted(set(self.shown) - done):  # a folder's page may ask for more
            for path in left:
                self.show(path, self.shown[path])
            done |= set(left)
        if self.failures:
            raise ValueError("\n".join(self.failures))


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: stage.py SOURCE_DIR OUT_DIR")
    out = Path(sys.argv[2])
    (out / "extra").mkdir(parents=True)
    try:
        Stage(Path(sys.argv[1]).resolve(), out).write()
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
