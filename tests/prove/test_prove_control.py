"""Control is proved for any data, and the Verilog is read back and proved; faults of either are refuted."""

from __future__ import annotations

import re
from functools import cache

import pytest
from amaranth.lib.data import StructLayout
from built_presets import others_slow
from cosim.mutants import DEEPSEEK, HOPPER, Mutant, of_lanes
from odd_units import unit as odd
from prove.scaled_unit import SCALED

from hwsim.base.errors import InputError
from hwsim.prove.abstract import Control, invariants
from hwsim.prove.circuits import Circuit, Elaborated, Register, without_undriven
from hwsim.prove.control import broken_promise, control_claims
from hwsim.prove.example import PlayedFile
from hwsim.prove.readback import ReadBack, as_elaborated, readback_claims
from hwsim.prove.terms import Decided, both, constant, is_one, possible
from hwsim.rtl import dot_unit, verilog
from hwsim.spec import Pipeline, Unit, load_unit, pipeline, steps

SECONDS = 60.0
DEPTH = 8  # cycles beyond the latency
FEW = 4  # lanes: control has nothing to do with their number
PROMOTED = of_lanes(DEEPSEEK, FEW)

# Usual pipelines and those of one register are proved in whole units, too: tests/prove/test_prove_units.py.
UNITS: dict[str, tuple[Unit, Pipeline]] = {
    "hopper, every cut": (load_unit(HOPPER), pipeline(load_unit(HOPPER), cuts=steps(load_unit(HOPPER)), contexts=3)),
    "deepseek, every cut": (
        of_lanes(DEEPSEEK, FEW),
        pipeline(of_lanes(DEEPSEEK, FEW), cuts=steps(of_lanes(DEEPSEEK, FEW))),
    ),
    "deepseek, a register inside the adder": (
        of_lanes(DEEPSEEK, FEW),
        pipeline(of_lanes(DEEPSEEK, FEW), cuts=("promote.sum",), contexts=3),
    ),
    "promoted at every group": (odd("tiny-promoted"), pipeline(odd("tiny-promoted"), contexts=5)),
    "scaled promotions": (odd("scaled-promotion-f16"), pipeline(odd("scaled-promotion-f16"), contexts=3)),
    # What a group hands on passes through its last step, or is always the same.
    "a zero's sign that passes": (odd("exact-zero"), pipeline(odd("exact-zero"), cuts=(), contexts=1)),
    "a zero without a sign": (odd("exact-f32"), pipeline(odd("exact-f32"), cuts=(), contexts=1)),
    "promoted without an addend": (odd("promoted-bare"), pipeline(odd("promoted-bare"), cuts=("round",))),
}


def answers(control: Control) -> dict[str, Decided]:
    claims = control_claims(control)
    assert len({claim.name for claim in claims}) == len(claims)
    return {claim.name: claim.decide(SECONDS) for claim in claims}


@pytest.mark.parametrize(
    "name",
    others_slow(list(UNITS), ["promoted without an addend"]),
)
def test_control_is_proved(name: str) -> None:
    unit, built = UNITS[name]
    claims = control_claims(Control(unit, built))
    assert len(claims) >= (69 if unit.promotion else 50)
    for claim in claims:
        assert possible(claim.assumptions), f"{claim.name}: nothing can be as it assumes"
        assert claim.decide(SECONDS).word == "proved", claim.name


@cache
def followed() -> Control:
    return Control(PROMOTED, pipeline(PROMOTED, contexts=3))


@pytest.mark.parametrize("ghost", [pytest.param("newest", marks=pytest.mark.slow), "writer", "reads", "open"])
def test_what_invariants_speak_of_can_be(ghost: str) -> None:
    # Of a ghost that is never set they would say nothing.
    control = followed()
    kept = [each.then for each in invariants(control)]
    assert possible([control.exists, *kept, is_one(getattr(control, ghost)), control.a.has("beat")])
    assert possible(
        [both(*kept), control.b.at(control.entry), is_one(control.reads), control.a.beyond(control.written_at)]
    )


def fault(name: str, unit: str, promise: str, function: object, old: str, new: str) -> Mutant:
    """A fault, and a promise that it breaks as soon as any."""
    return Mutant(name, unit, (promise,), function, old, new)


