# SPDX-License-Identifier: Apache-2.0
"""The Python reference: signatures from stubs and sources, texts from docstrings.

Public is what a guide in docs/ names. Modules in Python are read, not imported, so that a door's framework need not be there.
What the extension has (tensors, programs, the operations, layers) says its docstrings itself: the package must have been
built."""
from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from pathlib import Path

from references import References

SPECIAL = re.compile(r"([\\*_<>\[\]|#])")
TITLES = {"reprise": "Tensors, programs, runs", "reprise.command_calls": "Commands as functions"}
FIRST = ["reprise", "command_calls", "archive", "nn", "ops", "functions"]
MADE = {"ops", "functions"}  # their stubs are made beside the extension
LEFT_OUT = {"__init__", "core", "command", "gradient", "recording"}  # their names are in `reprise`


def markdown(doc: str | None) -> str:
    """A docstring as Markdown: paragraphs, `name: text` lists as lists, what else is indented as it stands."""
    out: list[str] = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(doc or "")):
        body = textwrap.dedent(paragraph)
        if paragraph.startswith(" ") and not re.match(r"\w+: ", body):
            out += ["```text", body, "```", ""]
        elif re.match(r"\w+: ", body) and paragraph.startswith(" "):
            items = re.split(r"\n(?=\w+: )", body)
            out += [f"- `{i.split(': ', 1)[0]}`: {escape(' '.join(i.split(': ', 1)[1].split()))}" for i in items] + [""]
        else:
            out += [escape(paragraph), ""]
    return "\n".join(out).strip()


def escape(text: str) -> str:
    """Text outside of backticks with Markdown's own characters as they are."""
    parts = re.split(r"(``.*?``|`[^`]*`)", text, flags=re.S)
    marked = "".join(p if p.startswith("`") else SPECIAL.sub(r"\\\1", p) for p in parts)
    return re.sub(r"^([-+])(?=\s)", r"\\\1", marked, flags=re.M)


def signature(node: ast.FunctionDef, method: bool = False) -> str:
    args = ast.unparse(node.args)
    if method:
        args = re.sub(r"^(self|cls|_)(: [^,]*)?(, (/, )?|$)", "", args)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({args}){returns}".replace("typing.", "").replace("numpy.typing.", "")


def public(nodes: list[ast.stmt]) -> list[ast.FunctionDef | ast.ClassDef]:
    kept: dict[str, ast.FunctionDef | ast.ClassDef] = {}
    for n in nodes:
        if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and not n.name.startswith("_"):
            kept.setdefault(n.name, n)  # the first of overloads and of a property's functions
    return list(kept.values())


def described(node: ast.FunctionDef | ast.ClassDef, live: object) -> str:
    return markdown(ast.get_docstring(node) or getattr(live, "__doc__", None))


def defined(term: str, text: str) -> list[str]:
    """An entry of a definition list."""
    body = text.replace("\n", "\n  ") or "(see its type)"
    return [f"`` {term} ``" if "`" in term else f"`{term}`", f": {body}", ""]


def class_entry(node: ast.ClassDef, live: object) -> list[str]:
    bases = ", ".join(ast.unparse(b) for b in node.bases)
    out = [f"## `{node.name}`", "", f"```python\nclass {node.name}{f'({bases})' if bases else ''}\n```", "",
           described(node, live) or f"A kind of `{bases}`.", ""]
    start = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    if start is not None:
        out += defined(signature(start, True).replace("__init__", node.name).removesuffix(" -> None"),
                       markdown(ast.get_docstring(start)) or "Makes one.")
    for method in public(node.body):
        if isinstance(method, ast.ClassDef):
            continue
        decorators = {ast.unparse(d) for d in method.decorator_list}
        is_property = bool(decorators & {"property", "cached_property"})
        static = "staticmethod" in decorators
        term = method.name + (f": {ast.unparse(method.returns)}" if method.returns else "") if is_property else \
            signature(method, not static)
        out += defined(term, described(method, getattr(live, method.name, None)))
    fields = [n for n in node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name) and n.target.id[0] != "_"]
    if fields:
        out += ["Fields: " + ", ".join(f"`{ast.unparse(f.target)}: {ast.unparse(f.annotation)}`" for f in fields) + ".", ""]
    return out


def function_entry(node: ast.FunctionDef, live: object) -> list[str]:
    return [f"## `{node.name}`", "", f"```python\n{signature(node)}\n```", "", described(node, live), ""]


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def exported(tree: ast.Module) -> list[str] | None:
    """A module's __all__, where it is a list of strings."""
    for n in tree.body:
        if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in n.targets):
            try:
                return [str(x) for x in ast.literal_eval(n.value)]
            except ValueError:
                return None
    return None


