"""A design that names the boundaries of our steps is proved for every input; what is wrong with either is refuted."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from built_presets import others_slow
from cosim.dut_files import DESIGNS, variant
from prove.own_verilog import wrapped

from hwsim.base.errors import InputError
from hwsim.cli import main
from hwsim.cosim.dutdesign import DutDesign, dut_design
from hwsim.cosim.dutfile import DesignBoundaries, load_dut
from hwsim.prove.dut import StepsOf
from hwsim.prove.unrolled import BeatResult, beat_result

STEPS = yaml.safe_load((DESIGNS / "steps.yaml").read_text())["steps"]

# A mistake in the design, and the claim that it breaks.
MISTAKES = {
    1: "lanes: products",  # a lane's sign is that of one factor
    2: "maximum",  # a product of zero takes part
    3: "lane: aligned",  # lost bits are floored
    4: "sum",  # the addend's sign is not extended
    5: "special",  # NaN beside an infinity
    6: "sum",  # a lane is left out
    7: "result",  # rounded to nearest where it is a tie
    8: "addend: c",  # a subnormal addend is zero
}


@cache
def followed() -> tuple[DutDesign, BeatResult]:
    design = dut_design(load_dut(DESIGNS / "steps.yaml"))
    return design, beat_result(design)


def steps_of(*changes: tuple[str, Any]) -> StepsOf:
    """The design's steps, with other places: None takes one away."""
    data = copy.deepcopy(STEPS)
    for key, value in changes:
        *path, last = key.split(".")
        place = data
        for name in path:
            place = place[name]
        place.pop(last, None)
        place |= {} if value is None else {last: value}
    design, beat = followed()
    file = design.dut.file.model_copy(update={"steps": DesignBoundaries.model_validate(data)})
    return StepsOf(replace(design, dut=replace(design.dut, file=file)), beat, 60)


def words(steps: StepsOf) -> dict[str, str]:
    return {claim.name: claim.decide(60).word for claim in steps.found().all()}


@pytest.mark.quick(cases=1)
def test_every_step_of_a_users_design_is_the_models() -> None:
    design, beat = followed()
    assert (beat.cycles, beat.alone) == (2, False)
    found = words(StepsOf(design, beat, 60))
    assert set(found.values()) == {"proved"}, found
    assert {"lane: product", "maximum", "lane: aligned", "sum", "result", "special", "wiring"} < set(found)


# What `steps` says, and is not so; and a claim that says so.
WRONG = {
    "a sign that is the next lane's": (
        ("multiply.terms.sign", ["neg[1]", "neg[0]", "neg[2]", "neg[3]"]),
        "lanes: products",
    ),
    "an addend that is one more": (("multiply.addend.sig", {"signal": "cmant_q", "plus": 1}), "addend: c"),
    "an exponent that is one less": (("multiply.terms.exp", {"signal": "place", "plus": -1}), "lane: product"),
    "a largest exponent that is one more": (("maximum.max_exp", {"signal": "top", "plus": -112}), "maximum"),
    "a term in the window in ones' complement": (
        ("align.aligned.carry", ["fixed[15]", "fixed[31]", "fixed[47]", "fixed[63]", "cfixed[15]"]),
        "lane: aligned",
    ),
    "lanes the other way round": (("multiply.terms.exp", {"signal": "place", "lane0": "high"}), "lane: product"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.slow] * (at % 4 > 0)) for at, one in enumerate(WRONG)]
)
def test_a_boundary_that_is_not_what_it_is_said_to_be_is_refuted(name: str) -> None:
    change, claim = WRONG[name]
    found = words(steps_of(change))
    assert found[claim] == "refuted", found


