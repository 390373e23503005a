"""A block quantiser whose scales are powers of two: the exponent of amax, and elements moved by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from amaranth.hdl import Module, Mux, Value, unsigned
from amaranth.lib.data import ArrayLayout, StructLayout

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat
from hwsim.quantize.block import BlockQuantization
from hwsim.quantize.rule import Rule, Special

from .block_amax import flushes
from .converter import decoded, in_container, source_range
from .encode import EncodeTarget, encoder
from .normalize import Normalize
from .staircase import Staircase, scale_code
from .step import Stage, flat

STEPS = ("scale", "scaled", "normalize", "round")


def power_lacks(rule: Rule) -> Iterator[str]:
    """What the hardware lacks of a rule with power-of-two scales."""
    if not isinstance(rule.scale_format, ExponentFormat):
        yield f"scale_format: {rule.scale_format.name} with select: {rule.select}"
    if rule.apply != "exact":
        yield f"apply: {rule.apply} with select: {rule.select}"


def element_target(q: BlockQuantization, stairs: Staircase) -> EncodeTarget:
    """What elements, divided by the scale, are encoded in."""
    rule = q.rule
    sig_bits, (low, _), loose = source_range(q.source)
    assert rule.rounding in ("rne", "rna", "rz", "ru", "rd", "rto", "stochastic")
    return EncodeTarget.of(
        rule.element, sig_bits, (low - stairs.most, max(stairs.reach, low - stairs.least)), loose - stairs.least,
        rounding=rule.rounding, overflow=rule.overflow, random_bits=q.random_bits,  # type: ignore[arg-type]
        missing="nan" if rule.element.has_nan else "zero",
    )  # fmt: skip


def power_stages(q: BlockQuantization, i: StructLayout) -> Iterator[Stage]:
    """From `x`, `amax` and `dead` to `codes` and `scale`."""
    rule, source = q.rule, q.float_source
    fmt = rule.scale_format
    assert isinstance(fmt, ExponentFormat)
    stairs = Staircase.of(rule)
    target = element_target(q, stairs)
    nan_scale = fmt.canonical_nan or 0

    def scale(m: Module, i: Any, o: Any) -> None:
        exponent = stairs.drive(m, i.amax)
        too_large = exponent > stairs.most
        zero = ~i.amax.any() if rule.least_amax == 0 else None
        limited = Mux(too_large, stairs.most, exponent)
        code = scale_code(fmt, limited)
        dead = i.dead
        if rule.huge_scale == "nan":
            dead = dead | (too_large & ~zero if zero is not None else too_large)
        if zero is not None:
            code = Mux(zero, int(rule.zero_scale), code)
            if fmt.is_nan(int(rule.zero_scale)):
                dead = dead | zero
        m.d.comb += [o.scale.eq(Mux(dead, nan_scale, code)), o.dead.eq(dead)]

    stage = Stage("scale", i, {"scale": unsigned(fmt.bits), "dead": 1}, scale, drops=("amax",))
    yield stage

    def scaled(m: Module, i: Any, o: Any) -> None:
        for lane in range(q.lanes):
            x, number = decoded(m, source, i.x[lane], f"lane{lane}"), o.lanes[lane]
            sig = Mux(x.sig[-1], x.sig, 0) if flushes(rule, source) else x.sig
            m.d.comb += [
                number.sign.eq(x.sign),
                number.magnitude.eq(sig),
                number.top_bexp.eq(x.exp - i.scale + (fmt.bias - x.bias + target.bias)),
                *x.special(number.special),
                number.special.nan.eq(x.nan | i.dead),
            ]
            if q.random_bits:
                m.d.comb += number.word.eq(i.words[lane])

    numbers = ArrayLayout(target.magnitude(), q.lanes)
    stage = Stage("scaled", stage.gives, {"lanes": numbers}, scaled, drops=("x", "words", "dead"))
    yield stage

    def put(code: Value, special: Any, to: Any) -> list[Any]:
        return put_code(rule, code, special, to)

    yield from rounded_lanes(target, q.lanes, stage.gives, put)


def rounded_lanes(
    target: EncodeTarget, lanes: int, i: StructLayout, put: Callable[[Value, Any, Any], list[Any]]
) -> Iterator[Stage]:
    """From numbers, `lanes`, to `codes` in containers. put: drives a code from what was encoded and what is special."""

    def normalize(m: Module, i: Any, o: Any) -> None:
        for lane in range(lanes):
            m.submodules[f"lane{lane}"] = one = Normalize(target)
            ins, outs = flat(i.lanes[lane]), flat(o.lanes[lane])
            m.d.comb += [port.eq(ins[name]) for name, port in flat(one.i).items()]
            m.d.comb += [port.eq(flat(one.o)[name]) for name, port in outs.items()]

    def rounded(m: Module, i: Any, o: Any) -> None:
        for lane in range(lanes):
            m.submodules[f"lane{lane}"] = one = encoder(target)
            ins = flat(i.lanes[lane])
            m.d.comb += [port.eq(ins[name]) for name, port in flat(one.i).items()]
            code = in_container(target.to, one.o.code, one.o.nan)
            m.d.comb += put(code, i.lanes[lane].special, o.codes[lane])

    stage = Stage("normalize", i, {"lanes": ArrayLayout(target.normalized(), lanes)}, normalize)
    yield stage
    codes = ArrayLayout(unsigned(target.to.container_bits), lanes)
    yield Stage("round", stage.gives, {"codes": codes}, rounded, drops=("lanes",))


def put_code(rule: Rule, code: Value, special: Any, to: Any) -> list[Any]:
    """An element's code: infinities, and the negative end of two's complement, as the rule has them."""
    fmt = rule.element
    found = code
    if isinstance(fmt, FixedFormat) and rule.symmetric:
        found = Mux(code == fmt.sign_bit, fmt.sign_bit + 1, code)
    plus, minus = infinity_codes(rule)
    infinite = (special.positive | special.negative) & ~special.nan
    found = Mux(infinite, Mux(special.negative, minus, plus), found)
    return [to.eq(found)]


def infinity_codes(rule: Rule) -> tuple[int, int]:
    """The codes of both infinities in a block whose scale is a number."""
    fmt = rule.element
    match fmt:
        case FloatFormat():
            if rule.infinity is Special.ELEMENT and fmt.infinity_magnitude is None:
                return fmt.canonical_nan or 0, fmt.canonical_nan or 0
            wide = rule.infinity is Special.ELEMENT and fmt.infinity_magnitude is not None
            magnitude = fmt.infinity_magnitude if wide and fmt.infinity_magnitude is not None else fmt.max_magnitude
            return magnitude, magnitude | fmt.sign_bit
        case FixedFormat():
            return fmt.max_code, fmt.sign_bit + rule.symmetric
        case _:
            raise TypeError(f"{fmt.name} has no signs")