UNIT = dot_unit.DotUnit
FAULTS = [
    fault("no wait for the write-back", HOPPER, "ready", UNIT._ready, "advance & (payload.first | ~waits)", "advance"),
    fault("every context waits", HOPPER, "ready", UNIT._ready, " & (beat.context == payload.context)", ""),
    fault("waits a cycle less", HOPPER, "ready", UNIT._ready, "flight[1:-1]", "flight[1:-2]"),
    fault("waits a cycle more", HOPPER, "ready", UNIT._ready, "flight[1:-1]", "flight[1:]"),
    fault("waits for closed sums", HOPPER, "ready", UNIT._ready, " & ~beat.last", ""),
    fault("first waits too", HOPPER, "ready", UNIT._ready, "(payload.first | ~waits)", "~waits"),
    fault("ready while it stands still", HOPPER, "ready", UNIT._ready, "advance & (payload.first", "(payload.first"),
    fault("valid is not reset", HOPPER, "result.none", UNIT._flight, 'valid{stage}")',
          'valid{stage}", reset_less=True)'),
    fault("result not held", HOPPER, "datapath.enable", UNIT.elaborate, "~self.o.valid | self.o.ready", "1"),
    fault("never moves behind a result", HOPPER, "ready", UNIT.elaborate, "~self.o.valid | self.o.ready",
          "~self.o.valid"),
    fault("datapath moves alone", HOPPER, "datapath.enable", UNIT._operands, "path.enable.eq(advance)",
          "path.enable.eq(1)"),
    fault("result of an open sum", HOPPER, "result", UNIT._flight, "valid & beat.last",
          "valid & (beat.last | beat.first)"),
    fault("context of the beat behind", HOPPER, "result.context", UNIT._flight, "context.eq(beat.context)",
          "context.eq(stages[-2].beat.context)"),
    fault("code without its padding", HOPPER, "result.code", dot_unit.result_code,
          "Cat(Const(0, unit.output.padding), last.o.code)", "Cat(last.o.code, Const(0, unit.output.padding))"),
    fault("NaN not marked", HOPPER, "result.code", dot_unit.result_code, "last.o.nan, unit.nan,",
          "last.o.nan, unit.nan - 1,"),
    fault("contexts stay open", HOPPER, "misuse", UNIT._misuse, "opened[context].eq(~payload.last)",
          "opened[context].eq(1)"),
    fault("misuse not seen", HOPPER, "misuse", UNIT._misuse, "~(payload.first | is_open)",
          "(payload.first & ~is_open)"),
    fault("unknown context not seen", HOPPER, "misuse.context", UNIT._misuse, "~exists | ~(", "~("),
    fault("first continues", HOPPER, "chain", UNIT._position, "return ~payload.first", "return Const(1)"),
    fault("carried of context 0", HOPPER, "carried.over", dot_unit.carry, "carried.of(context)",
          "carried.of(Const(0, len(context)))"),
    fault("carried not gated", HOPPER, "carried.none", dot_unit.carry, "Mux(continues, carried.of(context), 0)",
          "carried.of(context)"),
    fault("carried of the beat behind", HOPPER, "carried.over", UNIT.elaborate, "flight[path.latency_of_next]",
          "flight[path.latency_of_next - 1]"),
    fault("carried written to context 0", HOPPER, "carried.over", dot_unit.ContextRegisters.store,
          "m.Switch(context)", "m.Switch(Const(0, len(context)))"),
    fault("promoted a group early", DEEPSEEK, "chain", UNIT._position, "index == beats - 1", "index == beats - 2"),
    fault("count not restarted", DEEPSEEK, "chain", UNIT._position, "Mux(promotes, 0, index + 1)", "index + 1"),
    fault("count of first ignored", DEEPSEEK, "chain", UNIT._position,
          "Mux(payload.first, 0, counts.of(payload.context))", "counts.of(payload.context)"),
    fault("register begins with its last sum", DEEPSEEK, "register.opens", dot_unit.accumulate,
          "Mux(entering.first, entering.c if adds else 0, registers.of(context))", "registers.of(context)"),
    fault("register of context 0", DEEPSEEK, "register.continues", dot_unit.accumulate, "registers.of(context)",
          "registers.of(Const(0, len(context)))"),
    fault("every beat writes the register", DEEPSEEK, "register.continues", dot_unit.accumulate,
          "valid & (leaving.first | leaving.promotes)", "valid"),
    fault("addend not kept", DEEPSEEK, "register.continues", dot_unit.accumulate, "leaving.first | leaving.promotes",
          "leaving.promotes"),
    fault("sum and addend exchanged", DEEPSEEK, "register.continues", dot_unit.accumulate,
          "Mux(leaving.promotes, adder.next.code, leaving.c if adds else 0)",
          "Mux(leaving.promotes, leaving.c, adder.next.code)"),
    fault("scales of the second group", SCALED.unit, "scale_a", UNIT._position,
          "entering, index == 0)", "entering, index == 1)"),
    fault("scales of context 0", SCALED.unit, "scale_a", dot_unit.scale_of_partial, "kept.of(context)",
          "kept.of(Const(0, len(context)))"),
    fault("scales kept of every group", SCALED.unit, "scale_a", dot_unit.scale_of_partial, "valid & opens", "valid"),
]  # fmt: skip


