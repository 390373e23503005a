"""The SystemVerilog of a vector set: a package of sizes and offsets, and a testbench that replays it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from hwsim.cosim.vectors.lines import layouts
from hwsim.spec import Unit, pipeline, unpromised

FILES = ("vectors_pkg.sv", "replay_dut.sv", "replay_tb.sv")


def bench_texts(unit: Unit, cases: int, lines: int, files: Iterable[str]) -> dict[str, str]:
    """The package, the module that brings a design into the testbench, and the testbench, by their files' names.

    files: the names of the set's files.
    """
    values: dict[str, Any] = {
        "unit": unit,
        "cases": cases,
        "lines": lines,
        "terms": unit.instruction.fill,
        "layouts": list(layouts(unit, files).items()),
        "prefix": lambda name: name.partition(".")[0].upper(),
        "result_bits": unit.output.container_bits,
        **_any_nan(unit),
        "minus_zero": unpromised(unit).minus_zero,
        **_design(unit),
    }
    return {name: _environment().get_template(f"{name}.jinja").render(values) for name in FILES}


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("hwsim.cosim.vectors"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _any_nan(unit: Unit) -> dict[str, Any]:
    """Whether any NaN is as good as another, and where a result's exponent and fraction are."""
    output = unpromised(unit).nans
    if output is None or output.nan != "ieee":
        return {"any_nan": False}
    exponent = (output.top_bexp << output.fraction_bits) << output.padding
    fraction = (1 << output.fraction_bits + output.padding) - 1
    return {"any_nan": True, "exponent": exponent, "fraction": fraction}


def _design(unit: Unit) -> dict[str, Any]:
    """hwsim's own RTL of the unit, or why there is none."""
    from hwsim.rtl import supports, top_name  # Amaranth takes a while

    support = supports(unit)
    if not support:
        return {"top": None, "why": support.reason}
    return {"top": top_name(unit), "context_bits": pipeline(unit).context_bits}
