"""What mkdocs makes the site of: README.md, docs, examples and the capture program's page, where they are.

Pages keep their paths in the repository, so that links hold. Those of notebooks and of Python names are made here.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from nbconvert import MarkdownExporter
from traitlets.config import Config

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGES = (
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "capture/README.md", "docs/*.md", "docs/*.vlt",
    "docs/figures/*.svg", "docs/studies/*.md", "docs/studies/figures/*.svg", "examples/*.md", "examples/*.ipynb",
)  # fmt: skip
ASSETS = ("site.css", "iframe-worker.js")
WIDTH = 80  # of a signature
ITEM = re.compile(r"^(\w+(?:, \w+)*):(?= )", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The site's files in place of those that mkdocs has found in docs."""
    for file in list(files):
        if file.src_dir == config.docs_dir:
            files.remove(file)
    for path in sorted(path for pattern in PAGES for path in ROOT.glob(pattern)):
        name = str(path.relative_to(ROOT))
        files.append(File.generated(config, name, abs_src_path=str(path)))
        if path.suffix == ".ipynb":
            files.append(File.generated(config, f"{name.removesuffix('.ipynb')}.md", content=notebook(path)))
    for name in ASSETS:
        files.append(File.generated(config, f"assets/{name}", abs_src_path=str(HERE / name)))
    files.append(File.generated(config, "assets/colours.css", content=colours()))
    files.append(File.generated(config, "docs/api.md", content=api()))
    sys.path.insert(0, str(ROOT))
    from hwsim.base.errors import ToolMissing
    from hwsim.explain.microscope import FILE, page

    try:
        files.append(File.generated(config, FILE, content=page()))
    except ToolMissing as error:
        print(f"without the microscope: {error}", file=sys.stderr)
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Let links to notebooks lead to their pages, the microscope's page to it, and the first page stand alone."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]
    if page.file.src_uri == "docs/microscope.md" and files.get_file_from_path("microscope.html"):
        markdown = markdown.replace(
            "`build/site/microscope.html`", "[`build/site/microscope.html`](../microscope.html)"
        )
    return re.sub(r"(\]\((?:[\w.-]+/)*[\w-]+)\.ipynb\)(?!\{)", r"\1.md)", markdown)


def notebook(path: Path) -> str:
    """A notebook as Markdown, with its outputs in it and a link to itself.

    nbconvert's own pages, and those of mkdocs-jupyter, load scripts from a network.
    """
    kept = Config({"ExtractOutputPreprocessor": {"enabled": False}})  # figures in the page
    exporter = MarkdownExporter(config=kept, template_file=str(HERE / "notebook.md.j2"))
    text, _ = exporter.from_filename(str(path))
    title, _, rest = text.lstrip().partition("\n")
    return f"{title}\n\n[The notebook]({path.name}){{ download }}\n{rest}"


def colours() -> str:
    """The colours of hwsim's own drawings, by the site's switch: notebooks follow the system's."""
    style = (ROOT / "hwsim" / "explain" / "templates" / "colours.css").read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    schemes = {"default": light, "slate": dark}
    return "".join(f'[data-md-color-scheme="{name}"] .hwsim {{{rules}}}\n' for name, rules in schemes.items())


def api() -> str:
    """A page of `hwsim.__all__`, from signatures and docstrings."""
    sys.path.insert(0, str(ROOT))
    import hwsim

    names = [name for name in hwsim.__all__ if not name.startswith("_")]
    head = "# Python\n\nThe public names of `hwsim`. Everything else may change in any version.\n"
    return "\n".join([head, *(entry(name, getattr(hwsim, name)) for name in sorted(names, key=str.lower))])


def entry(name: str, what: Any) -> str:
    """A name, with what can be called and read of it."""
    what = getattr(what, name) if isinstance(what, ModuleType) else what
    parts = [f"## {name}\n"]
    if inspect.isclass(what):
        parts += [documented(what), *members(what)]
    else:
        parts += [f"```python\n{signature(name, what)}\n```\n", documented(what)]
    return "\n".join(parts)


def members(what: type) -> Iterator[str]:
    """The public attributes and methods of a class that have words of their own."""
    for name, member in vars(what).items():
        said = inspect.getdoc(member)
        if not name.startswith("_") and said and (isinstance(member, property) or inspect.isfunction(member)):
            shown = name if isinstance(member, property) else signature(name, member)
            yield f"- `{shown}`: {' '.join(said.split())}"


def signature(name: str, what: Any) -> str:
    """How it is called; a parameter a line where that is long."""
    called = inspect.signature(what)
    shown = f"{name}{called}"
    if len(shown) > WIDTH:
        inside = "".join(f"    {one},\n" for one in map(str, called.parameters.values()))
        shown = f"{name}(\n{inside}) -> {called.return_annotation}"
    return re.sub(r"<class (.*?)>", r"\1", shown).replace("'", "")


def documented(what: Any) -> str:
    """A docstring, with a list of the arguments, fields and errors that it describes line by line."""
    return (
        ITEM.sub(r"- **\1**:", inspect.getdoc(what) or "")
        .replace("\nRaises ", "\n- **Raises** ")
        .replace("\nReturns ", "\n- **Returns** ")
        + "\n"
    )