@pytest.mark.parametrize(
    "mutant",
    [pytest.param(one, id=one.name, marks=[pytest.mark.slow] * (at > 0)) for at, one in enumerate(FAULTS)],
)
def test_a_fault_of_control_is_refuted(mutant: Mutant) -> None:
    # Few registers and groups: the sooner a sum is promoted, the shorter is the run.
    unit = {DEEPSEEK: odd("tiny-promoted"), SCALED.unit: SCALED}.get(mutant.unit, of_lanes(HOPPER, FEW))
    built = pipeline(unit, cuts=None if mutant.unit == HOPPER else ("round",), contexts=3)
    with mutant.applied():
        control = Control(unit, built)
        refuted = [name for name, answer in answers(control).items() if answer.word == "refuted"]
        # A run from a reset, not only a step of an induction that does not hold.
        found = broken_promise(control, built.latency + DEPTH)
    assert refuted
    assert found is not None
    assert found.name in mutant.caught_by
    assert len(found.inputs) == found.cycle


@pytest.mark.parametrize("mutant", FAULTS, ids=lambda one: one.name)
def test_each_fault_has_its_place(mutant: Mutant) -> None:
    with mutant.applied():
        assert mutant.function is not None


@pytest.mark.slow
def test_without_the_wait_a_beat_takes_over_what_is_not_known_yet() -> None:
    unit = of_lanes(HOPPER, FEW)
    built = pipeline(unit, contexts=3)
    assert broken_promise(Control(unit, built), built.latency + 2, only="carried.over") is None
    with FAULTS[0].applied():
        found = broken_promise(Control(unit, built), built.latency + 2, only="carried.over")
    assert found is not None
    assert found.cycle <= 5


TWO_LANES = of_lanes(HOPPER, 2)
TINY_PROMOTED = odd("tiny-promoted")

FILES: dict[str, tuple[Unit, Pipeline]] = {
    "promoted, every cut": (TINY_PROMOTED, pipeline(TINY_PROMOTED, cuts=steps(TINY_PROMOTED), contexts=3)),
    "promoted, one register": (TINY_PROMOTED, pipeline(TINY_PROMOTED, cuts=(), contexts=1)),
    "promoted at every group": (odd("promoted-scaled"), pipeline(odd("promoted-scaled"), contexts=5)),
    "scales": (odd("blocks-in-a-beat"), pipeline(odd("blocks-in-a-beat"), cuts=("multiply",))),
    "scaled promotions": (SCALED, pipeline(SCALED, contexts=2)),
    "padded": (odd("padded-tf32"), pipeline(odd("padded-tf32"))),
}


@pytest.mark.slow  # that of a small unit always is, in the proof of the whole unit
@pytest.mark.parametrize("name", FILES)
def test_the_file_is_proved(name: str) -> None:
    unit, built = FILES[name]
    claims = readback_claims(unit, built)
    assert len({claim.name for claim in claims}) == len(claims) >= 13
    for claim in claims:
        assert claim.decide(SECONDS).word == "proved", claim.name


@cache
def written(promoted: bool) -> tuple[Unit, Pipeline, str]:
    unit = TINY_PROMOTED if promoted else TWO_LANES
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
    "sum": (r"(?<=[})]) \+ ", " - ", 0.5),
    "last sum": (r"(?<=[})]) \+ ", " - ", 1.0),
    "product": (r" \* ", " + ", 0.0),
    "last product": (r" \* ", " + ", 1.0),
    "comparison": (r" > ", " < ", 0.0),
    "choice": (r" = (\S+) \? (\S+) : (\S+);", r" = \1 ? \3 : \2;", 0.3),
    # Not the last: it chooses an infinite result's sign, which, where c alone is infinite, is the sum's.
    "later choice": (r" = (\S+) \? (\S+) : (\S+);", r" = \1 ? \3 : \2;", 0.8),
    "first equality": (r" == ", " != ", 0.0),
    "equality": (r" == ", " != ", 0.5),
    "last equality": (r" == ", " != ", 1.0),
    "and": (r" & ", " | ", 0.4),
    "or": (r" \| ", " & ", 1.0),
    "exclusive or": (r" \^ ", " & ", 0.5),
    "lane": (r"\.a_sign\(a_sign\[i\]\)", ".a_sign(b_sign[i])", 0.0),
    "reset": (r"valid1 <= 1'b0", "valid1 <= 1'b1", 0.0),
    "write-back": (r"carried\[1\] <= \w+", "carried[1] <= carried[0]", 0.0),
    "register": (r"valid2 <= ", "valid2 <= ~", 0.0),
    "clock": (r"flight2_last <= (\S+);", r"flight2_last <= flight2_last;", 0.0),
    "enable": (r"if \(enable\)", "if (~enable)", 0.0),
    "constant of NaN": (r"32'h7fffffff|16'h7fff", "1'h1", 0.0),
}