def definitions(path: Path) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """Public functions and classes of a module or package, followed once through its own `from .x import y`."""
    tree = parsed(path)
    found = {n.name: n for n in public(tree.body)}
    if path.name == "__init__.py":
        for n in tree.body:
            if isinstance(n, ast.ImportFrom) and n.level == 1 and n.module:
                source = path.parent / (n.module.replace(".", "/") + ".py")
                there = {d.name: d for d in public(parsed(source).body)} if source.is_file() else {}
                found.update({a.asname or a.name: there[a.name] for a in n.names if a.name in there})
    names = exported(tree)
    return {k: v for k, v in found.items() if names is None or k in names}


def module_page(name: str, path: Path) -> str:
    """The page of a module whose source is Python."""
    doc = ast.get_docstring(parsed(path))
    title = TITLES.get(name)
    out = [f"# {title}" if title else f"# `{name}`", "", markdown(doc), ""]
    for node in definitions(path).values():
        out += class_entry(node, None) if isinstance(node, ast.ClassDef) else function_entry(node, None)
    return "\n".join(out)


def is_error(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """Errors come behind what raises them."""
    return isinstance(node, ast.ClassDef) and any(ast.unparse(b) in ("Exception", "Error", "ValueError") for b in node.bases)


def inherit(nodes: list[ast.FunctionDef | ast.ClassDef], core: dict[str, ast.FunctionDef | ast.ClassDef]) -> None:
    """A class has what its base in the extension has, where users see no base (`ModelBase`)."""
    for node in nodes:
        for base in getattr(node, "bases", []):
            hidden = core.get(ast.unparse(base)) if ast.unparse(base).endswith("Base") else None
            if isinstance(node, ast.ClassDef) and hidden is not None:
                own = {n.name for n in public(node.body)}
                node.body += [n for n in hidden.body if getattr(n, "name", "") not in own | {"enter_scope", "leave_scope"}]
                node.bases = []


def stub_page(name: str, stub: Path, extra: list[Path]) -> str:
    """The page of a module that the extension fills: signatures of its stub, docstrings of what is there."""
    live = importlib.import_module(name)
    title = TITLES.get(name)
    out = [f"# {title}" if title else f"# `{name}`", "", markdown(live.__doc__), ""]
    nodes = list(public(parsed(stub).body)) if name != "reprise.ops" else []
    inherit(nodes, definitions(stub.parent / "_core.pyi"))
    for path in extra:
        nodes += definitions(path).values()
    if name == "reprise":
        names = {n for n in live.__all__ if not inspect.ismodule(getattr(live, n))}
        nodes = sorted((n for n in nodes if n.name in names), key=is_error)
    for node in nodes:
        there = getattr(live, node.name, None)
        out += class_entry(node, there) if isinstance(node, ast.ClassDef) else function_entry(node, there)
    if name == "reprise.ops":
        for operation in live.__all__:
            first, *rest = (getattr(live, operation).__doc__ or "").split("\n\n")
            call, _, shapes = first.partition(". ")
            out += defined(call.rstrip("."), "  \n".join(escape(" ".join(r.split())) for r in [shapes, *rest] if r))
    return "\n".join(out)


def outside_code(text: str, refer: References) -> str:
    """The page with links for what its prose refers to."""
    parts = re.split(r"(^```.*?^```$|`[^`\n]*`)", text, flags=re.M | re.S)
    return "".join(p if i % 2 else refer.linked(p) for i, p in enumerate(parts))


def write(root: Path, out: Path) -> list[str]:
    """Writes a page for each public module and index.md into out; gives the pages' names."""
    package = root / "python/reprise"
    made = Path(importlib.import_module("reprise._core").__file__ or "").parent
    modules = {p.stem: p for p in package.glob("*.py") if p.stem not in LEFT_OUT}
    modules.update({p.parent.name: p for p in package.glob("*/__init__.py")})
    guides = "".join(p.read_text(encoding="utf-8") for p in sorted((root / "docs").glob("*.md")))
    named = set(re.findall(r"reprise\.(\w+)", guides))
    modules = {name: path for name, path in modules.items() if name in named}  # others are insides
    order = FIRST + sorted(m for m in modules if m not in FIRST)
    out.mkdir(parents=True)
    refer = References(root)
    for name in order:
        stub = (made if name in MADE else package) / f"{name}.pyi"
        if name == "reprise":
            text = stub_page("reprise", package / "_core.pyi", [package / "gradient.py", package / "recording.py"])
        elif stub.is_file():
            text = stub_page(f"reprise.{name}", stub, [])
        else:
            text = module_page(f"reprise.{name}", modules[name])
        (out / f"{name}.md").write_text(outside_code(text, refer), encoding="utf-8")
    listing = ["# Python reference", "", "Made from the package's docstrings and type stubs. The guides are "
               "[Reprise in Python](../python.md) and [commands and archives](../python-command.md).", "", "```{toctree}", *order, "```", ""]
    (out / "index.md").write_text("\n".join(listing), encoding="utf-8")
    return order
