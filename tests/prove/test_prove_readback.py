"""The Verilog that is written is read back and proved; a file that says anything else is refuted."""

from __future__ import annotations

import re
from functools import cache

import pytest
from built_presets import others_slow
from cosim.mutants import DEEPSEEK, HOPPER, of_lanes
from odd_units import unit as odd
from prove.scaled_unit import SCALED

from hwsim.base.errors import InputError
from hwsim.prove.circuits import Circuit, Elaborated, without_undriven
from hwsim.prove.readback import ReadBack, fields_of_header, readback_claims
from hwsim.prove.terms import constant
from hwsim.rtl import beat_layout, field_table, verilog
from hwsim.spec import Pipeline, Unit, load_unit, pipeline, steps

SECONDS = 60.0
FEW = of_lanes(HOPPER, 2)
PROMOTED = odd("tiny-promoted")

UNITS: dict[str, tuple[Unit, Pipeline]] = {
    "hopper": (load_unit(HOPPER), pipeline(load_unit(HOPPER))),
    "hopper, every cut": (load_unit(HOPPER), pipeline(load_unit(HOPPER), cuts=steps(load_unit(HOPPER)), contexts=1)),
    "deepseek": (load_unit(DEEPSEEK), pipeline(load_unit(DEEPSEEK), contexts=3)),
    "promoted, every cut": (PROMOTED, pipeline(PROMOTED, cuts=steps(PROMOTED), contexts=3)),
    "promoted, one register": (PROMOTED, pipeline(PROMOTED, cuts=(), contexts=1)),
    "promoted at every group": (odd("promoted-scaled"), pipeline(odd("promoted-scaled"), contexts=5)),
    "no addend": (odd("no-addend-e4m3"), pipeline(odd("no-addend-e4m3"))),
    "scales": (odd("blocks-in-a-beat"), pipeline(odd("blocks-in-a-beat"), cuts=("multiply",))),
    "scaled promotions": (SCALED, pipeline(SCALED, contexts=2)),
    "padded": (odd("padded-tf32"), pipeline(odd("padded-tf32"))),
}


@pytest.mark.parametrize("name", others_slow(list(UNITS), ["promoted at every group"]))
def test_the_file_is_proved(name: str) -> None:
    unit, built = UNITS[name]
    claims = readback_claims(unit, built)
    assert len({claim.name for claim in claims}) == len(claims) >= 13
    for claim in claims:
        assert claim.decide(SECONDS).word == "proved", claim.name


@cache
def written(promoted: bool) -> tuple[Unit, Pipeline, str]:
    unit = PROMOTED if promoted else FEW
    built = pipeline(unit, cuts=("multiply", "sum"), contexts=3)
    return unit, built, verilog(unit, built)


def refuted(promoted: bool, text: str) -> list[str]:
    unit, built, right = written(promoted)
    assert text != right
    return [claim.name for claim in readback_claims(unit, built, text) if claim.decide(SECONDS).word == "refuted"]


def changed(text: str, old: str, new: str, at: float) -> str:
    """A text in which one of the places of an expression, from the first (0) to the last (1), is another."""
    places = list(re.finditer(old, text))
    place = places[round(at * (len(places) - 1))]
    return text[: place.start()] + place.expand(new) + text[place.end() :]


OPERATORS = {
    "sum": (r" \+ ", " - ", 0.5),
    "last sum": (r" \+ ", " - ", 1.0),
    "product": (r" \* ", " + ", 0.0),
    "last product": (r" \* ", " + ", 1.0),
    "comparison": (r" > ", " < ", 0.0),
    "choice": (r" = (\S+) \? (.+) : (.+);", r" = \1 ? \3 : \2;", 0.3),
    "last choice": (r" = (\S+) \? (.+) : (.+);", r" = \1 ? \3 : \2;", 1.0),
    "first equality": (r" == ", " != ", 0.0),
    "equality": (r" == ", " != ", 0.5),
    "last equality": (r" == ", " != ", 1.0),
    "and": (r" & ", " | ", 0.4),
    "or": (r"(\[32\]|flight2\[0\]|i__payload\[64\]) \| ", r"\1 & ", 1.0),
    "exclusive or": (r" \^ ", " & ", 0.5),
    "reset": (r"rst \? 1'h0", "rst ? 1'h1", 0.5),
    "write-back": (r"next__code : carried1", "next__code : carried0", 0.0),
    "kept context": (r"next__code : carried0", "next__code : carried0 ^ 1", 0.0),
    "register": (r"valid2 <= ", "valid2 <= !", 0.0),
    "clock": (r"flight2 <= (\S+)", r"flight2 <= flight2", 0.0),
    "constant of NaN": (r"32'd2147483647|16'h7fff", "1'h1", 0.0),
}