# What is no boundary of the design, and what is said of it.
ERRORS = {
    "no signal": (
        ("maximum.max_exp", "topp"),
        "maximum.max_exp must name a signal of dot4_steps, not topp; there are top",
    ),
    "of another module": (("sum.total", "lane[0].mul.sum"), "not lane[0].mul.sum; there are last.sum, sum, "),
    "beyond": (("sum.total", "sum[19:0]"), "sum.total must be within sum[18:0], not sum[19:0]"),
    "too narrow": (("sum.total", "sum[16:0]"), "sum.total must have at least 19 bits, not 17"),
    "a narrow addend": (
        ("multiply.addend.sig", "cmant_q[12:0]"),
        "addend.sig must have at least 14 bits, not 13",
    ),
    "a wide flag": (("multiply.special.nan", "top"), "multiply.special.nan must be of one bit, not 9"),
    "a wide sign": (("multiply.terms.sign", "mant"), "multiply.terms.sign must be of one bit, not 8"),
    "few": (
        ("multiply.terms.sign", ["neg[0]"]),
        "terms.sign must name 4 signals, one for each element, not 1",
    ),
    "uneven": (
        ("multiply.terms.sig", "mant[30:0]"),
        "must hold 4 elements of as many bits each, not 31 bits (mant[",
    ),
    "no such cycle": (("sum.total", {"signal": "sum", "cycle": 3}), "must have a cycle from 0 to 2, not 3 (sum)"),
    "another cycle": (
        ("sum.total", {"signal": "sum", "cycle": 0}),
        "in cycle 0 is sum the beat's alone: it depends on cmant_q, cneg_q, cplace_q",
    ),
    "infinities that never are": (("multiply.special.positive", 0), "also depends on"),
    "an infinity of the other sign": (("multiply.special.positive", "minus_q"), "also depends on"),
    "not all": (("multiply.addend.sign", "nan_q"), "also depends on c"),
    "not all of the result": (("sum.total", "third"), "steps.sum must be all that the result follows from, which also"),
    "no addend": (("multiply.addend", None), "multiply.addend is missing: ports.c is an addend"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_is_no_boundary_is_an_error(name: str) -> None:
    change, said = ERRORS[name]
    with pytest.raises(InputError) as caught:
        steps_of(change).found()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(DESIGNS / "steps.yaml"))


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ({"signal": "a", "signals": ["b"]}, "must have one of signal, signals, each and constant"),
        ({}, "must have one of signal, signals, each and constant"),
        ({"signal": "a b"}, "steps.sum.total.signal"),
        ({"constant": 1, "plus": 1}, "must have no other key beside constant"),
        ({"constant": -1}, "steps.sum.total.constant must be greater than or equal to 0, not -1"),
        ({"signal": "a", "cycle": -1}, "steps.sum.total.cycle must be greater than or equal to 0, not -1"),
        ({"signal": "a", "bits": 3}, "steps.sum.total.bits is not a key here"),
        (None, "steps.sum.total"),
    ],
)
def test_a_place_that_breaks_a_rule_is_named(place: Any, said: str, tmp_path: Path) -> None:
    path = variant(tmp_path, "steps", steps={**STEPS, "sum": {"total": place}})
    with pytest.raises(InputError, match=r"dut\.yaml:") as caught:
        load_dut(path)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"products": 8, "unit": "eight"}, "steps need beats of one group: 4 products, not 8"),
        ({"unit": "promoted"}, "steps must not be given: promoted has a promotion"),
    ],
)
def test_steps_are_those_of_one_plain_group(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    design, beat = followed()
    unit = design.unit
    if changes["unit"] == "eight":
        design = replace(design, products=8)
    else:
        promotion = {"interval": 4, "format": "f32", "operation": "add", "rounding": "rne"}
        data = unit.model_dump(mode="json", exclude_unset=True) | {"unit": "promoted", "promotion": promotion}
        design = replace(design, unit=type(unit).model_validate(data))
    with pytest.raises(InputError, match=said):
        StepsOf(design, beat, 60)


@pytest.mark.simulator
@pytest.mark.parametrize("wrong", others_slow(MISTAKES, [8]))
def test_a_mistake_in_a_step_is_refuted_and_played(
    icarus: None, wrong: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, table = variant(tmp_path, "steps", parameters={"WRONG": wrong}), tmp_path / "p.json"
    assert main(["prove", "--dut", str(path), "--case", str(tmp_path / "case.yaml"), "--json", str(table)]) == 1
    rows = {row["name"]: row["word"] for row in json.loads(table.read_text())["rows"]}
    assert rows[MISTAKES[wrong]] == "refuted"
    assert "played on icarus: it returns the same" in capsys.readouterr().out


@pytest.mark.slow
def test_what_a_step_does_with_what_never_comes_to_it_does_not_matter(tmp_path: Path) -> None:
    assert main(["prove", "--dut", str(variant(tmp_path, "steps", parameters={"WRONG": 9}))]) == 0


@pytest.mark.slow
def test_the_last_line_says_that_it_is_equal_for_every_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prove", "--dut", str(variant(tmp_path, "steps"))]) == 0
    printed = capsys.readouterr().out
    assert "equal for every input, under any traffic; whole dot products" in printed
    assert printed.endswith("compared, not proved\n")
    assert main(["prove", "--dut", str(variant(tmp_path, "steps")), "--products", "1"]) == 1
    assert "at most 1 product other than zero; not proved: " in capsys.readouterr().out


@pytest.mark.slow
def test_a_wrong_boundary_of_a_right_design_is_said_to_be_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = copy.deepcopy(STEPS)
    steps["maximum"]["max_exp"]["plus"] += 1
    assert main(["prove", "--dut", str(variant(tmp_path, "steps", steps=steps))]) == 1
    assert "perhaps a signal is not what `steps`" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["hopper-wgmma-e4m3-f32", "ada-mma-e5m2-f32", "mxfp8-e4m3-f32"])
def test_our_own_verilog_is_a_design_that_is_proved(
    unit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prove", "--dut", str(wrapped(unit, tmp_path))]) == 0
    assert "equal for every input, under any traffic; whole dot products" in capsys.readouterr().out


# Text of our Verilog of 32 lanes, what stands there instead, and the claim that it breaks.
IN_OUR_OWN = {
    "what does not lead stays": (
        "? datapath_maximum_leads3 : datapath_maximum_left4",
        "? datapath_maximum_left4 : datapath_maximum_leads3",
        "maximum",
    ),
    "another lane's distance": (">> datapath_align_i__shifts__7;", ">> datapath_align_i__shifts__6;", "lanes: aligned"),
    "a bit too few": ("aligned__2__ones[14:0] }", "aligned__2__ones[14:1], 1'h0 }", "sum"),
    "another place": ("datapath_i__sig[18:6]", "datapath_i__sig[17:5]", "result"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_OUR_OWN)
def test_a_mistake_in_our_own_verilog_is_not_proved(name: str, tmp_path: Path) -> None:
    before, after, claim = IN_OUR_OWN[name]
    design = dut_design(load_dut(wrapped("hopper-wgmma-e4m3-f32", tmp_path, (before, after))))
    found = words(StepsOf(design, beat_result(design), 60))
    assert found[claim] == "refuted", found
