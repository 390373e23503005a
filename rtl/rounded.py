"""Sums by rounded additions in hardware: product after product, or as a tree of neighbours, the addend last.

A level is additions side by side, in five steps; between levels a sum is a code of the specification's `sum.format`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from amaranth.hdl import Const, Module, Mux, Value, unsigned
from amaranth.lib.data import Layout, StructLayout

from hwsim.formats import FloatFormat
from hwsim.rtl.addition import FloatAdder, NumberDecode, NumberRange, ProductNumber, RoundedNumber
from hwsim.rtl.normalize import Magnitude, Round, normalizing
from hwsim.rtl.numbers import ProductRanges, as_float, factors_layout, joining, made_by_decode, result_layout
from hwsim.rtl.products import LaneProduct, addend_code, decode_factors, lane_products, scale_exponents
from hwsim.rtl.step import Datapath, DatapathStep, assign, connect, driven, flat, purpose_of
from hwsim.rtl.windows import PartNumber, PartRanges, decode_scales, drive_part
from hwsim.spec import PairwiseSum, RoundedSum, Specified
from hwsim.spec.implementation import parts_of_group

# What stands between levels: a code of the format of sums, or a product that is still exact.
State = dict[str, FloatFormat | NumberRange]


class AdditionPlace(NamedTuple):
    """One addition: the names of its operands, and of its sum."""

    sum: str
    x: str
    y: str


def layout_of(source: FloatFormat | NumberRange) -> Layout:
    """The shape of a code, or of a number."""
    return source.layout if isinstance(source, NumberRange) else unsigned(source.bits)


def chains_of(unit: Specified) -> int:
    """The number of a tree's chains; 0 without."""
    return (unit.sum.chains or 0) if isinstance(unit.sum, PairwiseSum) else 0


class RoundedRanges(ProductRanges):
    """The formats of one unit's rounded sums. Raises TypeError for a unit of another method."""

    def __init__(self, unit: Specified, apart: bool = False):
        super().__init__(unit, apart)
        if not isinstance(unit.sum, RoundedSum):
            raise TypeError(f"{unit.name} must sum by rounded additions, not by method {unit.sum.method}")
        self.rule = unit.sum
        self.fmt = unit.sum.format
        self.result = as_float(unit.result.format)
        self.addend = None if self.group_addend is None else as_float(self.group_addend)
        self.parts = None if unit.subgroup is None else PartRanges(self, unit.subgroup)
        exact = NumberRange.of_product(self, self.fmt) if self.parts is None else self.parts.number_range(self.fmt)
        self.product = self.fmt if unit.sum.product == "rounded" else exact

    @property
    def products(self) -> State:
        """The products, or the sums of parts in their place, by name."""
        return {f"product{index}": self.product for index in range(parts_of_group(self.unit))}

    @property
    def chains(self) -> State:
        """The sums of chains, by name; they begin with +0."""
        return {f"chain{index}": self.fmt for index in range(chains_of(self.unit))}


class RoundedDecode(DatapathStep):
    """Both factors of every lane, the scales, and what the group starts from, rounded to the format of sums.

    absent: the code that is added where a sum has no addend.
    """

    def __init__(self, n: RoundedRanges, carried: StructLayout, absent: int):
        self.n, self.absent = n, absent
        c = {} if n.addend is None else {"c": unsigned(n.addend.container_bits)}
        i = StructLayout({**factors_layout(n).members, **c, "carried": carried, "chain": 1})
        super().__init__("decode", i, decoded_layout(n), decoded_layout(n).members)

    def compute(self, m: Module) -> None:
        n, c = self.n, self.n.addend
        decode_factors(m, n, self.i, self.o)
        decode_scales(m, n, self.i, self.o)
        start: Value = Const(self.absent, n.fmt.bits)
        if c is not None:
            start = self._rounded(
                m, "c", c, addend_code(n.unit, c, self.i.c[c.padding :], flush=n.unit.flushes_addends)
            )
        partial = self._rounded(m, "partial", n.result, self.i.carried.code)
        m.d.comb += [
            self.o.scale_nan.eq(scale_exponents(m, n, self.i, self.o)),
            self.o.sum.eq(Mux(self.i.chain, partial, start)),
        ]

    def _rounded(self, m: Module, name: str, fmt: FloatFormat, code: Value) -> Value:
        """A code of the format of sums."""
        n = self.n
        if fmt == n.fmt and not n.rule.flush and n.rule.overflow != "saturate":
            return code
        m.submodules[f"{name}_number"] = number = NumberDecode(fmt, n.fmt)
        m.submodules[f"{name}_rounded"] = rounded = RoundedNumber(
            n.fmt, number.range, n.rule.rounding, n.rule.overflow, own=fmt == n.fmt, flush=n.rule.flushes
        )
        m.d.comb += [number.code.eq(code), *assign(rounded.i, number.o)]
        return rounded.o.code


