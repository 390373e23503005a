"""Block quantisers, a block of numbers in, its codes and its scale out; and dequantisers, the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, assert_never

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, unsigned
from amaranth.lib.data import ArrayLayout, StructLayout

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.formats.blocks import field_format
from hwsim.quantize.block import BlockDequantization, BlockQuantization
from hwsim.quantize.rule import Apply, Rule, Select, Special, TensorScale
from hwsim.rtl.arithmetic import tree_maximum
from hwsim.rtl.converter import (
    Number,
    StreamedDatapath,
    StreamPlan,
    conversion_plan,
    cut_words,
    decoded,
    in_container,
    source_range,
)
from hwsim.rtl.encode import EncodeTarget, encoder
from hwsim.rtl.normalize import Normalize, with_sign
from hwsim.rtl.numbers import signed_shape
from hwsim.rtl.products import FloatDecode
from hwsim.rtl.single import (
    F32,
    INFINITY,
    LARGEST,
    Multiply32,
    Recode,
    Staircase,
    Threshold,
    by_thresholds,
    divide_stages,
    nearest_single,
    scale_code,
    single_code,
)
from hwsim.rtl.step import Stage, flat
from hwsim.spec import NotImplementedYet
from hwsim.spec.conversion import Conversion, chosen_cuts

SINGLE = 31  # bits of a magnitude in binary32


def amax_steps(lanes: int) -> tuple[str, ...]:
    """The names of the steps: of each level of the tree of comparisons, and the last, `amax`."""
    levels = max(1, (lanes - 1).bit_length())
    return ("special", *(f"amax.{level}" for level in range(1, levels)), "amax")


def flushes(rule: Rule, source: FloatFormat) -> bool:
    """True if the rule makes a source's subnormals zeros: where they are binary32's."""
    return rule.flush and source.subnormals and source.emin == F32.emin


def amax_stages(q: BlockQuantization, i: StructLayout) -> Iterator[Stage]:
    """Yield the steps from the numbers, `x`, to `amax`, 31 bits of binary32, and `dead`, whether the scale is NaN."""
    source, rule = q.float_source, q.rule
    bits = source.exponent_bits + source.fraction_bits

    def special(m: Module, i: Any, o: Any) -> None:
        nan, inf = [], []
        for lane in range(q.lanes):
            decode = FloatDecode(source)
            m.submodules[f"lane{lane}"] = decode
            code = i.x[lane]
            m.d.comb += decode.code.eq(code)
            magnitude = code[source.padding : source.padding + bits]
            if flushes(rule, source):
                magnitude = Mux(magnitude[source.fraction_bits :].any(), magnitude, 0)
            # What is left out of amax: it counts elsewhere, or not at all.
            left_out = decode.o.nan if rule.infinity is Special.AMAX else decode.o.nan | decode.o.inf
            m.d.comb += o.maxima[lane].eq(Mux(left_out, 0, magnitude))
            nan.append(decode.o.nan)
            inf.append(decode.o.inf)
        dead = Cat(*(nan if rule.nan is Special.BLOCK else []), *(inf if rule.infinity is Special.BLOCK else []))
        m.d.comb += o.dead.eq(dead.any() if len(dead) else Const(0))

    stage = Stage("special", i, {"maxima": ArrayLayout(unsigned(bits), q.lanes), "dead": 1}, special)
    yield stage
    left = q.lanes
    names = amax_steps(q.lanes)[1:]
    for name in names[:-1]:
        left = -(-left // 2)

        def level(m: Module, i: Any, o: Any) -> None:
            for index, one in enumerate(tree_maximum(m, list(i.maxima), 1)):
                m.d.comb += o.maxima[index].eq(one)

        stage = Stage(name, stage.gives, {"maxima": ArrayLayout(unsigned(bits), left)}, level)
        yield stage

    def last(m: Module, i: Any, o: Any) -> None:
        (most,) = tree_maximum(m, list(i.maxima), 1)
        m.submodules.recode = recode = Recode(Conversion(source=source, target=F32, overflow="infinity"))
        m.d.comb += recode.code.eq(Cat(Const(0, source.padding), most))
        m.d.comb += o.amax.eq(recode.result[:SINGLE])

    yield Stage(names[-1], stage.gives, {"amax": unsigned(SINGLE)}, last, drops=("maxima",))


STEPS = ("scale", "scaled", "normalize", "round")


def power_lacks(rule: Rule) -> Iterator[str]:
    """Yield the settings of a rule with power-of-two scales that the hardware lacks."""
    if not isinstance(rule.scale_format, ExponentFormat):
        yield f"scale_format: {rule.scale_format.name} with select: {rule.select}"
    if rule.apply != "exact":
        yield f"apply: {rule.apply} with select: {rule.select}"


def element_target(q: BlockQuantization, stairs: Staircase) -> EncodeTarget:
    """The target in which elements, divided by the scale, are encoded."""
    rule = q.rule
    sig_bits, (low, _), loose = source_range(field_format(q.source))
    assert rule.rounding in ("rne", "rna", "rz", "ru", "rd", "rto", "stochastic")
    element = field_format(rule.element)
    return EncodeTarget.of(
        element, sig_bits, (low - stairs.most, max(stairs.reach, low - stairs.least)), loose - stairs.least,
        rounding=rule.rounding, overflow=rule.overflow, random_bits=q.random_bits,  # type: ignore[arg-type]
        missing="nan" if rule.element.has_nan else "zero",
    )  # fmt: skip


def power_stages(q: BlockQuantization, i: StructLayout) -> Iterator[Stage]:
    """Yield the steps from `x`, `amax` and `dead` to `codes` and `scale`."""
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
    """Yield the steps from numbers, `lanes`, to `codes` in containers.

    put: drives a code from what was encoded and what is special.
    """

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


PARTS = ("1", "2", "3")  # of a division


def divided_lacks(rule: Rule) -> Iterator[str]:
    """Yield the settings of a rule that divides that the hardware lacks."""
    if not isinstance(rule.scale_format, FloatFormat) or rule.scale_format.bits > 8:
        yield f"scale_format: {rule.scale_format.name} with select: divide"
    if rule.apply in (Apply.EXACT, Apply.MULTIPLY):
        yield f"apply: {rule.apply} with select: divide"
    if rule.apply is Apply.DIVIDE and not by_thresholds(rule):
        yield f"apply: divide of {rule.element.name} by {rule.rounding}"
    if rule.apply is Apply.TENSOR_RECIPROCAL and rule.tensor_scale in (TensorScale.MULTIPLY, TensorScale.RECIPROCAL):
        yield f"tensor_scale: {rule.tensor_scale} with apply: tensor-reciprocal"


def tensor_fields(rule: Rule) -> tuple[str, ...]:
    """The fields that come with a block beside its numbers: `tensor_scale`, `tensor_factor`, both or neither."""
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
    """Yield the steps from `x`, `amax`, `dead` and what the tensor brings to `codes` and `scale`."""
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
    """The step that makes amax a binary32 number, and says whether the block is of zeros."""
    least = single_code(nearest_single(Fraction(rule.least_amax))) if rule.least_amax else 0

    def single(m: Module, i: Any, o: Any) -> None:
        amax = Mux(i.amax < least, least, i.amax) if least else i.amax
        m.d.comb += [o.single.eq(amax), o.zero.eq(Const(0) if least else ~i.amax.any())]

    return Stage("single", i, {"single": unsigned(32), "zero": 1}, single, drops=("amax",))


def _ratio(rule: Rule, i: StructLayout) -> Iterator[Stage]:
    """Yield the steps to the scale before it is rounded to its format: `ratio`, a binary32 number."""
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
    """The step that multiplies two fields of codes in binary32, or a field and a number's code.

    made: the product's field; the name unless given.
    """
    product = made or name

    def multiply(m: Module, i: Any, o: Any) -> None:
        m.submodules.product = multiplier = Multiply32()
        by = Const(other, 32) if isinstance(other, int) else getattr(i, other)
        m.d.comb += [multiplier.a.eq(getattr(i, one)), multiplier.b.eq(by), getattr(o, product).eq(multiplier.product)]

    return Stage(name, i, {product: unsigned(32)}, multiply)


def _scale(rule: Rule, i: StructLayout) -> Stage:
    """The step that makes the scale's code."""
    fmt = rule.scale_format

    def scale(m: Module, i: Any, o: Any) -> None:
        m.submodules.recode = recode = Recode(Conversion(source=F32, target=field_format(fmt), missing="saturate"))
        least, at_zero, nan = int(rule.least_scale), int(rule.zero_scale), fmt.canonical_nan or 0
        found = recode.result
        code = Mux(found < least, least, found) if least else found
        m.d.comb += [recode.code.eq(i.ratio), o.scale.eq(Mux(i.dead, nan, Mux(i.zero, at_zero, code)))]

    return Stage(
        "scale", i, {"scale": unsigned(fmt.container_bits)}, scale, drops=("ratio", "single", "zero", "factor")
    )


