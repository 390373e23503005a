"""Results that are an integer and a scale: the adapter's code of each, a published design and its faults, refusals."""

from __future__ import annotations

import subprocess
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from built_presets import others_slow
from cosim.dut_files import DESIGNS, design, play, variant
from cosim.runs_shown import few_pairs
from cosim.small_runs import small_suites

from hwsim.base.errors import InputError
from hwsim.cli import main
from hwsim.cosim.tools import find_icarus
from hwsim.cosim.wiring import ScaledResult
from hwsim.explain import read_json
from hwsim.explain.reports import kinds_lines
from hwsim.formats import FloatFormat, get_format

pytestmark = pytest.mark.simulator

F16, TF32 = get_format("f16"), get_format("tf32")
assert isinstance(F16, FloatFormat) and isinstance(TF32, FloatFormat)
NORMAL = FloatFormat(name="normal", kind="float", exponent_bits=5, fraction_bits=4, bias=20, subnormals=False)

BENCH = """
module bench;
  reg signed [{integer}:0] number; reg [{scale}:0] scale;
{function}
  wire [{code}:0] code = made(number, scale);
  integer i, j;
  initial begin
    for (i = 0; i < {numbers}; i = i + 1) for (j = 0; j < {scales}; j = j + 1) begin
      number = i; scale = j; #1 $display("%0d", code);
    end
    number = 1; scale = 0; number[1] = 1'bx; #1 $display("%b", code);
    number = 0; scale[0] = 1'bx; #1 $display("%b", code);
  end
endmodule
"""


def whole(code: int, bits: int, signed: bool = True) -> int:
    return code - (code >> bits - 1 << bits) if signed else code


SIZES = [
    (F16, 9, 4, 24, False), (F16, 12, 4, 24, False), (F16, 5, 4, 8, True), (TF32, 8, 3, 136, False),
    (TF32, 12, 3, 130, False), (NORMAL, 5, 4, 18, False), (NORMAL, 6, 3, 10, True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fmt", "integer_bits", "scale_bits", "bias", "signed"),
    others_slow(SIZES, [SIZES[0], SIZES[2], SIZES[3], SIZES[6]]),
    ids=lambda it: getattr(it, "name", str(it)),
)
def test_every_integer_at_every_scale_is_the_code_of_their_number(
    icarus: None, tmp_path: Path, fmt: FloatFormat, integer_bits: int, scale_bits: int, bias: int, signed: bool
) -> None:
    places = tuple(("scale", (), place) for place in range(scale_bits))
    sizes = {"numbers": 1 << integer_bits, "scales": 1 << scale_bits}
    made = ScaledResult(fmt, integer_bits, places, bias, signed).function("made")
    widths = {"integer": integer_bits - 1, "scale": scale_bits - 1, "code": fmt.container_bits - 1}
    (tmp_path / "bench.v").write_text(BENCH.format(function=made, **widths, **sizes))
    subprocess.run([find_icarus(), "-o", tmp_path / "bench", tmp_path / "bench.v"], check=True)
    said = subprocess.run([tmp_path / "bench"], check=True, capture_output=True, text=True).stdout.split()
    *codes, no_integer, no_scale = said
    pairs = [(i, s) for i in range(1 << integer_bits) for s in range(1 << scale_bits)]
    for (integer, scale), code in zip(pairs, map(int, codes), strict=True):
        sign, exp, sig, _ = fmt.fields(code >> fmt.padding)
        number = Fraction(-sig if sign else sig) * Fraction(2) ** (exp - fmt.fraction_bits)
        power = whole(scale, scale_bits, signed) - bias
        assert number == whole(integer, integer_bits) * Fraction(2) ** power, (integer, scale, code)
        assert code != fmt.sign_bit << fmt.padding
    for unknown in (no_integer, no_scale):
        assert set(unknown.removesuffix("0" * fmt.padding)) == {"x"}


@pytest.mark.parametrize("simulator", ["icarus", pytest.param("verilator", marks=pytest.mark.slow)])
def test_two_blocks_summed_to_an_integer_and_a_scale(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, simulator: str
) -> None:
    request.getfixturevalue(simulator)
    few_pairs(monkeypatch)
    report = play(tmp_path, "mx-pair", simulator)
    assert report.passed
    assert report.figures.bins.hit > 110


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (1, "distance of normalisation added, from place 20, in two's complement"),
        (2, None),
        (3, "lost bits floored"),
    ],
)
def test_faults_of_it_are_found_and_named(
    icarus: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: int, name: str | None
) -> None:
    small_suites(monkeypatch)
    few_pairs(monkeypatch)
    report = play(tmp_path, "mx-pair", minimize=True, parameters={"FAULT": fault})
    assert not report.passed
    said = "\n".join(kinds_lines(report.kinds))
    assert name is None or f"  {name}: " in said


