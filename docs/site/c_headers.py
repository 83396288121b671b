# SPDX-License-Identifier: Apache-2.0
"""The C reference from include/rp/*.h: each header is a page, its comments the text, its declarations the code.

Nothing is written beside the headers. Every line of a header is on its page, but for include guards and the macros that note a
caller's line; a line that this reader would lose is an error."""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from references import References

SITES = re.compile(r"#define rp_\w+\(\.\.\.\) RP_SITED?\(rp_\w+, __VA_ARGS__\)$")
SECTION = re.compile(r"^-+ (.*?) -+$")
DECLARED = re.compile(r"^RP_API [^;{]*?\b(rp_\w+)\(|^(?:typedef [^;{(]*|} )\b(rp_\w+);|^typedef [\w *]+?\b(rp_\w+)\(|"
                      r"^#define ((?:rp|RP)_\w+)|^(?:enum|struct) (rp_\w+) {", re.M)
SPECIAL = re.compile(r"([\\`*_<>\[\]|#])")


@dataclass
class Group:
    """A comment and the declarations under it; either may be empty."""

    comment: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)

    @property
    def declared(self) -> list[str]:
        """Functions, types and macros that the code declares, in order."""
        names: list[str] = []
        for found in DECLARED.finditer("\n".join(self.code)):
            name = next((g for g in found.groups() if g), None)
            if name and name not in names:
                names.append(name)
        return names


def strip_comment(lines: list[str]) -> list[str]:
    """The text of a comment's lines: no slashes, no stars, no licence; indentation beyond the first space is kept."""
    text = [re.sub(r"^(/\*| \*|$) ?", "", re.sub(r"\s*\*/$", "", line)) for line in lines]
    return [line for line in text if not line.startswith("SPDX-License-Identifier")]


def read_header(text: str) -> tuple[list[str], list[str], list[Group]]:
    """(the first comment, what it includes, groups) of a header's text."""
    lines = text.rstrip("\n").split("\n")
    guard = re.search(r"^#ifndef (RP_\w+_H)\n#define \1\n", text, re.M)
    if guard is None or lines[-1] != "#endif":
        raise ValueError("a header has an include guard around all but its first comment")
    head = text[:guard.start()].rstrip("\n").split("\n")
    groups, includes, current, depth, at = [Group()], [], Group(), 0, text[:guard.end()].count("\n")
    body = lines[at:-1]
    i = 0
    while i < len(body):
        line = body[i]
        if depth == 0 and line.startswith("/*"):
            end = i
            while "*/" not in body[end]:
                end += 1
            if not body[end].rstrip().endswith("*/"):
                raise ValueError(f"code behind a comment: {body[end]}")
            current = Group(strip_comment(body[i:end + 1]))
            groups.append(current)
            i = end + 1
            continue
        if line.startswith("#include"):
            includes.append(line.split()[1].strip('<>"'))
        elif not line.strip() and depth == 0:
            current = Group()
            groups.append(current)
        elif not SITES.match(line):
            current.code.append(line)
            code = re.sub(r"/\*.*?\*/", "", line)
            depth += code.count("{") - code.count("}")
        i += 1
    return strip_comment(head), includes, [g for g in groups if g.comment or g.code]


def prose(lines: list[str], known: dict[str, str], refer: References) -> str:
    """Markdown of a comment: paragraphs, what is indented as it stands, names of the interface as links."""
    out: list[str] = []
    literal = False
    for line in lines:
        indented = line.startswith("  ")
        if indented != literal and (indented or line.strip()):
            out += ["", "```text"] if indented else ["```", ""]
            literal = indented
        if indented:
            out.append(line[2:])
        elif SECTION.match(line):
            continue
        else:
            text = refer.linked(SPECIAL.sub(r"\\\1", line))
            out.append(re.sub(r"rp(?:\\_\w+)+", lambda m: link(m[0].replace("\\_", "_"), known), text))
    return "\n".join([*out, "```"] if literal else out).strip("\n")


def link(name: str, known: dict[str, str]) -> str:
    return f"[`{name}`](#{anchor(name)})" if name in known else f"`{name}`"


def anchor(name: str) -> str:
    """A name's place; anchors do not tell capitals apart, and a macro may be a function's name in capitals."""
    return f"c-{name}" if name.islower() else f"macro-{name.lower()}"


def page(header: str, text: str, known: dict[str, str], refer: References) -> str:
    """The page of a header, as Markdown."""
    head, includes, groups = read_header(text)
    out = [f"# {header}", "", prose(head, known, refer), ""]
    if includes:
        own = [f"[{i}]({Path(i).stem}.md)" if i.startswith("rp/") else f"`{i}`" for i in includes]
        out += ["Includes " + ", ".join(own) + ".", ""]
    level = "##"
    for group in groups:
        section = SECTION.match(group.comment[0]) if group.comment else None
        if section:
            out += [f"## {SPECIAL.sub(chr(92) + chr(92) + '1', section[1])}", ""]
            level = "###"
        names = group.declared
        for name in names:
            if known.get(name) == header:
                out += [f"({anchor(name)})=", ""]
                known[name] = ""  # a name that a header declares twice (a type before its structure) has one place
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 4 else ""
            out += [level + " " + ", ".join(f"`{n}`" for n in (names[:3] if more else names)) + more, ""]
        if group.comment:
            out += [prose(group.comment, known, refer), ""]
        if group.code:
            out += ["```c", *group.code, "```", ""]
    return "\n".join(out)


def write(root: Path, out: Path) -> list[str]:
    """Writes a page for each header and index.md into out; gives the pages' names. ValueError where a header's line is lost."""
    headers = {f"rp/{p.name}": p.read_text(encoding="utf-8") for p in sorted((root / "include/rp").glob("*.h"))}
    known: dict[str, str] = {}
    for header, text in headers.items():
        for group in read_header(text)[2]:
            for name in group.declared:
                known.setdefault(name, header)
        declared = set(re.findall(r"^RP_API [^;{]*?\b(rp_\w+)\(", text, re.M))
        if lost := sorted(n for n in declared if n not in known):
            raise ValueError(f"{header}: {', '.join(lost)} would not be in the reference")
    out.mkdir(parents=True)
    refer = References(root)
    listing = ["# C reference", "", "Made from the headers: comments and declarations as they stand there. "
               "`#include <rp/rp.h>` takes all of them. The guides are [the C API](../api.md) and [layers and training](../nn.md).", "",
               "| header | what | declares |", "|---|---|---|"]
    for header, text in headers.items():
        first = re.split(r"(?<=[.:])\s", " ".join(read_header(text)[0]).strip())[0].rstrip(":.")
        names = [n for n, h in known.items() if h == header]
        listing.append(f"| [{header}]({Path(header).stem}.md) | {SPECIAL.sub(chr(92) + chr(92) + '1', first)} | " +
                       ", ".join(link(n, known) for n in names) + " |")
    for header, text in headers.items():
        (out / f"{Path(header).stem}.md").write_text(page(header, text, dict(known), refer), encoding="utf-8")
    stems = [Path(h).stem for h in headers]
    listing += ["", "```{toctree}", ":hidden:", *stems, "```", ""]
    (out / "index.md").write_text("\n".join(listing), encoding="utf-8")
    return stems