def decoded_layout(n: RoundedRanges) -> StructLayout:
    """After decode. sum: what the group starts from."""
    return StructLayout({**made_by_decode(n), "scale_nan": 1, "sum": unsigned(n.fmt.bits)})


def state_layout(state: Mapping[str, FloatFormat | NumberRange]) -> StructLayout:
    """Layout between two levels."""
    return StructLayout({name: layout_of(source) for name, source in state.items()})


class RoundedMultiply(DatapathStep):
    """The product of every lane: exact, or rounded to the format of sums."""

    def __init__(self, n: RoundedRanges):
        self.n = n
        o = state_layout({**n.products, **n.chains, "sum": n.fmt})
        before = StructLayout({**joining(n), **decoded_layout(n).members})
        super().__init__("multiply", before, o, {*n.products, *n.chains})

    def compute(self, m: Module) -> None:
        n = self.n
        m.d.comb += [getattr(self.o, name).eq(0) for name in n.chains]
        products = lane_products(m, n, self.i)
        numbers = self._numbers(m, products) if n.parts is None else self._parts(m, n.parts, products)
        for index, (name, number) in enumerate(zip(n.products, numbers, strict=True)):
            to = getattr(self.o, name)
            if n.product == n.fmt:
                m.submodules[f"rounded{index}"] = rounded = RoundedNumber(
                    n.fmt, number.range, n.rule.rounding, n.rule.overflow, flush=n.rule.flushes
                )
                m.d.comb += [*assign(rounded.i, number.o), to.eq(rounded.o.code)]
            else:
                m.d.comb += assign(to, number.o)

    def _numbers(self, m: Module, products: Sequence[LaneProduct]) -> list[ProductNumber | PartNumber]:
        """The products as numbers."""
        numbers: list[ProductNumber | PartNumber] = []
        for lane, product in enumerate(products):
            m.submodules[f"number{lane}"] = number = ProductNumber(self.n, self.n.fmt)
            m.d.comb += [*assign(number.term, product.term), *assign(number.special, product.special)]
            if lane == 0:  # a NaN in any product is one in the sum
                m.d.comb += number.special.nan.eq(product.special.nan | self.i.scale_nan)
            numbers.append(number)
        return numbers

    def _parts(self, m: Module, p: PartRanges, products: Sequence[LaneProduct]) -> list[ProductNumber | PartNumber]:
        """The sums of parts as numbers."""
        numbers: list[ProductNumber | PartNumber] = []
        lanes = [(product, product.term.exp) for product in products]
        for index in range(p.count):
            m.submodules[f"number{index}"] = number = PartNumber(p, self.n.fmt)
            special = drive_part(m, p, index, lanes, p.scales_of(self.i, index), number.part)
            nan = special.nan | self.i.scale_nan if index == 0 else special.nan
            m.d.comb += [*assign(number.special, special), number.special.nan.eq(nan)]
            numbers.append(number)
        return numbers


class AlignPairs(DatapathStep):
    """The operands of a level's additions, decoded, and what a part of `FloatAdder` makes of each pair.

    after: the shape of that. Aligned, or, where a cut is inside, how far each is to be shifted.
    """

    def __init__(
        self,
        name: str,
        state: State,
        adders: Mapping[AdditionPlace, FloatAdder],
        part: Callable[[FloatAdder, Module, Any, Any, Any, str], None] | None = None,
        after: Callable[[FloatAdder], StructLayout] = FloatAdder.aligned,
    ):
        self.state, self.adders, self.part = state, adders, part or FloatAdder.align
        self.purpose = driven(self.part)
        sums = {pair.sum: after(adder) for pair, adder in adders.items()}
        o = StructLayout({**state_layout(_rest(state, adders)).members, **sums})
        super().__init__(name, state_layout(state), o, set(sums))

    def compute(self, m: Module) -> None:
        for pair, adder in self.adders.items():
            x, y = (self._number(m, pair, name, adder.fmt) for name in (pair.x, pair.y))
            self.part(adder, m, x, y, getattr(self.o, pair.sum), pair.sum)

    def _number(self, m: Module, pair: AdditionPlace, name: str, fmt: FloatFormat) -> Value:
        """An operand as a number."""
        source, value = self.state[name], getattr(self.i, name)
        if isinstance(source, NumberRange):
            return value
        m.submodules[f"{pair.sum}_of_{name}"] = decode = NumberDecode(source, fmt)
        m.d.comb += decode.code.eq(value)
        return decode.o


