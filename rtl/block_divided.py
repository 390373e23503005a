"""A block quantiser whose scales are quotients, as NVFP4's: amax / largest in binary32, then a narrow float.

What the tensor brings comes with each block, as binary32 numbers: `tensor_scale`, g, and `tensor_factor`, which is the
G of rules that multiply block scales by it, and min(1 / g, the largest number) where elements are multiplied by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, assert_never

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib.data import ArrayLayout, StructLayout

from hwsim.formats import FloatFormat
from hwsim.quantize.block import BlockQuantization
from hwsim.quantize.rule import Apply, Rule, TensorScale
from hwsim.spec.conversion import Conversion

from .block_amax import SINGLE, flushes
from .block_power import put_code
from .decode import FloatDecode
from .normalize import with_sign
from .single import F32, INFINITY, LARGEST, Multiply32, Recode, divide_stages
from .staircase import nearest_single
from .step import Stage
from .thresholds import Threshold, by_thresholds, single_code

PARTS = ("1", "2", "3")  # of a division


def divided_lacks(rule: Rule) -> Iterator[str]:
    """What the hardware lacks of a rule that divides."""
    if not isinstance(rule.scale_format, FloatFormat) or rule.scale_format.bits > 8:
        yield f"scale_format: {rule.scale_format.name} with select: divide"
    if rule.apply in (Apply.EXACT, Apply.MULTIPLY):
        yield f"apply: {rule.apply} with select: divide"
    if rule.apply is Apply.DIVIDE and not by_thresholds(rule):
        yield f"apply: divide of {rule.element.name} by {rule.rounding}"
    if rule.apply is Apply.TENSOR_RECIPROCAL and rule.tensor_scale in (TensorScale.MULTIPLY, TensorScale.RECIPROCAL):
        yield f"tensor_scale: {rule.tensor_scale} with apply: tensor-reciprocal"


def tensor_fields(rule: Rule) -> tuple[str, ...]:
    """What comes with a block beside its numbers: `tensor_scale`, `tensor_factor`, both or neither."""
    if rule.tensor_scale is TensorScale.NONE:
        return ()
    scale = rule.tensor_scale is TensorScale.DIVIDE or rule.apply is not Apply.TENSOR_RECIPROCAL
    factor = rule.tensor_scale is not TensorScale.DIVIDE or rule.apply is Apply.TENSOR_RECIPROCAL
    return (*["tensor_scale"] * scale, *["tensor_factor"] * factor)


def _division(name: str) -> tuple[str, ...]:
    return (*(f"{name}.{part}" for part in PARTS), name)


def steps(rule: Rule) -> tuple[str, ...]:
    """The names of the steps after amax."""
    match rule.tensor_scale:
        case TensorScale.NONE:
            ratio = _division("ratio")
        case TensorScale.MULTIPLY:
            ratio = (*_division("ratio"), "tensor")
        case TensorScale.DIVIDE:
            ratio = (*_division("ratio"), *_division("tensor"))
        case TensorScale.RECIPROCAL:
            ratio = ("factor", "ratio")
        case _:
            assert_never(rule.tensor_scale)
    elements = ("thresholds",) if rule.apply is Apply.DIVIDE else (*_division("reciprocal"), "scaled")
    return ("single", *ratio, "scale", "operand", *elements, "round")


def usual_cuts(rule: Rule) -> tuple[str, ...]:
    """Registers unless others are asked for: after each product, and each part of a division."""
    return ("amax", *(step for step in steps(rule) if step not in ("single", "scale")))


def divided_stages(q: BlockQuantization, i: StructLayout) -> Iterator[Stage]:
    """From `x`, `amax`, `dead` and what the tensor brings to `codes` and `scale`."""
    rule = q.rule
    ends = [_single(rule, i)]

    def then(stages: Iterable[Stage]) -> None:
        ends.extend(stages)

    here = ends[-1].gives
    then(_ratio(rule, here))
    then([_scale(rule, ends[-1].gives)])
    then([_operand(rule, ends[-1].gives)])
    if rule.apply is Apply.DIVIDE:
        then(_compared(q, ends[-1].gives))
    else:
        then(_reciprocal(rule, ends[-1].gives))
        then(_multiplied(q, ends[-1].gives))
    yield from ends


def _single(rule: Rule, i: StructLayout) -> Stage:
    """amax as a binary32 number, and whether the block is of zeros."""
    least = single_code(nearest_single(Fraction(rule.least_amax))) if rule.least_amax else 0

    def single(m: Module, i: Any, o: Any) -> None:
        amax = Mux(i.amax < least, least, i.amax) if least else i.amax
        m.d.comb += [o.single.eq(amax), o.zero.eq(Const(0) if least else ~i.amax.any())]

    return Stage("single", i, {"single": unsigned(32), "zero": 1}, single, drops=("amax",))


def _ratio(rule: Rule, i: StructLayout) -> Iterator[Stage]:
    """The scale before it is rounded to its format: `ratio`, a binary32 number."""
    largest = Fraction(rule.largest)
    if rule.tensor_scale is TensorScale.RECIPROCAL:
        stage = product_stage("factor", i, "tensor_factor", single_code(nearest_single(1 / largest)))
        yield stage
        yield product_stage("ratio", stage.gives, "single", "factor")
        return
    stages = list(divide_stages("ratio", i, "single", single_code(largest), "ratio"))
    yield from stages
    here = stages[-1].gives
    if rule.tensor_scale is TensorScale.MULTIPLY:
        yield product_stage("tensor", here, "ratio", "tensor_factor", "ratio")
    elif rule.tensor_scale is TensorScale.DIVIDE:
        yield from divide_stages("tensor", here, "ratio", "tensor_scale", "ratio")


def product_stage(name: str, i: StructLayout, one: str, other: str | int, made: str = "") -> Stage:
    """A product of two fields of codes in binary32, or of a field and a number's code. made: its field, or the name."""
    product = made or name

    def multiply(m: Module, i: Any, o: Any) -> None:
        m.submodules.product = multiplier = Multiply32()
        by = Const(other, 32) if isinstance(other, int) else getattr(i, other)
        m.d.comb += [multiplier.a.eq(getattr(i, one)), multiplier.b.eq(by), getattr(o, product).eq(multiplier.product)]

    return Stage(name, i, {product: unsigned(32)}, multiply)


