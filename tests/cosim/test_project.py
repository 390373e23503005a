"""A unit's project: its core description, its timing constraints and its assertions name what there is."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from conftest import missing
from odd_units import unit as odd

from hwsim.cli import main
from hwsim.cosim.bench import bound_checks, project_files
from hwsim.rtl import Style
from hwsim.rtl.synthesis.cells import STA
from hwsim.spec import as_yaml, pipeline

TINY = odd("tiny")
TOP = "tiny"
BUILT = pipeline(TINY)


def test_the_command_fills_a_folder_that_the_core_description_lists(tmp_path: Path) -> None:
    (tmp_path / "u.yaml").write_text(as_yaml(TINY))
    folder = tmp_path / "out"
    words = [
        "rtl",
        str(tmp_path / "u.yaml"),
        "--package",
        "--project",
        "--period",
        "1.25",
        "-o",
        str(folder),
    ]
    assert main(words) == 0
    left = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".hwsim-files"}
    assert set(left) == {f"{TOP}{end}" for end in (".sv", "_pkg.sv", ".core", ".sdc", "_checks.sv")}
    core = yaml.safe_load(left[f"{TOP}.core"].decode().removeprefix("CAPI=2:\n"))
    assert re.fullmatch(rf"hwsim:units:{TOP}:[\w.]+", core["name"])
    listed = {name for fileset in core["filesets"].values() for name in fileset["files"]}
    assert listed == set(left) - {f"{TOP}.core"}
    # The package comes before what imports it.
    assert core["filesets"]["rtl"]["files"] == [f"{TOP}_pkg.sv", f"{TOP}.sv"]
    assert b"\npackage " not in left[f"{TOP}.sv"] and f"import {TOP}_pkg::*;".encode() in left[f"{TOP}.sv"]
    for target in core["targets"].values():
        assert set(target["filesets"]) <= set(core["filesets"]) and target["toplevel"] == TOP
    assert set(core["targets"]) == {"default", "lint", "checked", "synth"}
    assert main(words) == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".hwsim-files"} == left


# Of each command of constraints a line: what it is, and what it is about.
SAYING = r"""
proc get_ports {patterns} {
    set names {}
    foreach one $patterns { lappend names [string map {{[*]} {}} $one] }
    foreach one $names { puts "get_ports $one" }
    return $names
}
foreach name {create_clock set_input_delay set_output_delay set_false_path} {
    proc $name {args} "puts \"$name \[join \$args\]\""
}
"""


def constrained(text: str, folder: Path) -> dict[str, list[str]]:
    """What each command of constraints is about, by the Tcl of OpenSTA; `get_ports`: every port that is named."""
    if (sta := shutil.which(STA)) is None:
        missing(f"OpenSTA ({STA}) is missing; install with: apt-get install opensta")
    (folder / "said.tcl").write_text(SAYING + text)
    done = subprocess.run([str(sta), "-no_splash", "-exit", "said.tcl"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    said: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        name, _, about = line.partition(" ")
        said.setdefault(name, []).append(about)
    return said


PORTS = {
    "clk", "rst", "in_valid", "in_ready", "in_a", "in_b", "in_c", "in_first", "in_last", "in_context",
    "out_valid", "out_ready", "out_result", "out_context", "misuse",
}  # fmt: skip


def test_constraints_are_tcl_and_name_every_port_once(tmp_path: Path) -> None:
    text = project_files(TINY, BUILT, Style(), 1.25, "1")[f"{TOP}.sdc"]
    said = constrained(text, tmp_path)
    assert said["create_clock"] == ["-name clk -period 1.25 clk"]
    delays = [*said["set_input_delay"], *said["set_output_delay"]]
    assert all(line.startswith("0.375 -clock clk ") for line in delays)
    named = [name for line in delays for name in line.split()[3:]]
    assert sorted(named) == sorted(PORTS - {"clk"})
    assert sorted(said["get_ports"]) == sorted(PORTS)


def test_constraints_of_a_reset_that_acts_at_once_and_of_an_enable(tmp_path: Path) -> None:
    style = Style(reset="async", reset_low=True, clock_enable=True)
    files = project_files(TINY, BUILT, style, 2, "1")
    said = constrained(files[f"{TOP}.sdc"], tmp_path)
    assert set(said["get_ports"]) == PORTS - {"rst"} | {"rst_n", "clk_en"}
    assert said["set_false_path"] == ["-from rst_n"]
    assert "clk_en" in said["set_input_delay"][0]
    # Assertions look at every cycle, of which some do not count.
    assert set(files) == {f"{TOP}.core", f"{TOP}.sdc"} and "checked" not in files[f"{TOP}.core"]


def test_assertions_know_the_level_of_the_reset() -> None:
    usual, low = (bound_checks(TINY, BUILT, style)[f"{TOP}_checks.sv"] for style in (Style(), Style(reset_low=True)))
    fields = "{in_context, in_last, in_first, in_c, in_b, in_a}"
    assert usual.replace(f".rst(rst),\n  .i_payload({fields})", f".rst(~rst_n),\n  .i_payload({fields})") == low
    assert low.count("~rst_n") == 1
    packed = bound_checks(TINY, BUILT, Style(package=True))[f"{TOP}_checks.sv"]
    assert ".i_payload(in_payload), .i_valid(in_valid)" in packed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--project", "-o", "-"], "--project needs a folder for --output"),
        (["--project", "--period", "0", "-o", "f/"], "--period must be above 0"),
        (["--period", "2", "-o", "-"], "--period must be above 0 and below 1,000,000 ns, with --project"),
        (["--clock-enable", "--assertions", "-o", "f/"], "--assertions goes without --clock-enable"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rtl", "sequential-e4m3-f16", *words]) == 2
    assert said in capsys.readouterr().err