class PairPart(DatapathStep):
    """A part of a level's additions, which `FloatAdder` has. after: the shape of what it makes of each."""

    def __init__(
        self,
        name: str,
        before: StructLayout,
        adders: Mapping[AdditionPlace, FloatAdder],
        part: Callable[[FloatAdder, Module, Any, Any], None],
        after: Callable[[FloatAdder], StructLayout],
    ):
        self.adders, self.part, self.purpose = adders, part, driven(part)
        sums = {pair.sum: after(adder) for pair, adder in adders.items()}
        super().__init__(name, before, StructLayout({**before.members, **sums}), set(sums))

    def compute(self, m: Module) -> None:
        for pair, adder in self.adders.items():
            self.part(adder, m, getattr(self.i, pair.sum), getattr(self.o, pair.sum))


class Each(DatapathStep):
    """A step for each of some fields, side by side. field: of what it gives, which alone goes on; or all of it."""

    def __init__(self, name: str, before: StructLayout, parts: Mapping[str, DatapathStep], field: str = ""):
        self.parts, self.field = parts, field
        after = {key: part.gives[field].shape if field else part.gives for key, part in parts.items()}
        super().__init__(name, before, StructLayout({**before.members, **after}), set(parts))

    @property
    def purpose(self) -> str:
        return f"Of {', '.join(self.parts)}: {purpose_of(next(iter(self.parts.values())))}"

    def compute(self, m: Module) -> None:
        for field, part in self.parts.items():
            m.submodules[field] = part
            m.d.comb += connect(part.name, flat(part.i), flat(getattr(self.i, field)))
            to = getattr(self.o, field)
            if self.field:
                m.d.comb += to.eq(getattr(part.o, self.field))
            else:
                m.d.comb += connect(part.name, flat(to), flat(part.o))


def _rest(state: State, pairs: Mapping[AdditionPlace, FloatAdder]) -> State:
    """The numbers that no addition of a level takes."""
    taken = set(chain.from_iterable((pair.x, pair.y) for pair in pairs))
    return {name: source for name, source in state.items() if name not in taken}


def range_of(source: FloatFormat | NumberRange, to: FloatFormat) -> NumberRange:
    """The range of a code's numbers, or of numbers."""
    return source if isinstance(source, NumberRange) else NumberRange.of_code(source, to)


def additions(
    name: str, state: State, pairs: Sequence[AdditionPlace], rule: RoundedSum, cuts: Sequence[str]
) -> tuple[list[DatapathStep], State]:
    """The steps of one level, five and as many more as cuts ask for, and what stands after it."""
    fmt = rule.format
    adders = {
        pair: FloatAdder(
            fmt, rule.rounding, range_of(state[pair.x], fmt), range_of(state[pair.y], fmt), rule.flushes, rule.overflow
        )
        for pair in pairs
    }
    targets = {pair.sum: adder.target for pair, adder in adders.items()}
    steps = _aligned(name, state, adders, cuts)
    if f"{name}.sum.1" in cuts:
        steps.append(PairPart(f"{name}.sum.1", steps[-1].gives, adders, FloatAdder.sum_low, FloatAdder.half_summed))
    total = FloatAdder.sum_high if f"{name}.sum.1" in cuts else FloatAdder.sum
    steps.append(PairPart(f"{name}.sum", steps[-1].gives, adders, total, lambda adder: adder.target.before()))
    steps.append(
        Each(
            f"{name}.magnitude", steps[-1].gives, {sum_name: Magnitude(target) for sum_name, target in targets.items()}
        )
    )
    parts = {sum_name: normalizing(target, cuts, f"{name}.normalize") for sum_name, target in targets.items()}
    for part in next(iter(parts.values())):
        steps.append(Each(part, steps[-1].gives, {sum_name: of[part] for sum_name, of in parts.items()}))
    steps.append(Each(name, steps[-1].gives, {sum_name: Round(target) for sum_name, target in targets.items()}, "code"))
    return steps, _rest(state, adders) | {pair.sum: fmt for pair in pairs}