def _scale(rule: Rule, i: StructLayout) -> Stage:
    """The scale's code."""
    fmt = rule.scale_format

    def scale(m: Module, i: Any, o: Any) -> None:
        m.submodules.recode = recode = Recode(Conversion(source=F32, target=fmt, missing="saturate"))
        least, at_zero, nan = int(rule.least_scale), int(rule.zero_scale), fmt.canonical_nan or 0
        found = recode.result
        code = Mux(found < least, least, found) if least else found
        m.d.comb += [recode.code.eq(i.ratio), o.scale.eq(Mux(i.dead, nan, Mux(i.zero, at_zero, code)))]

    return Stage(
        "scale", i, {"scale": unsigned(fmt.container_bits)}, scale, drops=("ratio", "single", "zero", "factor")
    )


def _operand(rule: Rule, i: StructLayout) -> Stage:
    """What elements are divided by, or what is divided for them: the scale, times the tensor's where there is one."""
    fmt = rule.scale_format
    both = rule.tensor_scale is not TensorScale.NONE and rule.apply is not Apply.TENSOR_RECIPROCAL

    def operand(m: Module, i: Any, o: Any) -> None:
        m.submodules.recode = recode = Recode(Conversion(source=fmt, target=F32))
        m.d.comb += recode.code.eq(i.scale)
        if not both:
            m.d.comb += o.operand.eq(recode.result)
            return
        m.submodules.product = product = Multiply32()
        m.d.comb += [product.a.eq(recode.result), product.b.eq(i.tensor_scale), o.operand.eq(product.product)]

    return Stage("operand", i, {"operand": unsigned(32)}, operand, drops=("tensor_scale",))


def _reciprocal(rule: Rule, i: StructLayout) -> Iterator[Stage]:
    """What elements are multiplied by: 1, or what the tensor brings, over the operand; never infinite."""
    brought = rule.apply is Apply.TENSOR_RECIPROCAL and rule.tensor_scale is not TensorScale.NONE
    dividend: str | int = "tensor_factor" if brought else single_code(Fraction(1))
    at_zero = LARGEST if rule.no_scale == "multiplied" else 0

    def limited(i: Any, quotient: Value) -> Value:
        factor = Mux(quotient == INFINITY, LARGEST, quotient)
        return Mux(i.operand[:SINGLE].any(), factor, at_zero)

    drops = ("operand", "tensor_factor")
    yield from divide_stages("reciprocal", i, dividend, "operand", "factor", limited, drops)