def _operand(rule: Rule, i: StructLayout) -> Stage:
    """The step that makes the operand of divisions: the scale, times the tensor's where there is one."""
    fmt = rule.scale_format
    both = rule.tensor_scale is not TensorScale.NONE and rule.apply is not Apply.TENSOR_RECIPROCAL

    def operand(m: Module, i: Any, o: Any) -> None:
        m.submodules.recode = recode = Recode(Conversion(source=field_format(fmt), target=F32))
        m.d.comb += recode.code.eq(i.scale)
        if not both:
            m.d.comb += o.operand.eq(recode.result)
            return
        m.submodules.product = product = Multiply32()
        m.d.comb += [product.a.eq(recode.result), product.b.eq(i.tensor_scale), o.operand.eq(product.product)]

    return Stage("operand", i, {"operand": unsigned(32)}, operand, drops=("tensor_scale",))


def _reciprocal(rule: Rule, i: StructLayout) -> Iterator[Stage]:
    """Yield the steps to the factor that elements are multiplied by; it is never infinite.

    The factor is 1, or what the tensor brings, over the operand.
    """
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
    """Yield the steps that find elements by thresholds."""
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
    """Yield the steps that find elements by a product in binary32, rounded again."""
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


def quantizer_lacks(q: BlockQuantization) -> Iterator[str]:
    """The settings of a rule that the RTL does not have."""
    rule = q.rule
    for key in ("nan", "infinity"):
        if getattr(rule, key) is Special.ERROR:
            yield f"{key}: error"
    if rule.element.container_bits > 8 or rule.element.padding:
        yield f"element: {rule.element.name}"
    if rule.select is Select.DIVIDE:
        yield from divided_lacks(rule)
    else:
        yield from power_lacks(rule)