def _aligned(
    name: str, state: State, adders: Mapping[AdditionPlace, FloatAdder], cuts: Sequence[str]
) -> list[DatapathStep]:
    """The alignment of one level: one step, or three where a cut is inside it."""
    if not {f"{name}.distance", f"{name}.align.1"} & set(cuts):
        return [AlignPairs(f"{name}.align", state, adders)]
    distance = AlignPairs(f"{name}.distance", state, adders, FloatAdder.distance, FloatAdder.distant)
    begin = PairPart(f"{name}.align.1", distance.gives, adders, FloatAdder.begin, FloatAdder.half_aligned)
    return [distance, begin, PairPart(f"{name}.align", begin.gives, adders, FloatAdder.end, FloatAdder.aligned)]


class RoundResult(DatapathStep):
    """The group's result: the sum in the result's format, by the result's rules."""

    def __init__(self, n: RoundedRanges):
        self.n = n
        o = result_layout(n.result)
        super().__init__("round", state_layout({"sum": n.fmt}), o, o.members)

    def compute(self, m: Module) -> None:
        n, rule = self.n, self.n.unit.result
        m.submodules.number = number = NumberDecode(n.fmt, n.result)
        m.submodules.rounded = rounded = RoundedNumber(
            n.result, number.range, rule.rounding, rule.overflow,
            own=n.fmt == n.result, nan=n.nan, tiny=rule.tiny, flush=rule.flushes,
        )  # fmt: skip
        m.d.comb += [number.code.eq(self.i.sum), *assign(rounded.i, number.o), *assign(self.o, rounded.o)]


def rounded_datapath(
    unit: Specified, cuts: Sequence[str], levels: Iterator[Sequence[AdditionPlace]], apart: bool, absent: int = 0
) -> Datapath:
    """A group's sum by levels of additions, the last of which makes `sum`: from operands to `result_layout`."""
    n = RoundedRanges(unit, apart)
    carried = StructLayout({"code": unsigned(n.result.bits)})
    path: list[DatapathStep] = [RoundedDecode(n, carried, absent), RoundedMultiply(n)]
    state: State = {**n.products, **n.chains, "sum": n.fmt}
    for index, pairs in enumerate(levels):
        steps, state = additions(f"add.{index}", state, pairs, n.rule, cuts)
        path += steps
    return Datapath([*path, RoundResult(n)], cuts, carried, StructLayout(joining(n)))


def chain_datapath(unit: Specified, cuts: Sequence[str], apart: bool = False) -> Datapath:
    """A group's sum: a level for each lane, from the addend or +0."""
    levels = ([AdditionPlace("sum", "sum", f"product{lane}")] for lane in range(parts_of_group(unit)))
    return rounded_datapath(unit, cuts, levels, apart)


def tree_datapath(unit: Specified, cuts: Sequence[str], apart: bool = False) -> Datapath:
    """A group's sum: a level for each of the tree's, and one for the addend."""
    return rounded_datapath(unit, cuts, _tree_levels(parts_of_group(unit), chains_of(unit)), apart, _absent(unit))


def _tree_levels(lanes: int, chains: int) -> Iterator[list[AdditionPlace]]:
    """The additions of each level; an odd one goes up a level as it is. Before them those of chains, side by side."""
    operands, level = [f"product{lane}" for lane in range(lanes)], 0
    if chains:
        for first in range(0, lanes, chains):
            yield [AdditionPlace(f"chain{i}", f"chain{i}", f"product{first + i}") for i in range(chains)]
        operands = [f"chain{index}" for index in range(chains)]
    while len(operands) > 1:
        pairs = [
            AdditionPlace(f"sum{level}_{index // 2}", *operands[index : index + 2])
            for index in range(0, len(operands) - 1, 2)
        ]
        yield pairs
        operands = [pair.sum for pair in pairs] + operands[2 * len(pairs) :]
        level += 1
    yield [AdditionPlace("sum", operands[0], "sum")]


def _absent(unit: Specified) -> int:
    """The code of a zero that changes no sum, where the first group has no addend: -0, or +0 when rounding down."""
    rule, starts = unit.sum, unit.promotion is None and unit.instruction.start == "addend"
    if not isinstance(rule, PairwiseSum) or unit.operands.addend is not None or not starts:
        return 0
    return rule.format.sign_bit if rule.format.signed_zero and rule.rounding != "rd" else 0
