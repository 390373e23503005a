"""The mistakes of what enters a sum: decoders, multipliers, ports, lanes, scales, and what goes on from sum to sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hwsim.explain.mistakes import decoding, wiring
from hwsim.explain.mistakes.flaw import Side
from hwsim.explain.mistakes.mistake import Mistake
from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat
from hwsim.spec import ExactSum, RoundedSum, Unit

SIDES: tuple[Side, Side] = ("a", "b")
PORT_WORDS: dict[wiring.Port, str] = {"a": "a", "b": "b", "c": "the addend", "result": "the result"}
SUBNORMAL_WORDS: dict[decoding.SubnormalMistake, tuple[str, str]] = {
    "exponent too small": (
        "subnormals {} at half their value",
        "subnormals {} have the exponent of code 0, which is one too small",
    ),
    "hidden bit": ("hidden bit of subnormals {}", "subnormals {} have a hidden bit at their own exponent"),
    "hidden bit, of zeros too": (
        "hidden bit of subnormals and zeros {}",
        "subnormals and zeros {} have a hidden bit",
    ),
    "normal": (
        "subnormals {} taken for normal numbers",
        "subnormals {} have a hidden bit and the exponent of code 0",
    ),
    "normal, zeros too": (
        "zeros and subnormals {} taken for normal numbers",
        "subnormals and zeros {} have a hidden bit and the exponent of code 0",
    ),
    "zero": ("subnormals {} taken for zero", "subnormals {} count as zeros"),
    "exponent too large": (
        "subnormals {} at twice their value",
        "subnormals {} have an exponent that is one too large",
    ),
}
OF: dict[decoding.Where, str] = {
    "factors": "of both factors",
    "a": "of a",
    "b": "of b",
    "addend": "of the addend",
    "every operand": "of operands",
}


def _floats(unit: Unit) -> Iterator[tuple[decoding.Where, FloatFormat]]:
    """The operands that are floats, all factors together where both are."""
    a, b, c = unit.operands.a, unit.operands.b, unit.operands.addend
    if isinstance(a, FloatFormat) and isinstance(b, FloatFormat):
        yield "factors", a
        if isinstance(c, FloatFormat):
            yield "every operand", a
    if isinstance(a, FloatFormat):
        yield "a", a
    if isinstance(b, FloatFormat):
        yield "b", b
    if isinstance(c, FloatFormat):
        yield "addend", c


def _decoders(unit: Unit) -> Iterator[Mistake]:
    for where, fmt in _floats(unit):
        of = OF[where]
        for mistake, (name, text) in SUBNORMAL_WORDS.items() if fmt.subnormals else ():
            yield Mistake(name.format(of), text.format(of), decoding.SubnormalWrong(where, mistake))
        if not isinstance(unit.result.format, FixedFormat):  # which has no code for what they would make
            yield from _special_codes(where, fmt)


def _special_codes(where: decoding.Where, fmt: FloatFormat) -> Iterator[Mistake]:
    """Mistakes of the codes of the top binade."""
    of = OF[where]
    if fmt.has_nan or fmt.infinities:
        text = f"codes {of} in the top binade are numbers"
        yield Mistake(f"special codes {of} taken for numbers", text, decoding.SpecialWrong(where, "numbers"))
    if not (fmt.infinities and fmt.nan == "ieee"):
        text = f"every code {of} in the top binade is NaN"
        yield Mistake(f"top binade {of} taken for NaN", text, decoding.SpecialWrong(where, "NaN"))
        name = f"top binade {of} taken for infinity and NaN"
        text = f"codes {of} in the top binade are infinities and NaNs, as in IEEE 754's formats"
        yield Mistake(name, text, decoding.SpecialWrong(where, "IEEE decoder"))
    if fmt.infinities and fmt.has_nan:
        text = f"a NaN {of} counts as an infinity"
        yield Mistake(f"NaN {of} taken for infinity", text, decoding.ClassLost(where, "NaN for infinity"))
        text = f"an infinity {of} counts as NaN"
        yield Mistake(f"infinity {of} taken for NaN", text, decoding.ClassLost(where, "infinity for NaN"))


def _products(unit: Unit) -> Iterator[Mistake]:
    for bits in (1, 2, 3):
        name = f"low {'bit' if bits == 1 else f'{bits} bits'} of products lost"
        yield Mistake(name, "the low bits of every product's significand are cut off", decoding.ProductBitsLost(bits))
    text = "the top bit of products whose significand is 2 or more is lost"
    yield Mistake("top bit of products lost", text, decoding.ProductTopLost())
    for by, word in ((1, "large"), (-1, "small")):
        text = f"the exponent of every product is 1 too {word}, as with a wrong bias"
        yield Mistake(f"exponent of products one too {word}", text, decoding.ProductExponent(by))
    yield Mistake("signs of products or-ed", "a product is negative where a factor is", decoding.SignsOred())
    if any(isinstance(fmt, FloatFormat) and fmt.infinities for fmt in unit.operands.multiplied):
        for infinite, word in ((True, "infinity"), (False, "zero")):
            text = f"an infinity times zero is {word}"
            yield Mistake(f"infinity times zero gives {word}", text, decoding.InfinityTimesZero(infinite))
    if isinstance(unit.sum, ExactSum) and unit.scale is None:
        least = unit.operands.multiplied[0].quantum_exp + unit.operands.multiplied[1].quantum_exp
        for places in (1, 2, 3, 4, 6, 8):
            text = f"places of products below 2^{least + places} are cut off"
            yield Mistake(f"low {places} places of the sum lost", text, decoding.PlacesLost(least + places))


def _ports(unit: Unit) -> Iterator[Mistake]:
    for port, word in PORT_WORDS.items():
        fmt = wiring.port_format(unit, port)
        if fmt is None:
            continue
        text = f"the bits of {word} are in the other order"
        yield Mistake(f"bits of {word} reversed", text, wiring.BitsReversed(port))
        if fmt.signed:
            yield Mistake(f"sign of {word} ignored", f"{word} is taken without its sign", wiring.SignIgnored(port))
        if port in ("c", "result") and fmt.signed:
            yield Mistake(f"sign of {word} flipped", f"{word} has the other sign", wiring.Negated(port))


def _lanes(unit: Unit) -> Iterator[Mistake]:
    lanes = unit.instruction.lanes
    if lanes < 2:
        return
    for side in SIDES:
        text = f"lane 0 of {side} is where the last one is to be, and so on"
        reversed_order = tuple(reversed(range(lanes)))
        yield Mistake(f"lanes of {side} reversed", text, wiring.LanesMoved(side, reversed_order))
        for by, words in ((1, "next"), (lanes - 1, "previous")):
            if lanes > 2:
                source = tuple((lane + by) % lanes for lane in range(lanes))
                text = f"each lane has the {words} lane's {side}"
                yield Mistake(f"lanes of {side} rotated to the {words}", text, wiring.LanesMoved(side, source))
        for lane in range(lanes - 1) if lanes > 2 else ():
            source = tuple({lane: lane + 1, lane + 1: lane}.get(at, at) for at in range(lanes))
            text = f"the {side} of lanes {lane} and {lane + 1} is exchanged"
            yield Mistake(f"lanes {lane} and {lane + 1} of {side} swapped", text, wiring.LanesMoved(side, source))
    if isinstance(unit.sum, RoundedSum):
        text = "the last lane is added first, and so on"
        yield Mistake("lanes in the other order", text, wiring.ProductsMoved(tuple(reversed(range(lanes)))))
        for lane in range(lanes - 1) if lanes > 2 else ():
            source = tuple({lane: lane + 1, lane + 1: lane}.get(at, at) for at in range(lanes))
            text = f"the products of lanes {lane} and {lane + 1} stand in each other's place"
            yield Mistake(f"lanes {lane} and {lane + 1} swapped", text, wiring.ProductsMoved(source))
    for lane in range(lanes):
        text = f"the product of lane {lane} is subtracted"
        yield Mistake(f"sign of lane {lane} flipped", text, wiring.LaneNegated(lane))


def _lane_pairs(unit: Unit) -> Iterator[Mistake]:
    lanes = unit.instruction.lanes
    for lane in range(lanes if lanes > 1 else 0):
        # Of many lanes only the neighbours: a wrong index is mostly off by one.
        for source in range(lanes) if lanes <= 8 else (lane - 1, lane + 1):
            if source != lane and 0 <= source < lanes:
                text = f"lane {source} counts in the place of lane {lane} too"
                yield Mistake(f"lane {lane} replaced by lane {source}", text, wiring.LaneRepeated(lane, source))
                for side in SIDES:
                    taken = tuple(source if at == lane else at for at in range(lanes))
                    text = f"lane {lane} has the {side} of lane {source}"
                    yield Mistake(
                        f"{side} of lane {lane} taken from lane {source}", text, wiring.LanesMoved(side, taken)
                    )


def _scales(unit: Unit) -> Iterator[Mistake]:
    if unit.scale is None:
        return
    words: dict[wiring.ScaleMistake, tuple[str, str]] = {
        "subtracted": ("scale of {} subtracted", "the exponent of the scale of {} is subtracted"),
        "ignored": ("scale of {} ignored", "the scale of {} counts as 1"),
        "doubled": ("scale of {} counted twice", "the exponent of the scale of {} is added twice"),
        "next block": ("scale of {} of the next block", "a block has the scale of {} of the block after it"),
        "first block": ("scale of {} of the first block", "every block has the scale of {} of the first one"),
    }
    for side in SIDES:
        fmt = unit.scale.of(side).format
        if not isinstance(fmt, ExponentFormat):
            continue
        has_one = fmt.min_code <= fmt.bias <= fmt.max_code
        for mistake, (name, text) in words.items():
            if has_one or mistake != "ignored":
                yield Mistake(name.format(side), text.format(side), wiring.ScaleWrong(side, mistake))


def _accumulation(unit: Unit) -> Iterator[Mistake]:
    if unit.instruction.chain is not None or unit.instruction.groups > 1:
        text = "only the last beat of a dot product counts"
        yield Mistake("sum so far dropped, and the addend", text, wiring.SumForgotten(keeps_addend=False))
        if unit.operands.addend is not None:
            yield Mistake("sum so far dropped", f"{text}, and the addend", wiring.SumForgotten(keeps_addend=True))
    addend, chained = unit.operands.addend, unit.instruction.chain is not None and not isinstance(unit.sum, ExactSum)
    if (chained and addend is None and unit.promotion is None) or (addend is not None and addend == unit.output):
        text = "a sum goes on from the result before it, in the place of its addend"
        yield Mistake("sum not cleared", text, wiring.NotCleared())


OF_OPERANDS: tuple[Callable[[Unit], Iterator[Mistake]], ...] = (
    _decoders, _products, _ports, _lanes, _lane_pairs, _scales, _accumulation,
)  # fmt: skip
