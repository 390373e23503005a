"""What stands beside a module for other tools: a core description for FuseSoC, and timing constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import yaml

from .hierarchy import Style


@dataclass(frozen=True, kw_only=True)
class Project:
    """The files of a module, each by its name.

    sources: what it is made of, in the order in which tools must read it. checks: assertions bound to it, or none.
    constraints: its timing. words: what it is. version: of what wrote it.
    """

    top: str
    sources: Sequence[str]
    checks: Sequence[str]
    constraints: str
    words: str
    version: str

    def core(self) -> str:
        """A core description for FuseSoC (CAPI2): targets `default`, `lint`, `checked` and `synth`."""
        checked = with_checks = ""
        if self.checks:
            checked = _fileset("checks", self.checks, "systemVerilogSource")
            with_checks = _target("checked", "the sources, assertions bound to them", "rtl, checks", self.top)
        return (
            "CAPI=2:\n"
            f"name: hwsim:units:{self.top}:{self.version}\n"
            f"description: {_quoted(self.words)}\n"
            "\n"
            "filesets:\n"
            f"{_fileset('rtl', self.sources, 'systemVerilogSource')}{checked}"
            f"{_fileset('constraints', [self.constraints], 'SDC')}"
            "\n"
            "targets:\n"
            f"{_target('default', 'the sources, for a core that depends on this one', 'rtl', self.top)}"
            f"{_target('lint', 'every warning of Verilator, of which there is none', 'rtl', self.top)}"
            "    flow: lint\n"
            "    flow_options:\n"
            "      tool: verilator\n"
            "      verilator_options: [-Wall]\n"
            f"{with_checks}"
            f"{_target('synth', 'the sources and their timing', 'rtl, constraints', self.top)}"
        )


def _quoted(words: str) -> str:
    return str(yaml.dump(words, default_style='"', width=len(words) * 10 + 10)).strip()


def _fileset(name: str, files: Sequence[str], kind: str) -> str:
    return f"  {name}:\n    files: [{', '.join(files)}]\n    file_type: {kind}\n"


def _target(name: str, words: str, filesets: str, top: str) -> str:
    return f"  {name}:\n    description: {words}\n    filesets: [{filesets}]\n    toplevel: {top}\n"


def timing(top: str, period: float, inputs: Sequence[str], outputs: Sequence[str], style: Style) -> str:
    """Timing constraints (SDC): a clock of `period` ns, of which what is around the module may take 30 % at each port.

    inputs, outputs: ports beside clock and reset, as patterns.
    """
    reset = style.reset_name
    at_reset = (
        f"# {reset} acts at once, but must be released synchronously to clk, which is a matter of what drives it.\n"
        f"set_false_path -from [get_ports {reset}]\n"
        if style.reset == "async"
        else f"set_input_delay $outside -clock clk [get_ports {reset}]\n"
    )
    return (
        f"# Timing of {top}. Edit the clock's period, in ns, and how much of it the surroundings take at the ports.\n"
        f"set period {period:g}\n"
        "set outside [expr {0.3 * $period}]\n"
        "\n"
        "create_clock -name clk -period $period [get_ports clk]\n"
        f"set_input_delay $outside -clock clk [get_ports {{{' '.join(inputs)}}}]\n"
        f"set_output_delay $outside -clock clk [get_ports {{{' '.join(outputs)}}}]\n"
        f"{at_reset}"
    )
