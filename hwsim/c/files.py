"""The files of an export: their names and their text."""

from __future__ import annotations

from hwsim.c.text import HEADER, render
from hwsim.c.unit import UnitInC
from hwsim.spec import Unit

# Stands in the first line of every file, so that a later export knows which files are its own.
MARK = "hwsim export-c"


def export_c(unit: Unit, version: str) -> dict[str, str]:
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
