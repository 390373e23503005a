"""Faults that a seed draws: of models at one distance, place, exponent or lane, and of designs in their text.

They are narrower than likely mistakes: a shifter that is wrong at one distance alone, one sticky bit that nothing sees.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import yaml
from faults.seeded import DESIGNS, Fault

from hwsim.cases.case import Case
from hwsim.explain.mistakes.flawed import Flaw, Mistake
from hwsim.formats import Class, Fields, FloatFormat
from hwsim.model.hooks import LastPlace, UnpackedResult
from hwsim.model.terms import Term
from hwsim.spec import ExactSum, RoundedSum, Unit, WindowSum

# Of models. Each flaw changes what passes one place of the arithmetic at one value.


def _distance(at: int, by: int, distance: int) -> int:
    return max(0, distance + by) if distance == at else distance


def _dropped(at: int, dropped: bool, distance: int, addend: bool) -> bool:
    return dropped or distance == at


def _unseen(depth: int, place: LastPlace) -> LastPlace:
    """depth: of a bit below half of the last place, from the highest one."""
    bit = place.shift - 2 - depth
    return place._replace(sig=place.sig & ~(1 << bit)) if bit >= 0 else place


def _cut_off(shift: int, place: LastPlace) -> LastPlace:
    return place._replace(rule="rz") if place.shift == shift else place


def _bit_lost(bit: int, total: int, unit_exp: int) -> int:
    kept = abs(total) & ~(1 << bit)
    return -kept if total < 0 else kept


def _place_lost(exp: int, total: int, unit_exp: int) -> int:
    return _bit_lost(exp - unit_exp, total, unit_exp) if exp >= unit_exp else total


def _product(at: int, change: Callable[[Term], Term], term: Term, a: Fields, b: Fields) -> Term:
    return change(term) if term.cls is Class.NORMAL and term.exp == at else term


def _exponent(by: int, term: Term) -> Term:
    return term._replace(exp=term.exp + by)


def _odd_lost(term: Term) -> Term:
    sig = term.sig & ~1
    return term._replace(sig=sig, cls=Class.NORMAL if sig else Class.ZERO)


def _last_bit(bexp: int, code: int | None, number: UnpackedResult) -> int | None:
    fits = 0 < number.magnitude < number.format.max_magnitude
    return number.sign * number.format.sign_bit | number.magnitude ^ 1 if number.bexp == bexp and fits else code


def _lane_low(lane: int, aligned: tuple[int, ...], lanes: int) -> tuple[int, ...]:
    return tuple(term & ~1 if at == lane else term for at, term in enumerate(aligned))


def _lane_special(lane: int, products: tuple[Term, ...]) -> tuple[Term, ...]:
    quiet = (Class.NAN, Class.INFINITY)
    return tuple(
        term._replace(cls=Class.ZERO, sig=0) if at == lane and term.cls in quiet else term
        for at, term in enumerate(products)
    )


def _without_lane(lane: int, max_exp: int, products: tuple[Term, ...], addend: Term | None) -> int:
    terms = [term for at, term in enumerate((*products, addend)) if at != lane and term is not None]
    return max((term.exp for term in terms if term.cls is Class.NORMAL), default=max_exp)


def _crossed(lane: int, case: Case, unit: Unit, before: int | None) -> Case:
    """b of the next lane where a is negative."""
    lanes = unit.instruction.lanes
    sign = 1 << unit.operands.a.container_bits - 1
    b = list(case.b)
    for at in range(lane, len(b), lanes):
        if case.a[at] & sign:
            b[at] = case.b[at - lane + (lane + 1) % lanes]
    return Case(case.id, case.a, tuple(b), case.c, case.scale_a, case.scale_b)


def drawn_flaws(unit: Unit, seed: int) -> Iterator[Mistake]:
    """One flaw of each family that a unit may have, at places that a seed draws."""
    rng = Random(f"{seed} {unit.name}")
    rule, lanes, (a, b) = unit.sum, unit.instruction.lanes, unit.operands.multiplied
    bits = a.sig_bits + b.sig_bits
    window = (
        rule.fraction_bits
        if isinstance(rule, WindowSum)
        else rule.format.fraction_bits
        if isinstance(rule, RoundedSum)
        else 0
    )
    result = unit.result.format

    def flaw(name: str, flaw: Flaw) -> Mistake:
        return Mistake(name, name, flaw)

    distance, by = 1 + rng.randrange(max(1, window + 1)), rng.choice((-1, 1))
    if not isinstance(rule, ExactSum):
        yield flaw(f"shifted {by:+} at distance {distance} alone", Flaw(distance=partial(_distance, distance, by)))
    if isinstance(rule, RoundedSum):
        yield flaw(f"dropped at distance {distance} alone", Flaw(dropped=partial(_dropped, distance)))
    if unit.promotion is not None or (unit.late is not None and unit.late.operation == "add"):
        yield flaw(f"shifted at distance {distance} alone, after groups",
                   Flaw(after=Flaw(distance=partial(_distance, distance, by))))  # fmt: skip
    depth, shift, bit = rng.randrange(4), 1 + rng.randrange(6), rng.randrange(max(2, window))
    yield flaw(f"sticky bit {depth} not seen", Flaw(last_place=partial(_unseen, depth)))
    if isinstance(rule, ExactSum):
        # Of its last place, which is that of the least products, some places above.
        quantum, place = sum(fmt.quantum_exp for fmt in (a, b)), rng.randrange(24)
        yield flaw(f"place {quantum + place} of the sum lost", Flaw(total=partial(_place_lost, quantum + place)))
    else:
        yield flaw(f"cut off where {shift} places are", Flaw(last_place=partial(_cut_off, shift)))
    if isinstance(rule, WindowSum):
        yield flaw(f"bit {bit} of the sum lost", Flaw(total=partial(_bit_lost, bit)))
    if isinstance(a, FloatFormat) and isinstance(b, FloatFormat):
        exp = rng.randint(a.emin + b.emin, min(a.emax + b.emax, 8))
        yield flaw(
            f"products of exponent {exp} at {by:+}", Flaw(product=partial(_product, exp, partial(_exponent, by)))
        )
        yield flaw(f"last bit of products of exponent {exp} lost", Flaw(product=partial(_product, exp, _odd_lost)))
    if isinstance(result, FloatFormat):
        bexp = rng.randint(max(1, result.bias - bits), result.bias + 3)
        yield flaw(f"last bit of results of exponent {bexp} inverted", Flaw(number=partial(_last_bit, bexp)))
    lane = rng.randrange(lanes)
    if isinstance(rule, WindowSum) and rule.method == "aligned":
        yield flaw(f"last place of lane {lane} lost", Flaw(aligned=partial(_lane_low, lane)))
        yield flaw(f"max_exp without lane {lane}", Flaw(max_exp=partial(_without_lane, lane)))
    if any(
        isinstance(fmt, FloatFormat) and (fmt.has_nan or fmt.infinities) for fmt in (unit.operands.a, unit.operands.b)
    ):
        yield flaw(f"lane {lane} never special", Flaw(products=partial(_lane_special, lane)))
    if lanes > 1 and unit.operands.a.signed:
        yield flaw(f"b of lane {lane} from the next where a is negative", Flaw(case=partial(_crossed, lane)))


# Of designs. A number, a bound of a part, or an operator in the text is another one.

OPERATORS = {
    " + ": " - ", " - ": " + ", " & ": " | ", " | ": " & ", " ^ ": " | ", " > ": " >= ", " >= ": " > ", " < ": " <= ",
    " == ": " != ", " != ": " == ", " && ": " || ", " || ": " && ", " << ": " >> ", " >> ": " << ",
}  # fmt: skip
NUMBER = re.compile(r"(?<=\d'd)\d+|(?<=\d'sd)\d+")
PART = re.compile(r"(?<=\w\[)\d+(?=:\d+\])|(?<=:)\d+(?=\])")
BIT = re.compile(r"(?<=\w\[)\d+(?=\])")
OPERATOR = re.compile("|".join(re.escape(word) for word in sorted(OPERATORS, key=len, reverse=True)))
DECLARED = re.compile(r"^\s*(//|module|input|output|wire (signed )?\[|reg|logic|integer|localparam|typedef|function)")


def _changes(text: str) -> Iterator[tuple[int, int, str]]:
    """Places of a text, and what may stand there instead."""
    start = 0
    for line in text.splitlines(keepends=True):
        # Of a declaration only what is assigned.
        begins = line.find("=") if DECLARED.match(line) else 0
        comment = line.find("//")
        for pattern in (NUMBER, PART, BIT, OPERATOR) if begins >= 0 and "for (" not in line else ():
            for match in pattern.finditer(line):
                if match.start() <= begins > 0 or 0 <= comment < match.start():
                    continue
                word = match[0]
                others = (
                    [OPERATORS[word]]
                    if word in OPERATORS
                    else [str(int(word) + 1), *([str(int(word) - 1)] * (word != "0"))]
                )
                for other in others:
                    yield start + match.start(), start + match.end(), other
        start += len(line)


def drawn_faults(style: str, count: int, seed: int) -> list[Fault]:
    """Faults of a design, each a change at one place of its text."""
    data: dict[str, Any] = yaml.safe_load((DESIGNS / f"{style}.yaml").read_text())
    text = (DESIGNS / data["sources"][0]).read_text()
    places = sorted(_changes(text))
    rng = Random(f"{seed} {style}")
    faults = []
    for first, last, other in rng.sample(places, min(count, len(places))):
        line = text.count("\n", 0, first) + 1
        cause = f"line {line}, {first - text.rfind(chr(10), 0, first)}: {text[first:last].strip()} is {other.strip()}"
        faults.append(Fault(style, cause, (), ((text, text[:first] + other + text[last:]),)))
    return faults


def file_of(fault: Fault, folder: Path) -> Path:
    """The DUT file of a design with a fault, in a folder of its own."""
    folder.mkdir(parents=True)
    return fault.written(folder)