@pytest.mark.parametrize("promoted", others_slow([False, True], [False]), ids=["sum", "promoted"])
@pytest.mark.parametrize("kind", others_slow(list(OPERATORS), ["last sum", "write-back"]))
def test_a_changed_operator_is_refuted(kind: str, promoted: bool) -> None:
    old, new, at = OPERATORS[kind]
    promoted = promoted or kind.endswith("product")  # small significands are multiplied by rows of adders
    text = written(promoted)[2]
    assert refuted(promoted, changed(text, old, new, at))


@pytest.mark.slow
@pytest.mark.parametrize("place", [0.0, 1.0], ids=["factors", "scales"])
def test_a_changed_product_of_scales_is_refuted(place: float) -> None:
    unit, built = UNITS["scaled promotions"]
    wrong = changed(verilog(unit, built), r"(_number_term.sig  = \{ \d+'h0+, )(.+?)(?=, )", r"\1~\2", place)
    found = {claim.name: claim.decide(SECONDS).word for claim in readback_claims(unit, built, wrong)}
    assert {name for name, word in found.items() if word == "refuted"} >= {"file: result", "file: register"}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "carries"), [("even-odd-bare", False), ("exact-e4m3", True)])
def test_a_register_is_asked_for_where_what_it_holds_makes_a_difference(name: str, carries: bool) -> None:
    rtl = Elaborated(odd(name), pipeline(odd(name)))
    file = ReadBack(rtl, rtl.file)
    assert file.carries == ("carried0" in file.circuit.states) == carries


def test_a_field_that_the_comment_misplaces_is_refuted() -> None:
    text = written(False)[2]
    lines = {name: line for line in text.splitlines() if (name := line.rpartition("  ")[2]) in ("first", "last")}
    swapped = text.replace(lines["first"], "?").replace(lines["last"], lines["last"].replace("last", "first"))
    assert refuted(False, swapped.replace("?", lines["first"].replace("first", "last"), 1))


def test_the_comment_is_read() -> None:
    unit, built, text = written(False)
    fields = fields_of_header(text)
    for label, high, low in field_table(beat_layout(unit, built)):
        places = fields[f"i.{label.split('[')[0]}"]
        assert (places[0][0], sum(places[-1]) - 1) == (low, high)
    with pytest.raises(InputError, match="the comment of its file must say where last is"):
        readback_claims(unit, built, text.replace("  last\n", "  least\n"))


@pytest.mark.slow
def test_a_file_of_another_pipeline_or_unit_is_not_taken() -> None:
    unit, built, _ = written(False)
    with pytest.raises(InputError, match="must have registers"):
        readback_claims(unit, built, verilog(unit, pipeline(unit, cuts=("sum",), contexts=3)))
    with pytest.raises(InputError, match="must have the ports"):
        readback_claims(unit, built, verilog(PROMOTED, built.model_copy(update={"cuts": ("round", "promote")})))
    other = pipeline(unit, cuts=("align", "sum"), contexts=3)
    assert all(claim.decide(SECONDS).word == "proved" for claim in readback_claims(unit, built, verilog(unit, other)))


def test_only_nets_that_nothing_depends_on_are_left_out() -> None:
    inputs = {name: constant(f"file.{name}", 1) for name in ("clk", "input7", "input8")}
    found = without_undriven(Circuit(inputs, {"o": inputs["input8"]}))
    assert list(found.inputs) == ["clk", "input8"]