def supports_quantizer(q: BlockQuantization) -> None:
    """Raise NotImplementedYet, with the reason, for a rule that the RTL does not have."""
    for lack in quantizer_lacks(q):
        raise NotImplementedYet(f"rule {q.name}: {lack} is not in the RTL yet")


def block_layout(q: BlockQuantization) -> StructLayout:
    """The payload that enters a quantiser: numbers, and their random words.

    Of a rule that has them, the tensor's scale and factor come too, in binary32.
    """
    layout: dict[str, object] = {"x": ArrayLayout(unsigned(q.source.container_bits), q.lanes)}
    if q.random_bits:
        layout["words"] = ArrayLayout(unsigned(q.random_bits), q.lanes)
    layout |= {field: unsigned(32) for field in tensor_fields(q.rule)}
    return StructLayout(layout)


def quantizer_steps(q: BlockQuantization) -> tuple[str, ...]:
    """The steps of a quantiser, after each of which there can be a register."""
    rest = steps(q.rule) if q.rule.select is Select.DIVIDE else STEPS
    return (*amax_steps(q.lanes), *rest)


def quantizer_cuts(q: BlockQuantization, cuts: Sequence[str] | None = None) -> tuple[str, ...]:
    """The registers of a quantiser. Raises as `chosen_cuts`."""
    usual = usual_cuts(q.rule) if q.rule.select is Select.DIVIDE else ("amax", "scaled", "normalize")
    return chosen_cuts(quantizer_steps(q), cuts, usual)


def stages(q: BlockQuantization) -> list[Stage]:
    """The steps, from `block_layout` to `quantized_layout`."""
    path = list(amax_stages(q, block_layout(q)))
    make = divided_stages if q.rule.select is Select.DIVIDE else power_stages
    return [*path, *make(q, path[-1].gives)]


