"""Renders templates to the files of an export. In a template, `u_` and `U_` stand for the unit's identifier."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined

from hwsim.compute.c.unit import UnitInC
from hwsim.formats import Format
from hwsim.spec import SparseUnit, Unit

WIDTH = 120
STEP = 4  # of indentation
FARTHEST_INDENT = 48  # beyond which a line goes on under its own beginning instead of its parenthesis
ONE_LINE_FUNCTION = re.compile(r"(\S.*\)) \{ (.*) \}")
COMMENT = re.compile(r" \* *|/\* | *// ")
TRAILING = re.compile(r"( +)(\S.*;) (/\* .* \*/)")
# Where a line may end, or else begin.
BREAK = re.compile(r"(?<=,) | (?=(?:&&|\|\||[?:|+-]) )")


def short(line: str, again: bool = False) -> list[str]:
    """A line of C, C++ or SystemVerilog as lines of at most `WIDTH` characters, where it can be broken.

    again: whether the line is the rest of another, and indented as such.
    """
    if len(line) <= WIDTH:
        return [line]
    if comment := COMMENT.match(line):
        return _filled(line, comment[0].replace("/*", " *"))
    if trailing := TRAILING.fullmatch(line):
        indent, code, remark = trailing.groups()
        return [*short(indent + remark), *short(indent + code)]
    if function := ONE_LINE_FUNCTION.fullmatch(line):
        head, body = function.groups()
        return [*short(head), "{", *short(" " * STEP + body), "}"]
    return _broken(line, again)


def _filled(line: str, lead: str) -> list[str]:
    """A comment's line, broken between words; indented lines are code, broken after a comma and indented further."""
    code = lead.startswith(" *  ")
    end = max(line.rfind(" ", len(lead), WIDTH + 1), 0)
    if code:
        lead, end = lead + " " * STEP, line.rfind(", ", WIDTH // 2, WIDTH) + 1 or end
    return [line[:end], *_again(lead + line[end + 1 :], line)] if end else [line]


def _broken(line: str, again: bool) -> list[str]:
    """A line of code, broken inside as few parentheses as possible, preferably after a comma, as late as possible."""
    indent = len(line) - len(line.lstrip())
    depths = _depths(line)
    places = [match.start() for match in BREAK.finditer(line, indent) if indent + STEP < match.start() <= WIDTH]
    if not places:
        return [line]
    cut = min(places, key=lambda place: (len(depths[place]), line[place - 1] != ",", -place))
    under = depths[cut][-1] + 1 if depths[cut] else FARTHEST_INDENT
    under = under if under < FARTHEST_INDENT else indent + 2 * STEP * (not again)
    return [line[:cut], *_again(" " * under + line[cut + 1 :], line)]


def _again(rest: str, before: str) -> list[str]:
    return short(rest, again=True) if len(rest) < len(before) else [rest]


def _depths(line: str) -> list[tuple[int, ...]]:
    """The positions of the parentheses that are open at each character."""
    depths: list[tuple[int, ...]] = []
    opened: tuple[int, ...] = ()
    for place, character in enumerate(line):
        if character in ")]}":
            opened = opened[:-1]
        depths.append(opened)
        if character in "([{":
            opened = (*opened, place)
    return depths


HEADER = "unit.h.jinja"


class Plan(Protocol):
    """The subject of a template. prefix: what stands before every name. names: identifiers of its formats."""

    @property
    def prefix(self) -> str: ...

    @property
    def names(self) -> Mapping[Format, str]: ...


KEPT = "\0"  # in text that is not the template's: what would be taken for a name of it
NAME = re.compile(r"\b[uU]_(\w+)")
# What users call; and the functions of each format. Written out where they are defined and in comments.
PUBLIC = {
    "dot", "takes", "group", "promote", "add_late", "add_in_window", "begin", "step", "end", "index", "first", "next",
    "stages", "state", "addend", "late_window", "sparse_dot", "sparse_takes", "selected",
}  # fmt: skip
OF_FORMATS = ("decode", "term", "to_f64", "from_f64", "from_f32")
DEFINED = re.compile(r"^(?:static inline .*?\bu_(\w+)\(|\} u_(\w+);|typedef .*\bu_(\w+);)")


PACKAGE = "hwsim.compute.c"  # whose templates these are


@cache
def _environment(package: str) -> Environment:
    # C and SystemVerilog have no `${`, and a line that begins with `//%` reads as a comment of both.
    environment = Environment(
        loader=PackageLoader(package),
        variable_start_string="${",
        variable_end_string="}",
        line_statement_prefix="//%",
        line_comment_prefix="//#",
        trim_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
    )
    environment.globals |= {"code": code, "comment": comment, "int": int, "kept": kept}
    return environment


def code(number: int) -> str:
    """A code as C writes it, unsigned."""
    return f"0x{number:X}u"


def comment(text: str) -> str:
    """Text made safe for a comment of C: nothing in it ends the comment or begins another."""
    return kept(text.replace("*/", "* /").replace("/*", "/ *").replace("??/", "? ?/"))


def kept(text: str) -> str:
    """Text in which nothing is taken for a template's `u_` name."""
    return re.sub(r"\b([uU])_", rf"\1{KEPT}_", text)


def render(template: str, plan: Plan, package: str = PACKAGE, **values: Any) -> str:
    """The text of a template for a unit. package: whose template it is. values: what it names beside the unit, `p`.

    A name of C is written `u_name` or `U_NAME` in templates. In the header, a macro puts the unit's identifier before
    a name, so that lines stay short; names that users call are written out where they are defined. Other files have
    every name written out.
    """
    text = _environment(package).get_template(template).render(p=plan, **values)
    text = text.replace("U_HEADER_GUARD", f"{plan.prefix.upper()}_H")
    if template == HEADER:
        public = PUBLIC | {f"{fmt}_{function}" for fmt in plan.names.values() for function in OF_FORMATS}
        text = "\n".join(_short(line, plan.prefix, public) for line in text.splitlines())
    else:
        text = NAME.sub(rf"{plan.prefix}_\1", text)
    lines = text.replace(KEPT, "").splitlines()
    if not template.startswith("README"):
        lines = [part for line in lines for part in short(line.rstrip())]
    return _spaced(lines)


def _short(line: str, prefix: str, public: set[str]) -> str:
    """A line of the header, with public names written out and others through the macro."""
    defined = DEFINED.match(line)
    whole = public if line.startswith(("/*", " *")) else public & set(defined.groups()) if defined else set()

    def named(match: re.Match[str]) -> str:
        return f"{prefix}_{match[1]}" if match[1] in whole else f"u_({match[1]})"

    return NAME.sub(named, line)


def _spaced(text: list[str]) -> str:
    """Text with a single blank line between functions, types and comments, and none at the end."""
    lines: list[str] = []
    for line in map(str.rstrip, text):
        last = lines[-1] if lines else ""
        ended = re.match(r"\}( \w.*)?;?$", last) or (
            last.endswith(" }") and line.startswith("static") and line[-1] != "}"
        )
        apart = line and last and (line.startswith("/* ") or (ended and line[0] != "#"))
        if apart or not (line or last):
            lines += [""] * bool(last)
        if line:
            lines.append(line)
        elif last:
            lines.append("")
    return "\n".join(lines).strip("\n") + "\n"


# Stands in the first line of every file, so that a later export knows which files are its own.
MARK = "hwsim export-c"


def export_c(unit: Unit | SparseUnit, version: str) -> dict[str, str]:
    """The files, by name: the same text from the same specification and version.

    Raises NotImplementedYet for a unit with a setting that the model or C lacks.
    """
    plan = UnitInC(unit, version)
    names = {
        f"{plan.prefix}.h": HEADER.removesuffix(".jinja"),
        f"{plan.prefix}_dpi.c": "dpi.c",
        f"{plan.prefix}_dpi_pkg.sv": "dpi_pkg.sv",
        **{name: name for name in ("example.c", "example.cpp", "example.sv", "README.md")},
    }
    return {name: render(f"{template}.jinja", plan) for name, template in names.items()}
