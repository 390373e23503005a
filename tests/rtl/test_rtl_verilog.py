"""The deliverable: one flat Verilog module, the same bytes every time, silent under lint, with ports as documented."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from built_presets import DISTINCT, others_slow
from odd_units import IN_RTL, unit, units_of
from unit_keys import odd_unit, window

import hwsim
from hwsim.cosim.bench import port_map
from hwsim.cosim.tools import find_icarus, find_verilator
from hwsim.rtl import DotUnit, beat_layout, field_table, result_port_layout, top_name, verilog
from hwsim.spec import NotImplementedYet, Pipeline, Unit, load_unit, pipeline, presets, steps

ODD = units_of(IN_RTL)
TINY = unit("tiny")
TINY_PROMOTED = unit("tiny-promoted")

WIDE = odd_unit("wide-64", "e2m1", "f32", window(13), "e8m13", 64, rounding="rz")

DESIGNS: dict[str, tuple[Unit, Pipeline]] = {
    **{name: (load_unit(name), pipeline(load_unit(name))) for name in DISTINCT},
    **{name: (unit, pipeline(unit)) for name, unit in ODD.items()},
    "64 lanes": (WIDE, pipeline(WIDE, cuts=("multiply", "maximum.3", "sum.2"))),
    **{f"{contexts} contexts": (TINY, pipeline(TINY, contexts=contexts)) for contexts in (1, 3, 8)},
    "every cut": (TINY_PROMOTED, pipeline(TINY_PROMOTED, cuts=steps(TINY_PROMOTED))),
    "one register": (TINY_PROMOTED, pipeline(TINY_PROMOTED, cuts=())),
    "trees": (ODD["floor-to-f16"], pipeline(ODD["floor-to-f16"], cuts=("maximum.2", "distance", "sum.3"), contexts=5)),
}


def lint(file: Path) -> subprocess.CompletedProcess[str]:
    tool = find_verilator()
    command = [tool.program, "--lint-only", "--quiet", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **tool.environment})


def icarus_compile(file: Path) -> subprocess.CompletedProcess[str]:
    command = [find_icarus(), "-g2012", "-o", os.devnull, str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def ports_of(text: str) -> dict[str, tuple[str, int]]:
    """Direction and width of every port."""
    declared = re.findall(r"^  (input|output) (?:wire |reg |logic )?(?:\[(\d+):0\] )?(\w+);", text, re.MULTILINE)
    return {name: (direction, int(high or 0) + 1) for direction, high, name in declared}


# What is written does not depend on the preset: one of them, every rule of the odd units, and the odd pipelines.
LINTED = [*DISTINCT[:1], *ODD, "3 contexts", "every cut", "one register", "trees"]


@pytest.mark.simulator
@pytest.mark.parametrize("name", others_slow(DESIGNS, LINTED[::5]))
def test_the_verilog_is_one_flat_module_that_tools_take_in_silence(
    verilator: None, icarus: None, name: str, tmp_path: Path
) -> None:
    unit, built = DESIGNS[name]
    text, top = verilog(unit, built), top_name(unit)
    assert re.findall(r"^module (\w+)", text, re.MULTILINE) == [top]
    assert text.count("endmodule") == 1
    assert text.endswith("endmodule\n")
    # No instances, and none of what Yosys notes of where it came from.
    assert not re.search(r"^  [\\\w.]+ [\\\w.]+ \($", text, re.MULTILINE)
    for trace in ("(*", "src =", ".py", "site-packages", str(Path.home()), os.getcwd(), "/tmp", "Yosys"):
        assert trace not in text
    assert ports_of(text) == {
        "clk": ("input", 1),
        "rst": ("input", 1),
        "i__payload": ("input", beat_layout(unit, built).size),
        "i__valid": ("input", 1),
        "i__ready": ("output", 1),
        "o__payload": ("output", result_port_layout(unit, built).size),
        "o__valid": ("output", 1),
        "o__ready": ("input", 1),
        "misuse": ("output", 1),
    }
    file = tmp_path / f"{top}.v"
    file.write_text(text)
    for said in (lint(file), icarus_compile(file)):
        assert (said.returncode, said.stdout, said.stderr) == (0, "", "")


@pytest.mark.simulator
def test_lint_and_icarus_can_complain(verilator: None, icarus: None, tmp_path: Path) -> None:
    file = tmp_path / "tiny.v"
    text = verilog(TINY, pipeline(TINY))
    # A narrower operand, and a name that is not there.
    file.write_text(text.replace("endmodule", "  wire [7:0] wide = clk + 4'd1;\nendmodule"))
    assert "WIDTHEXPAND" in lint(file).stderr
    file.write_text(text.replace("endmodule", "  assign missing.x = clk;\nendmodule"))
    assert lint(file).returncode != 0
    assert icarus_compile(file).returncode != 0


DIGESTS = """
import hashlib
from odd_units import unit
from hwsim.rtl import verilog
from hwsim.spec import pipeline
names = ("jam-5-lanes-f16", "blocks-in-a-beat", "tiny-promoted")
texts = [verilog(unit(name), pipeline(unit(name))) for name in names]
digests = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
"""


def test_the_bytes_are_the_same_in_every_process(tmp_path: Path) -> None:
    # Here, and with other hashes of texts in another folder.
    tests = Path(__file__).parents[1]
    other = subprocess.Popen(
        [sys.executable, "-c", f"{DIGESTS}print(digests)"],
        env={**os.environ, "PYTHONHASHSEED": "20", "PYTHONPATH": str(tests)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    here: dict[str, list[str]] = {}
    exec(DIGESTS, here)
    assert other.communicate()[0] == f"{here['digests']}\n"
    assert (other.returncode, len(set(here["digests"]))) == (0, 3)


def test_another_pipeline_or_specification_is_other_verilog() -> None:
    usual = verilog(TINY, pipeline(TINY))
    assert usual == verilog(TINY, pipeline(TINY))
    assert usual != verilog(TINY, pipeline(TINY, contexts=3))
    assert usual != verilog(TINY, pipeline(TINY, cuts=("sum",), contexts=4))
    assert usual != verilog(TINY_PROMOTED, pipeline(TINY_PROMOTED))


def test_the_header_says_what_was_built() -> None:
    unit = ODD["blocks-in-a-beat"]
    built = pipeline(unit, cuts=("sum",), contexts=3)
    lines = [line for line in verilog(unit, built).splitlines() if line.startswith("//")]
    assert lines[0] == "// blocks-in-a-beat: a dot-product unit, generated by hwsim. Do not edit."
    assert lines[1] == "// cuts: sum, round (latency 2); contexts: 3"
    # 4 lanes of 4 bits; a block of 2 lanes of a and one of 8 of b, whose scale spans two beats.
    assert lines[-10:] == [
        "// i__payload[15:0]  a[0..3]",
        "// i__payload[31:16]  b[0..3]",
        "// i__payload[47:32]  scale_a[0..1]",
        "// i__payload[55:48]  scale_b[0..0]",
        "// i__payload[87:56]  c",
        "// i__payload[88:88]  first",
        "// i__payload[89:89]  last",
        "// i__payload[91:90]  context",
        "// o__payload[15:0]  result",
        "// o__payload[17:16]  context",
    ]


def test_the_header_holds_the_specification(tmp_path: Path) -> None:
    unit = ODD["promoted-scaled"]
    text = verilog(unit, pipeline(unit))
    comment = [line.removeprefix("//").removeprefix(" ") for line in text.splitlines() if line.startswith("//")]
    gaps = [index for index, line in enumerate(comment) if not line]
    file = tmp_path / "unit.yaml"
    file.write_text("\n".join(comment[gaps[0] : gaps[1]]))
    assert load_unit(file) == unit


@pytest.mark.parametrize("name", DESIGNS)
def test_fields_follow_one_another_from_bit_0(name: str) -> None:
    unit, built = DESIGNS[name]
    for layout in (beat_layout(unit, built), result_port_layout(unit, built)):
        table = list(field_table(layout))
        assert [low for _, _, low in table] == [0, *(high + 1 for _, high, _ in table[:-1])]
        assert table[-1][1] == layout.size - 1
    fields = [label.split("[")[0] for label, _, _ in field_table(beat_layout(unit, built))]
    scales = ["scale_a", "scale_b"] if unit.scale else []
    addend = ["c"] if unit.operands.addend else []
    assert fields == ["a", "b", *scales, *addend, "first", "last", "context"]
    names = [label for label, _, _ in field_table(result_port_layout(unit, built))]
    assert names == ["result", "context"]


def test_lane_0_is_in_the_low_bits() -> None:
    unit = ODD["jam-5-lanes-f16"]
    ports = port_map(unit, pipeline(unit))
    a, b = ports.input.fields[:2]
    assert (a.offset, a.bits, a.count, b.offset) == (0, 8, 5, 40)
    assert a.place([1, 2, 3, 4, 5]) == 0x0504030201


def test_names_are_made_of_what_verilog_allows() -> None:
    assert top_name(odd_unit("a.b-c_d", "e4m3", "f32", window(13), "e8m13")) == "a_b_c_d"
    assert {top_name(load_unit(name)) for name in presets()} == {name.replace("-", "_") for name in presets()}


@pytest.mark.parametrize("name", ["4x4", "module", "reg", "endmodule"])
def test_a_name_that_verilog_does_not_allow(icarus: None, name: str, tmp_path: Path) -> None:
    unit = odd_unit(name, "e2m1", "f16", window(13), "e8m13", 1, rounding="rz")
    top = top_name(unit)
    assert re.fullmatch(r"[A-Za-z_]\w*", top)
    file = tmp_path / "unit.v"
    file.write_text(f"{verilog(unit, pipeline(unit))}\nmodule around; {top} dut (); endmodule\n")
    assert icarus_compile(file).returncode == 0


def test_what_no_implementation_has_is_refused_by_name() -> None:
    unit = odd_unit("unsigned", ("ue4m3", "e4m3"), "f32", window(13), "f32", 2)
    for build in (lambda: verilog(unit, pipeline(unit)), lambda: DotUnit(unit, pipeline(unit))):
        with pytest.raises(NotImplementedYet, match="unit unsigned: unsigned factors is not implemented yet"):
            build()
    with warnings.catch_warnings():
        # Amaranth warns of a component that nothing elaborates, when it is collected.
        warnings.simplefilter("ignore")
        gc.collect()
    assert issubclass(NotImplementedYet, ValueError)
    assert hwsim.NotImplementedYet is NotImplementedYet