def rule_words(rule: Rule) -> Iterator[str]:
    """A rule's fields, but for its source and its blocks."""
    for field in fields(rule):
        if field.name not in ("source", "block"):
            value = getattr(rule, field.name)
            yield f"{field.name}: {value.name if isinstance(value, Format) else value}"


def quantizer_plan(quantization: BlockQuantization, cuts: Sequence[str] | None = None) -> StreamPlan:
    """The plan of a quantiser; arguments as of `BlockQuantizer`."""
    q = quantization
    supports_quantizer(q)
    chosen = quantizer_cuts(q, cuts)
    codes = ArrayLayout(unsigned(q.rule.element.container_bits), q.lanes)
    return StreamPlan(
        name=f"{q.name}-from-{q.source.name}",
        words=(
            f"{q.name}: quantiser of blocks of {q.lanes} numbers of {q.source.name}",
            cut_words(chosen),
            *rule_words(q.rule),
        ),
        steps=lambda: stages(q),
        cuts=chosen,
        i=block_layout(q),
        o=StructLayout({"codes": codes, "scale": unsigned(q.rule.scale_format.container_bits)}),
        leaves=lambda out: {"codes": lanes_of(out, q.lanes), "scale": out["scale"]},
    )


def lanes_of(out: Mapping[str, Value], lanes: int) -> Value:
    return Cat(*(out[f"codes{lane}"] for lane in range(lanes)))


class BlockQuantizer(StreamedDatapath):
    """A quantiser with a stream of blocks in and a stream of codes and scales out, a block each cycle.

    cuts: the steps of `quantizer_steps` after which there is a register; the last always has one.
    Raises NotImplementedYet for rules that the RTL does not have.
    """

    def __init__(self, quantization: BlockQuantization, cuts: Sequence[str] | None = None):
        super().__init__(quantizer_plan(quantization, cuts))


DEQUANTIZER_STEPS = ("factor", "product", "normalize", "round")
MOST_PRODUCT_BITS = 48  # of a product of significands


def scaled_layout(d: BlockDequantization) -> StructLayout:
    """The payload that enters: a code for each element, the scale's code, and the tensor's scale, binary32, if any."""
    codes = ArrayLayout(unsigned(d.element.container_bits), d.lanes)
    tensor = {"tensor_scale": unsigned(32)} if d.tensor else {}
    return StructLayout({"codes": codes, "scale": unsigned(d.scale_format.container_bits), **tensor})


def supports_dequantizer(d: BlockDequantization) -> None:
    """Raise NotImplementedYet, with the reason, for formats that the RTL does not have."""
    for fmt in (d.element, d.scale_format, d.target):
        if fmt.container_bits > 32:
            raise NotImplementedYet(
                f"{fmt.name} has codes of {fmt.container_bits} bits, which the RTL does not have yet"
            )
    if dequantized_target(d).magnitude_bits > MOST_PRODUCT_BITS:
        raise NotImplementedYet(f"{d.name}: products of more than {MOST_PRODUCT_BITS} bits are not in the RTL yet")


def factor_range(d: BlockDequantization) -> tuple[int, tuple[int, int]]:
    """The range of the scale, times the tensor's: bits, and least and largest exponent of the top bit."""
    bits, (low, high), _ = source_range(field_format(d.scale_format))
    if not d.tensor:
        return bits, (low, high)
    tensor_bits, (least, most), _ = source_range(F32)
    return bits + tensor_bits, (low + least + 1, high + most + 1)


def dequantized_target(d: BlockDequantization) -> EncodeTarget:
    """The target in which products are encoded."""
    element_bits, (low, high), _ = source_range(field_format(d.element))
    bits, (least, most) = factor_range(d)
    assert d.rounding in ("rne", "rna", "rz", "ru", "rd", "rto")
    return EncodeTarget.of(
        field_format(d.target), element_bits + bits, (low + least + 1, high + most + 1), high + most + 1,
        rounding=d.rounding, overflow=d.overflow, missing="nan",  # type: ignore[arg-type]
    )  # fmt: skip


