"""The files that stand beside a unit's modules: its package, assertions, a core description and timing constraints."""

from __future__ import annotations

from dataclasses import replace

from hwsim.cosim.assertions import checks
from hwsim.cosim.ports import port_map
from hwsim.rtl import Project, Style, timing, top_name, unit_package
from hwsim.spec import Pipeline, Specified


def bound_checks(unit: Specified, pipeline: Pipeline, style: Style) -> dict[str, str]:
    """The assertions of a unit's ports, by the name of their file.

    None with a clock enable: they look at every cycle, and would hold its ports to cycles in which nothing happens.
    """
    if style.clock_enable:
        return {}
    ports = port_map(unit, pipeline)
    reset = f"~{style.reset_name}" if style.reset_low else style.reset_name
    return {f"{ports.top}_checks.sv": checks(replace(ports, reset=reset))}


def project_files(unit: Specified, pipeline: Pipeline, style: Style, period: float, version: str) -> dict[str, str]:
    """What stands beside `TOP.sv`, by the names of the files. period: of the clock, in ns. version: hwsim's."""
    top = top_name(unit)
    packages = {f"{top}_pkg.sv": unit_package(unit, pipeline)} if style.types else {}
    found = bound_checks(unit, pipeline, style)
    project = Project(
        top=top,
        sources=[*packages, f"{top}.sv"],
        checks=list(found),
        constraints=f"{top}.sdc",
        words=f"{unit.name}: {unit.summary}",
        version=version,
    )
    enable = ["clk_en"] if style.clock_enable else []
    inputs = [*enable, "i__valid", "i__payload[*]", "o__ready"]
    outputs = ["i__ready", "o__valid", "o__payload[*]", "misuse"]
    constraints = timing(top, period, inputs, outputs, style)
    return {**packages, f"{top}.core": project.core(), f"{top}.sdc": constraints, **found}