CHANGES = [(kind, promoted) for kind in OPERATORS for promoted in (False, True)]


@pytest.mark.parametrize(("kind", "promoted"), others_slow(CHANGES, [("last sum", False)]))
def test_a_changed_operator_is_refuted(kind: str, promoted: bool) -> None:
    old, new, at = OPERATORS[kind]
    promoted = promoted or kind.endswith("product")  # small significands are multiplied by rows of adders
    text = written(promoted)[2]
    assert refuted(promoted, changed(text, old, new, at))


@pytest.mark.slow
@pytest.mark.parametrize("place", [0.5, 1.0], ids=["scales", "factors"])
def test_a_changed_product_of_scales_is_refuted(place: float) -> None:
    unit, built = FILES["scaled promotions"]
    wrong = changed(verilog(unit, built), r"assign term_sig = (.+);", r"assign term_sig = ~(\1);", place)
    found = {claim.name: claim.decide(SECONDS).word for claim in readback_claims(unit, built, wrong)}
    assert {name for name, word in found.items() if word == "refuted"} >= {"file: result", "file: register"}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "carries"), [("even-odd-bare", False), ("exact-e4m3", True)])
def test_a_register_is_asked_for_where_what_it_holds_makes_a_difference(name: str, carries: bool) -> None:
    rtl = Elaborated(odd(name), pipeline(odd(name)))
    file = ReadBack(rtl, rtl.file)
    assert file.carries == ("carried0" in file.circuit.states) == carries


@pytest.mark.slow
def test_a_file_with_other_ports_is_refused_or_refuted() -> None:
    unit, built, text = written(False)
    swapped = text.replace("in_first", "swapped").replace("in_last", "in_first").replace("swapped", "in_last")
    assert refuted(False, swapped)
    with pytest.raises(InputError, match="the file must have a port in_last of 1 bits"):
        readback_claims(unit, built, text.replace("in_last", "in_least"))
    with pytest.raises(InputError, match="the file must have a port out_context of 2 bits"):
        readback_claims(unit, built, re.sub(r"output logic \[1:0\] +out_context", "output logic out_context", text))


@pytest.mark.slow
def test_a_file_of_another_pipeline_or_unit_is_not_taken() -> None:
    unit, built, _ = written(False)
    with pytest.raises(InputError, match="must have registers"):
        readback_claims(unit, built, verilog(unit, pipeline(unit, cuts=("sum",), contexts=3)))
    with pytest.raises(InputError, match=r"the file must have a port in_|must have the ports"):
        readback_claims(unit, built, verilog(TINY_PROMOTED, built.model_copy(update={"cuts": ("round", "promote")})))
    other = pipeline(unit, cuts=("align", "sum"), contexts=3)
    assert all(claim.decide(SECONDS).word == "proved" for claim in readback_claims(unit, built, verilog(unit, other)))


@pytest.mark.slow
def test_a_file_is_read_over_its_own_registers_alone() -> None:
    # A field that it lacks is what it is in the unit, whose scales of each context are elements of one array there.
    rtl = Elaborated(SCALED, pipeline(SCALED, (), 2))
    assert PlayedFile(ReadBack(rtl, rtl.file)).size > 1000


def test_only_nets_that_nothing_depends_on_are_left_out() -> None:
    inputs = {name: constant(f"file.{name}", 1) for name in ("clk", "input7", "input8")}
    found = without_undriven(Circuit(inputs, {"o": inputs["input8"]}))
    assert list(found.inputs) == ["clk", "input8"]


def test_registers_without_a_name_are_not_matched_by_their_numbers() -> None:
    """Of `x86-ace-top4b-*` both the file and the unit have a register 18 without a name, of 32 bits and of one."""

    def registers(**bits: int) -> Circuit:
        states = {name: Register(constant(name, size), constant("next", size)) for name, size in bits.items()}
        return Circuit({}, {}, states)

    flight = StructLayout({"last": 1})
    read = as_elaborated(registers(state18=32, opened=4), registers(state18=1, opened=4), flight)
    assert read.states.keys() == {"state18", "opened"}
    with pytest.raises(InputError, match="opened has 3 bits, not 4"):
        as_elaborated(registers(opened=3), registers(opened=4), flight)