def dequantized_stages(d: BlockDequantization) -> list[Stage]:
    """The steps, from `scaled_layout` to `numbers_layout`'s."""
    i = scaled_layout(d)
    bits, (least, most) = factor_range(d)
    target = dequantized_target(d)
    factor_layout = StructLayout(
        {"sign": 1, "sig": unsigned(bits), "exp": signed_shape(least, most), "nan": 1, "inf": 1}
    )  # fmt: skip

    def factor(m: Module, i: Any, o: Any) -> None:
        scale, to = decoded(m, field_format(d.scale_format), i.scale, "scale"), o.factor
        if d.tensor:
            scale = product(scale, decoded(m, F32, i.tensor_scale, "tensor"))
        m.d.comb += [
            to.sign.eq(scale.sign), to.sig.eq(scale.sig), to.exp.eq(scale.exp - scale.bias), to.nan.eq(scale.nan),
            to.inf.eq(scale.inf),
        ]  # fmt: skip

    def products(m: Module, i: Any, o: Any) -> None:
        by = Number(i.factor.sign, i.factor.sig, i.factor.exp, 0, i.factor.nan, i.factor.inf)
        for lane in range(d.lanes):
            found, to = product(decoded(m, field_format(d.element), i.codes[lane], f"lane{lane}"), by), o.lanes[lane]
            m.d.comb += [
                to.sign.eq(found.sign),
                to.magnitude.eq(found.sig),
                to.top_bexp.eq(found.exp + (target.bias - found.bias)),
                *found.special(to.special),
            ]

    first = Stage("factor", i, {"factor": factor_layout}, factor, drops=("scale", "tensor_scale"))
    lanes = {"lanes": ArrayLayout(target.magnitude(), d.lanes)}
    second = Stage("product", first.gives, lanes, products, drops=("codes", "factor"))
    put = lambda code, special, to: [to.eq(code)]  # noqa: E731
    return [first, second, *rounded_lanes(target, d.lanes, second.gives, put)]


def product(one: Number, other: Number) -> Number:
    """The exact product of two numbers, and what is special about it."""
    # An infinity's significand means nothing: it is no zero.
    zero_by_infinity = (one.inf & ~other.inf & ~other.sig.any()) | (other.inf & ~one.inf & ~one.sig.any())
    return Number(
        one.sign ^ other.sign, one.sig * other.sig, one.exp + other.exp, one.bias + other.bias - 1,
        one.nan | other.nan | zero_by_infinity, one.inf | other.inf,
    )  # fmt: skip


def dequantizer_plan(dequantization: BlockDequantization, cuts: Sequence[str] | None = None) -> StreamPlan:
    """The plan of a dequantiser; arguments as of `BlockDequantizer`."""
    d = dequantization
    supports_dequantizer(d)
    chosen = chosen_cuts(DEQUANTIZER_STEPS, cuts, ("product", "normalize"))
    return StreamPlan(
        name=f"{d.name}-to-{d.target.name}",
        words=(
            f"{d.name}: dequantiser of blocks of {d.lanes} codes of {d.element.name}",
            f"scale: {d.scale_format.name}; target: {d.target.name}; rounding: {d.rounding}; overflow: {d.overflow}",
            cut_words(chosen),
        ),
        steps=lambda: dequantized_stages(d),
        cuts=chosen,
        i=scaled_layout(d),
        o=StructLayout({"x": ArrayLayout(unsigned(d.target.container_bits), d.lanes)}),
        leaves=lambda out: {"x": lanes_of(out, d.lanes)},
    )


class BlockDequantizer(StreamedDatapath):
    """A dequantiser with a stream of codes and scales in and a stream of numbers out, a block each cycle.

    cuts: the steps of `DEQUANTIZER_STEPS` after which there is a register; the last always has one.
    Raises NotImplementedYet for formats that the RTL does not have.
    """

    def __init__(self, dequantization: BlockDequantization, cuts: Sequence[str] | None = None):
        super().__init__(dequantizer_plan(dequantization, cuts))


Streamed = Conversion | BlockQuantization | BlockDequantization


def stream_plan(of: Streamed, cuts: Sequence[str] | None = None) -> StreamPlan:
    """The plan of a converter, a quantiser or a dequantiser.

    Raises NotImplementedYet, with the reason, for what the RTL does not have, and as `chosen_cuts` for wrong cuts.
    """
    match of:
        case Conversion():
            return conversion_plan(of, cuts)
        case BlockQuantization():
            return quantizer_plan(of, cuts)
        case BlockDequantization():
            return dequantizer_plan(of, cuts)
        case _:
            assert_never(of)
