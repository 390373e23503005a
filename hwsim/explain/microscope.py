"""The microscope: one page that computes any unit's dot product, stage by stage, where it is opened.

The page holds its program (WebAssembly), every preset's keys and every format: it asks for nothing, from a file system
or a network. A case is what stands behind the `#` of its address, and a page may have one of its own.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote

from markupsafe import Markup
from pydantic import BaseModel

from hwsim import __version__
from hwsim.base.errors import ToolMissing
from hwsim.base.files import written
from hwsim.compute.c.any import KINDS, AnyUnitInC
from hwsim.compute.c.wasm import program
from hwsim.explain.drawing import TEMPLATES, environment, policy, read
from hwsim.explain.record import Mismatch
from hwsim.explain.staged import SCHEMA
from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format, formats
from hwsim.formats.catalog import LEAST_BITS, MOST_BITS, p3109
from hwsim.spec import Unit, load_unit
from hwsim.spec.catalog import load_specified, modal_presets, presets
from hwsim.spec.fields import SAYINGS, worded
from hwsim.spec.modes import ModalUnit
from hwsim.spec.sums import SUMS
from hwsim.spec.table import SECTIONS

FILE = "microscope.html"  # its name, beside a report and in the documentation
OPERANDS = ("a", "b", "c", "scale_a", "scale_b", "got")
KIND_CLASSES: tuple[type[BaseModel], ...] = (FloatFormat, FixedFormat, ExponentFormat)


def keys_of(unit: Unit) -> dict[str, Any]:
    """A unit's keys, as a file has them."""
    return dict(worded(unit.model_dump(mode="json", exclude_unset=True)))


@cache
def _data() -> dict[str, Any]:
    """The data of the page: keys, formats, presets and the program. Raises ToolMissing as `program` does."""
    every = [*formats().values(), *_parametric()]
    return {
        **AnyUnitInC().table(),
        "schema": SCHEMA,
        "version": __version__,
        "sayings": sorted(SAYINGS),
        "sections": _sections(),
        "kinds": dict(zip(KINDS, map(_kind, KIND_CLASSES), strict=True)),
        "formats": {fmt.name: _written_out(fmt) for fmt in every},
        "presets": {name: keys_of(load_unit(name)) for name in _presets()},
        "program": base64.b64encode(program()).decode(),
    }


@cache
def _presets() -> tuple[str, ...]:
    """The names of presets, and of each mode of those that have several."""
    modal = {name: load_specified(name) for name in modal_presets()}
    modes = [f"{name}:{mode}" for name, unit in modal.items() if isinstance(unit, ModalUnit) for mode in unit.modes]
    return tuple(sorted([*presets(), *modes]))


def _parametric() -> Iterable[FloatFormat]:
    """The formats of IEEE P3109, which have names and are in no file."""
    for bits in range(LEAST_BITS, MOST_BITS + 1):
        for signed in (True, False):
            for precision in range(1, bits + 1 - signed):
                yield from (p3109(precision, bits, signed, extended) for extended in (True, False))


def _written_out(fmt: Format) -> dict[str, Any]:
    keys = fmt.model_dump(mode="json", exclude_defaults=True, exclude={"name", "source"})
    return {"kind": fmt.kind, **keys}


def _kind(kind: type[BaseModel]) -> dict[str, Any]:
    fields = kind.model_fields
    bounds = {
        name: [
            next((getattr(bound, end) for bound in field.metadata if hasattr(bound, end)), None) for end in ("ge", "le")
        ]
        for name, field in fields.items()
    }
    defaults = {name: list(field.default) if isinstance(field.default, tuple) else field.default
                for name, field in fields.items() if not field.is_required()}  # fmt: skip
    required = [name for name, field in fields.items() if field.is_required()]
    return {"keys": list(fields), "required": required, "defaults": defaults, "bounds": bounds}


def _sections() -> dict[str, Any]:
    """The parts of a file: the key that names a part's class, the methods that have it, whether it must be there."""
    top = SECTIONS[0][2][0]
    sections: dict[str, Any] = {}
    for path, tag, _ in SECTIONS[1:]:
        name = path.removeprefix("sum.")
        of = [rule for rule in SUMS if path.startswith("sum.") and name in rule.model_fields]
        methods = {rule: get_args(rule.model_fields["method"].annotation)[0] for rule in of}
        required = path in top.model_fields and top.model_fields[path].is_required()
        sections[path] = {
            "tag": tag, "of": [] if len(of) == len(SUMS) else list(methods.values()), "required": required,
            "needed": [method for rule, method in methods.items() if rule.model_fields[name].is_required()],
        }  # fmt: skip
    return sections


def case(unit: Unit, operands: Mapping[str, Any]) -> str:
    """A case as the text behind the `#` of the page's address: a preset's name or a unit's keys, and codes.

    operands: a, b, scale_a, scale_b: lists of codes; c: a code; got: the code that a design returned. Those that are
    None are left out.
    """
    keys = keys_of(unit)
    known = unit.name in _presets() and keys_of(load_unit(unit.name)) == keys
    parts = {"u": unit.name if known else json.dumps(keys, separators=(",", ":"))}
    parts |= {side: _codes(operands[side]) for side in OPERANDS if operands.get(side) is not None}
    return "&".join(f"{name}={quote(text, safe=',:{}[]')}" for name, text in parts.items())


def _codes(codes: Any) -> str:
    return ",".join(map(hex, codes)) if isinstance(codes, list | tuple) else hex(codes)


def page(shown: str | None = None) -> str:
    """The page. shown: the case that it opens on, where its address has none."""
    style = read("colours.css") + read("picture.css") + read("microscope.css")
    script = "".join(map(read, ("microscope-keys.js", "microscope-stages.js", "microscope.js")))
    data = {**_data(), "case": shown}
    return environment(TEMPLATES).get_template("microscope.html.j2").render(
        style=Markup(style), script=Markup(script), data=Markup(_in_script(data)), version=__version__,
        policy=policy(style, script).replace("script-src", "script-src 'wasm-unsafe-eval'"),
    )  # fmt: skip


def write_beside(path: Path, mismatches: Iterable[Mismatch]) -> str:
    """Write the page beside a report's if one of its mismatches has a case; return its name, empty if none is written.

    No page is written where the program cannot be built; the report then has commands alone.
    """
    if not any(mismatch.microscope for mismatch in mismatches):
        return ""
    try:
        text = page()
    except ToolMissing:
        return ""
    with written(path.with_name(FILE)) as file:
        file.write(text.encode())
    return FILE


def _in_script(data: Any) -> str:
    """JSON for a script element of HTML, which no tag in it ends."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