@pytest.mark.parametrize("fault", [0, 1])
def test_the_published_case(icarus: None, tmp_path: Path, fault: int) -> None:
    """1 * 64 in codes, which is 2^-6 at scales of 1: another scale than the published design's makes another number."""
    case = {"unit": "mx-pair", "a": [1] + [0] * 7, "b": [64] + [0] * 7, "scale_a": [63, 63], "scale_b": [63, 63]}
    (tmp_path / "case.yaml").write_text(yaml.safe_dump(case))
    dut = variant(tmp_path, "mx-pair", parameters={"FAULT": fault})
    arguments = ["--sim", "icarus", "--case", str(tmp_path / "case.yaml"), "-o", str(tmp_path / "run")]
    assert main(["cosim", "--dut", str(dut), *arguments]) == fault
    report = read_json(tmp_path / "run" / "results.json")
    assert report.figures.compared == 1
    if fault:
        (mismatch,) = report.mismatches
        assert [float(code.value) for code in (mismatch.expected, mismatch.got)] == [2.0**-6, 2.0**16]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"zero_sign": "promised"}, r"ports\.result\.scale needs result\.zero_sign: any .* and pair has two"),
        ({"fraction_bits": 15}, r"needs a result with every number that it can make, 17 significant bits from 2\^-170 "
                                r"to 2\^358; pair has 16 from 2\^-314 to 2\^723"),
        ({"bias": 700}, r"17 significant bits from 2\^-170 to 2\^358; pair has 17 from 2\^-715 to 2\^323"),
        ({"bias": 100}, r"pair has 17 from 2\^-115 to"),
        ({"format": {"name": "whole", "kind": "fixed", "integer_bits": 30, "fraction_bits": 0}},
         r"ports\.result\.scale needs a result that is a float with a sign, not whole"),
    ],
)  # fmt: skip
def test_a_result_that_cannot_be_every_number_is_refused(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    unit = yaml.safe_load((DESIGNS / "mx-pair-unit.yaml").read_text())
    for key, value in changes.items():
        (unit["result"] if key in unit["result"] else unit["result"]["format"])[key] = value
    if "format" in changes:
        del unit["result"]["zero_sign"]
        unit["sum"] = {"method": "exact", "rounded": "group", "subgroup": {"lanes": 4, "method": "exact"}}
    (tmp_path / "unit.yaml").write_text(yaml.safe_dump(unit))
    with pytest.raises(InputError, match=rf"dut\.yaml:\d+: .*{said}"):
        design(tmp_path, "mx-pair", unit=str(tmp_path / "unit.yaml"))


@pytest.mark.parametrize(
    ("ports", "said"),
    [
        ({"a": {"port": "x", "scale": {"port": "scale", "bias": 0}}},
         r"ports\.a\.scale must not be given: only a result has an integer and a scale"),
        ({"result": {"port": "dp", "scale": {"port": "dp", "bias": 0}}}, r"scale must have at most 16 bits, not 18"),
        ({"result": {"port": "dp", "scale": {"port": "x", "bias": 0}}}, r"ports\.result\.scale\.port .*output"),
        ({"result": {"port": "dp", "scale": {"port": "scale"}}}, r"ports\.result\.scale\.bias is missing"),
    ],
)  # fmt: skip
def test_a_scale_that_is_none_is_refused(tmp_path: Path, ports: dict[str, object], said: str) -> None:
    given = yaml.safe_load((DESIGNS / "mx-pair.yaml").read_text())["ports"]
    with pytest.raises(InputError, match=rf"dut\.yaml:\d+: .*{said}"):
        design(tmp_path, "mx-pair", ports=given | ports)