def _flags(rule: Rule, source: FloatFormat, m: Module, code: Value, dead: Value, lane: int) -> tuple[FloatDecode, Any]:
    """A number's decoder, and what is special about it."""
    m.submodules[f"decode{lane}"] = decode = FloatDecode(source)
    m.d.comb += decode.code.eq(code)
    x = decode.o
    return decode, SimpleNamespace(nan=x.nan | dead, positive=x.inf & ~x.sign, negative=x.inf & x.sign)


def _magnitude(rule: Rule, source: FloatFormat, m: Module, code: Value, lane: int) -> tuple[Value, Value]:
    """A number's sign, and its magnitude in binary32."""
    m.submodules[f"recode{lane}"] = recode = Recode(Conversion(source=source, target=F32, overflow="infinity"))
    m.d.comb += recode.code.eq(code)
    magnitude = recode.result[:SINGLE]
    if flushes(rule, source):
        magnitude = Mux(magnitude[F32.fraction_bits :].any(), magnitude, 0)
    return recode.result[-1], magnitude


def _compared(q: BlockQuantization, i: StructLayout) -> Iterator[Stage]:
    """Elements by thresholds."""
    rule, source = q.rule, q.float_source
    fmt = rule.element
    assert isinstance(fmt, FloatFormat)
    count = fmt.max_magnitude

    def thresholds(m: Module, i: Any, o: Any) -> None:
        m.submodules.operand = d = FloatDecode(F32)
        m.d.comb += d.code.eq(i.operand)
        for step in range(1, count + 1):
            least = Threshold.of(rule, step).drive(m, d, f"step{step}")
            m.d.comb += o.thresholds[step - 1].eq(least)

    layout = {"thresholds": ArrayLayout(unsigned(SINGLE), count)}
    stage = Stage("thresholds", i, layout, thresholds, drops=("operand", "tensor_factor"))
    yield stage

    def rounded(m: Module, i: Any, o: Any) -> None:
        for lane in range(q.lanes):
            _, special = _flags(rule, source, m, i.x[lane], i.dead, lane)
            sign, magnitude = _magnitude(rule, source, m, i.x[lane], lane)
            reached = Signal(range(count + 1), name=f"reached{lane}")
            m.d.comb += reached.eq(sum((magnitude >= one for one in i.thresholds), Const(0)))
            nan = fmt.canonical_nan or 0
            code = Mux(special.nan, nan, with_sign(fmt, Cat(reached, Const(0, fmt.bits)), sign))
            m.d.comb += put_code(rule, code, special, o.codes[lane])

    yield _last(q, stage.gives, rounded, ("x", "dead", "thresholds"))


def _multiplied(q: BlockQuantization, i: StructLayout) -> Iterator[Stage]:
    """Elements by a product in binary32, rounded again."""
    rule, source = q.rule, q.float_source

    def scaled(m: Module, i: Any, o: Any) -> None:
        for lane in range(q.lanes):
            sign, magnitude = _magnitude(rule, source, m, i.x[lane], lane)
            m.submodules[f"product{lane}"] = product = Multiply32()
            m.d.comb += [
                product.a.eq(Cat(magnitude, sign)), product.b.eq(i.factor), o.products[lane].eq(product.product)
            ]  # fmt: skip

    products = {"products": ArrayLayout(unsigned(32), q.lanes)}
    stage = Stage("scaled", i, products, scaled, drops=("factor",))
    yield stage

    def rounded(m: Module, i: Any, o: Any) -> None:
        for lane in range(q.lanes):
            _, special = _flags(rule, source, m, i.x[lane], i.dead, lane)
            to_element = Conversion(
                source=F32, target=rule.element, rounding=rule.rounding, overflow=rule.overflow,  # type: ignore[arg-type]
                random_bits=q.random_bits,
            )  # fmt: skip
            m.submodules[f"recode{lane}"] = recode = Recode(to_element)
            m.d.comb += recode.code.eq(i.products[lane])
            if q.random_bits:
                m.d.comb += recode.word.eq(i.words[lane])
            code = Mux(special.nan, rule.element.canonical_nan or 0, recode.result)
            m.d.comb += put_code(rule, code, special, o.codes[lane])

    yield _last(q, stage.gives, rounded, ("x", "words", "dead", "products"))


def _last(q: BlockQuantization, i: StructLayout, drive: Any, drops: tuple[str, ...]) -> Stage:
    codes = ArrayLayout(unsigned(q.rule.element.container_bits), q.lanes)
    return Stage("round", i, {"codes": codes}, drive, drops)
