"""What is proved of one choice of lanes holds of others only where they are one term, and of zeros only where seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from cosim.dut_files import DESIGNS, design, own_file

from hwsim.cosim.dutdesign import DutDesign, dut_design
from hwsim.cosim.dutfile import load_dut
from hwsim.prove.dut import DutProofOptions, prove_dut, refuted_by_a_case
from hwsim.prove.products import Placing
from hwsim.prove.sweeping import Merging, is_one_sum
from hwsim.prove.terms import Evaluated, Kind, Term, constant, op, value
from hwsim.prove.unrolled import beat_result
from hwsim.spec import Unit

WIRE = "a3 = operands[24:31];"
SMALL = Unit.model_validate(
    {
        "unit": "small",
        "operands": {"a": "e2m3", "b": "e2m3", "addend": "f16"},
        "instruction": {"k": 2, "lanes": 2},
        "sum": {"method": "exact"},
        "result": {"format": "f16", "rounding": "rne"},
    }
)
CHAIN = {"method": "sequential", "format": "f16", "rounding": "rne", "product": "fused"}
TREE = {**CHAIN, "method": "pairwise"}


def with_lane_3(folder: Path, code: str) -> DutDesign:
    """The combinational design with another code in its last lane."""
    text = (DESIGNS / "dot4_comb.v").read_text()
    assert WIRE in text
    (folder / "wrong.v").write_text(text.replace(WIRE, f"a3 = {code};"))
    return design(folder, "comb", sources=["wrong.v", str(DESIGNS / "dot4_core.v")])


def placing(made: DutDesign) -> Placing:
    return Placing(made, beat_result(made))


def small(method: dict[str, str], **result: str) -> Unit:
    data = SMALL.model_dump(mode="json", exclude_none=True)
    return Unit.model_validate(data | {"sum": method, "result": {"format": "f16", "rounding": "rne"} | result})


def test_sums_in_another_order_are_one() -> None:
    x, y, z = (op(Kind.BV_ZERO_EXTEND, constant(name, 8), indices=[4]) for name in "xyz")

    def plus(first: Term, second: Term) -> Term:
        return op(Kind.BV_ADD, first, second)

    assert is_one_sum(plus(plus(x, y), z), plus(x, plus(z, y)))
    assert not is_one_sum(plus(plus(x, y), z), plus(x, plus(z, z)))
    # Where the inner sum of one wraps round, they are two.
    short = op(Kind.BV_ADD, constant("x", 8), constant("y", 8))
    assert not is_one_sum(op(Kind.BV_ZERO_EXTEND, short, indices=[4]), plus(x, y))


def test_terms_are_put_together_only_where_they_are_equal() -> None:
    x, y = constant("x", 8), constant("y", 8)
    merging = Merging(Evaluated({"x": [1, 2, 3], "y": [3, 2, 1]}))
    first, second = (op(Kind.ITE, op(Kind.BV_ULT, p, q), q, p) for p, q in ((x, y), (y, x)))
    assert merging.merged(first).id() == merging.merged(second).id()
    # Equal in all samples, and not elsewhere.
    third = op(Kind.ITE, op(Kind.EQUAL, x, value(77, 8)), y, first)
    assert merging.merged(third).id() != merging.merged(first).id()


def test_a_lane_that_differs_in_one_zero_is_no_other(tmp_path: Path) -> None:
    # 0 times 2^-9 is taken for 2^-9 times 2^-9.
    code = "operands[24:31] == 8'h80 && operands[56:63] == 8'h01 ? 8'h01 : operands[24:31]"
    found = placing(with_lane_3(tmp_path, code))
    assert [found.zero_is_plain(lane, seconds) for lane, seconds in ((0, 10.0), (3, 0.5))] == [True, False]
    ends = [found.alike((lane,)) for lane in range(4)]
    assert ends[0] == ends[1] == ends[2] != ends[3]


@pytest.mark.slow
def test_a_rare_mistake_in_the_last_lane_is_refuted_there(tmp_path: Path) -> None:
    made = with_lane_3(tmp_path, "operands[24:31] == 8'h55 ? 8'h56 : operands[24:31]")
    report = prove_dut(made, DutProofOptions(products=1))
    row = report.rows[-1]
    assert row.word == "refuted"
    assert row.refuting["a[3]"] == 0x55


# Our own Verilog of one unit, said to be another.
MISTAKEN = {
    "sequential": (small(CHAIN), CHAIN | {"rounding": "rz"}, "rne"),
    "exact": (SMALL, {"method": "exact"}, "rd"),
    "sequential, products rounded": (small(CHAIN | {"product": "rounded"}), CHAIN | {"rounding": "rz"}, "rne"),
    "pairwise": (small(TREE), TREE | {"rounding": "rz"}, "rne"),
    "pairwise, products rounded": (small(TREE | {"product": "rounded"}), TREE | {"rounding": "rd"}, "rne"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.slow] * (at > 0)) for at, one in enumerate(MISTAKEN)]
)
def test_another_rule_is_refuted_by_a_case(name: str, tmp_path: Path) -> None:
    unit, method, rounding = MISTAKEN[name]
    made = dut_design(load_dut(own_file(tmp_path, unit, small(method, rounding=rounding))))
    assert refuted_by_a_case(made, beat_result(made), 1) is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKEN)
def test_the_right_rule_is_not_refuted_by_a_case(name: str, tmp_path: Path) -> None:
    made = dut_design(load_dut(own_file(tmp_path, MISTAKEN[name][0])))
    assert all(refuted_by_a_case(made, beat_result(made), count) is None for count in (1, 2))


@pytest.mark.slow
def test_a_claim_ends_in_its_seconds(tmp_path: Path) -> None:
    made = dut_design(load_dut(own_file(tmp_path, small(TREE | {"product": "rounded"}))))
    row = prove_dut(made, DutProofOptions(products=1, seconds=1.0)).rows[-1]
    assert row.word == "undecided"
    assert row.seconds < 15
