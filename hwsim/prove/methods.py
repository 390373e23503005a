"""The claims of each method of summing, of modes, and of the parameters of the RTL's objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hwsim.formats import Class, FixedFormat, FloatFormat, Format
from hwsim.model.definition import Definition, GroupOperands
from hwsim.model.late import promoter_of
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.terms import align
from hwsim.prove.accumulation import AccumulationClaims, PromotionClaims
from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.circuits import Circuit, datapath_circuits, fixed
from hwsim.prove.claims import AnyClaim, Claim, DatapathClaims, StepCircuits, StructuralClaim, each, exactly, holds
from hwsim.prove.exact import ExactClaims
from hwsim.prove.factors import FactorClaims
from hwsim.prove.latewindow import LateWindowClaims
from hwsim.prove.rounded import RoundedSumClaims
from hwsim.prove.subgroups import SubgroupClaims
from hwsim.prove.symbolic import Integer, as_integer, bits_for, paths
from hwsim.prove.terms import Decided, Term, constant, constants_of, value, width
from hwsim.prove.windows import WindowClaims
from hwsim.rtl.accumulate import Accumulation
from hwsim.rtl.addition import FloatAdder
from hwsim.rtl.exact import ExactRanges
from hwsim.rtl.numbers import ProductRanges
from hwsim.rtl.rounded import RoundedRanges
from hwsim.rtl.terms import WindowRanges
from hwsim.spec import (
    AlignedSum,
    EvenOddSum,
    ExactSum,
    LateAdd,
    LateInWindow,
    ModalUnit,
    PairwiseSum,
    RoundedSum,
    SequentialSum,
    Specified,
    Sum,
    Support,
    Unit,
    WindowSum,
)
from hwsim.spec.implementation import one_plain_window
from hwsim.spec.ranges import span_of
from hwsim.spec.sums import WindowSubgroup

MODE = "i__mode"


class ModalClaims(DatapathClaims):
    """All claims about the datapath of a unit of several modes: of one plain window, or of rounded additions."""

    def __init__(self, unit: ModalUnit, cuts: Sequence[str], steps: Mapping[str, Circuit]):
        super().__init__(unit.units[0], cuts)
        self.n, self.steps = ProductRanges(unit), steps
        self.window = WindowRanges(unit) if isinstance(unit.sum, AlignedSum) else None
        self.modes: dict[str, DatapathClaims] = {}
        for number, (name, one) in enumerate(zip(unit.modes, unit.units, strict=True)):
            mine = {step: _in_mode(circuit, number) for step, circuit in steps.items()}
            if self.window is None:
                self.modes[name] = RoundedSumClaims(one, cuts, mine, unit)
            else:
                self.modes[name] = AlignedClaims(one, cuts, StepCircuits.joined(mine), self.window)

    @property
    def chain(self) -> Sequence[Circuit]:
        """The first mode's."""
        return next(iter(self.modes.values())).chain

    @property
    def neutral(self) -> Mapping[str, Term]:
        """The first mode's."""
        return next(iter(self.modes.values())).neutral

    def claims(self) -> Iterator[AnyClaim]:
        """Those of the first mode; of every other, what depends on the mode; and what puts them together."""
        for at, (name, mode) in enumerate(self.modes.items()):
            for claim in mode.of_mode() if at else mode.claims():
                yield replace(claim, name=f"{name}: {claim.name}")
        yield StructuralClaim(
            "modes: one datapath", "no step but decoding looks at the mode, and only for factors and scales",
            f"{len(self.modes)} modes", self._one_datapath,
        )  # fmt: skip
        if self.window is not None:
            for zeros, sig in sorted(self._zeros_below.items()):
                yield self._aligned_alike(self.window, zeros, sig)

    def _one_datapath(self) -> bool:
        looking = [f"{name}.{MODE}" for name, circuit in self.steps.items() if MODE in circuit.inputs]
        decode = self.steps["decode"]
        others = [
            term
            for name, term in decode.outputs.items()
            if not name.startswith(("o__a__", "o__b__", "o__scale_", "o__special__"))
        ]
        seen = {term.symbol() for term in constants_of(others)}
        return looking == [f"decode.{MODE}"] and f"decode.{MODE}" not in seen

    @property
    def _zeros_below(self) -> dict[int, int]:
        """How many zeros are below a product's significand, of every mode, and its largest where it has so many."""
        found: dict[int, int] = {}
        for mode in self.modes.values():
            a, b = mode.unit.operands.multiplied
            zeros = self.n.product_fraction_bits - a.fraction_bits - b.fraction_bits
            found[zeros] = max(found.get(zeros, 0), span_of(a).most * span_of(b).most)
        return found

    def _aligned_alike(self, n: WindowRanges, zeros: int, most: int) -> Claim:
        """That a product is aligned to the same with zeros below as without."""
        bits = {"sig": most.bit_length(), "sign": 1, "exp": bits_for(*n.max_exp), "top": bits_for(*n.max_exp)}
        show = {name: constant(f"modes.{name}", size) for name, size in bits.items()}
        sig, sign = (Integer.unsigned(show[name]) for name in ("sig", "sign"))
        exp, top = (Integer.signed(show[name]) for name in ("exp", "top"))
        known = (exactly(sig, 1, most), exactly(exp, *n.max_exp), exactly(top, *n.max_exp), holds(exp <= top))

        def alike() -> Term:
            negative = 1 if sign else 0
            short = ModelTerm(negative, exp, sig, n.product_fraction_bits - zeros, Class.NORMAL)
            long = short._replace(sig=sig << zeros, fraction_bits=n.product_fraction_bits)
            one, other = (align(term, top, n.fraction_bits, n.rule.term_lost) for term in (short, long))
            return holds(as_integer(one) == other)

        return Claim(
            f"modes: {zeros} zeros below", "a product is aligned to the same with zeros below its significand",
            "every product and max_exp", known, each(paths(alike, known)), tuple(show.values()),
        )  # fmt: skip


def _in_mode(circuit: Circuit, number: int) -> Circuit:
    """A step in one mode."""
    if MODE not in circuit.inputs:
        return circuit
    inputs = {name: term for name, term in circuit.inputs.items() if name != MODE}
    return replace(fixed(circuit, {MODE: value(number, width(circuit.inputs[MODE]))}), inputs=inputs)


Claims = Callable[[Unit, Sequence[str], Mapping[str, Circuit]], DatapathClaims]


def _windows(unit: Unit) -> Claims:
    if isinstance(unit.late, LateInWindow):
        claims: type[WindowClaims] = LateWindowClaims
    elif unit.subgroup is not None:
        claims = SubgroupClaims
    else:
        claims = AlignedClaims if one_plain_window(unit) else WindowClaims
    return lambda unit, cuts, steps: claims(unit, cuts, StepCircuits.joined(steps))


# Of a unit with such a sum, what makes its claims.
METHODS: Mapping[type[Sum], Callable[[Unit], Claims]] = {
    AlignedSum: _windows,
    EvenOddSum: _windows,
    ExactSum: lambda unit: ExactClaims,
    SequentialSum: lambda unit: RoundedSumClaims,
    PairwiseSum: lambda unit: RoundedSumClaims,
}


def provable(unit: Specified) -> Support:
    """What of a unit no claim covers, though its RTL may have it."""
    lacks = _lacks(unit) if isinstance(unit, Unit) else _modes_lack(unit)
    return Support(unit.name, "is in the RTL, but no proof covers it yet", tuple(lacks), ())


def plain_window(unit: Unit, where: str) -> Support:
    """What of a unit is more than a sum in one window of products of factors as they come, though it may be proved.

    where: what such units alone have, in words.
    """
    return Support(unit.name, where, tuple(_not_plain(unit)), ())


def method_claims(unit: Specified, cuts: Sequence[str], steps: Mapping[str, Circuit] | None = None) -> DatapathClaims:
    """The claims of a unit's method. Raises NotImplementedYet for what no claim covers.

    steps: the circuits of its datapath's steps, where they are at hand.
    """
    provable(unit).demand()
    steps = datapath_circuits(unit, cuts) if steps is None else steps
    if isinstance(unit, ModalUnit):
        return ModalClaims(unit, cuts, steps)
    return METHODS[type(unit.sum)](unit)(unit, cuts, steps)


def _lacks(unit: Unit) -> Iterator[str]:
    if type(unit.sum) not in METHODS:
        yield f"sum.method: {unit.sum.method}"
    if unit.subgroup is not None and isinstance(unit.late, LateInWindow):
        yield "sum.subgroup beside late.operation: window"
    if unit.subgroup is not None and unit.subgroup.lanes == 1:
        yield "sum.subgroup.lanes: 1"
    if isinstance(unit.subgroup, WindowSubgroup):
        yield "sum.subgroup.method: aligned"
    if unit.subgroup is not None and isinstance(unit.sum, ExactSum | RoundedSum):
        yield f"sum.subgroup of sum.method: {unit.sum.method}"


def _modes_lack(unit: ModalUnit) -> Iterator[str]:
    """Which units of several modes have no claims."""
    if isinstance(unit.sum, AlignedSum) and not one_plain_window(unit):
        yield "modes of another window than a plain one"
    elif not isinstance(unit.sum, (AlignedSum, RoundedSum)):
        yield f"modes of sum.method: {unit.sum.method}"
    if unit.sum.product_limit is not None:
        yield "modes with sum.product_limit"


def _window(unit: Unit) -> Iterator[str]:
    """What of a window is more than products and an addend, of which those that are zero count for nothing."""
    rule = unit.sum
    if isinstance(rule, AlignedSum):
        if rule.subgroup is not None:
            yield "sum.subgroup"
        if rule.cut is not None:
            yield "sum.cut"
        if rule.zero_terms == "count":
            yield "sum.zero_terms: count"
        if rule.zero == "ieee":
            yield "sum.zero: ieee"


def _not_plain(unit: Unit) -> Iterator[str]:
    rule, operands = unit.sum, unit.operands
    if not isinstance(rule, AlignedSum):
        yield f"sum.method: {rule.method}"
    yield from _window(unit)
    if rule.product_limit is not None:
        yield "sum.product_limit"
    if unit.scale is not None and unit.scale.at != "product":
        yield f"scale.at: {unit.scale.at}"
    for key, fmt in (("a", operands.a), ("b", operands.b)):
        if isinstance(fmt, FixedFormat):
            yield f"operands.{key}: {fmt.name}"
    if operands.convert is not None:
        yield "operands.convert"
    if unit.late is not None or unit.instruction.start == "zero":
        yield "an addend that is added late"
    if unit.promotion is not None and operands.addend not in (None, unit.promotion.format):
        yield "operands.addend other than promotion.format"


MANY_GROUPS = (
    40  # bits of how many groups an exact sum is shown for that never starts again, as `hwsim docs proof` says
)


@dataclass(frozen=True)
class Parameter:
    """A claim: what an object of the RTL says is what the specification says."""

    name: str
    rtl: object
    specified: object

    solver = "comparison"

    @property
    def is_equal(self) -> bool:
        """Whether it is so."""
        return self.rtl == self.specified

    @property
    def words(self) -> str:
        """What is claimed; where it is not so, both."""
        if self.is_equal:
            return "the RTL is made with what the specification says"
        return f"the RTL is made with {said(self.rtl)}, and the specification says {said(self.specified)}"

    @property
    def over(self) -> str:
        """What the specification says."""
        return said(self.specified)

    def decide(self, seconds: float) -> Decided:
        """Whether they are equal."""
        return Decided("proved" if self.is_equal else "refuted", 0.0, {})


def said(what: object) -> str:
    """A parameter in words: a format by its name."""
    if isinstance(what, tuple | list):
        return f"({', '.join(map(said, what))})"
    if isinstance(what, bool):
        return "yes" if what else "no"
    return "none" if what is None else str(getattr(what, "name", getattr(what, "method", what)))


def parameters(
    unit: Unit, datapath: DatapathClaims, after: PromotionClaims | AccumulationClaims | None
) -> Iterator[Parameter]:
    """All that the claims of a unit take from objects of its RTL. unit: of several modes, the first."""
    if isinstance(datapath, ModalClaims):
        modes = [mode for mode in datapath.modes.values() if isinstance(mode, FactorClaims)]
        yield from datapath_parameters(modes[0], [mode.unit for mode in modes])
    elif isinstance(datapath, FactorClaims):
        yield from datapath_parameters(datapath, [unit])
    yield from accumulation_parameters(unit, None if after is None else after.what)
    match after:
        case PromotionClaims():
            operation = None if unit.promotion is None else unit.promotion.operation
            yield Parameter("parameter: promotion.operation", "add", operation)
        case AccumulationClaims():
            yield from _adder(f"{after.what.name} added", after.adder, after.what)


def datapath_parameters(claims: FactorClaims[Any], modes: Sequence[Unit]) -> Iterator[Parameter]:
    """Of a datapath. modes: the unit's."""
    yield from ranges_parameters(claims.n, modes)
    if isinstance(claims, RoundedSumClaims):
        yield from _additions(claims)


def ranges_parameters(n: ProductRanges, modes: Sequence[Unit]) -> Iterator[Parameter]:
    """Of the formats and rules that a datapath is made with. modes: the unit's."""
    unit = modes[0]
    yield from _factors(n, modes)
    match n:
        case WindowRanges():
            yield from _window_parameters(n, unit)
        case ExactRanges():
            yield from _exact(n, unit)
        case RoundedRanges():
            yield from _rounded(n, unit)
        case _:
            raise TypeError(f"the parameters of {type(n).__name__} must be known here")


def _factors(n: ProductRanges, modes: Sequence[Unit]) -> Iterator[Parameter]:
    unit = modes[0]
    fractions = [
        max(mode.operands.multiplied[at].fraction_bits for mode in modes) for at in (0, 1)
    ]  # of the shape that holds every mode's numbers
    scaled = next((mode.scale for mode in modes if mode.scale is not None), None)
    formats: list[Format] = [] if scaled is None else [scaled.a.format, scaled.b.format]
    lanes = unit.instruction.lanes
    yield Parameter("parameter: lanes", n.lanes, lanes)
    for at, side in enumerate("ab"):
        yield Parameter(f"parameter: {side}.fraction_bits", n.multiplied[at].fraction_bits, fractions[at])
    yield Parameter("parameter: product.fraction_bits", n.product_fraction_bits, sum(fractions))
    yield Parameter("parameter: product_limit", n.limit, unit.sum.product_limit)
    yield Parameter("parameter: scale formats", n.scale_formats, formats)
    at_product = scaled is not None and scaled.at == "product"
    yield Parameter("parameter: scales of products", list(n.scales), formats if at_product else [])
    blocks = (0, 0)
    if scaled is not None:
        one = next(mode for mode in modes if mode.scale is not None)
        blocks = lanes // one.lanes_of_scale("a"), lanes // one.lanes_of_scale("b")
    yield Parameter("parameter: scales of a beat", n.scale_blocks, blocks)


def _group_addend(unit: Unit) -> Format | None:
    """The format of c where it is a term of a group's sum."""
    late = unit.promotion is not None or isinstance(unit.late, LateAdd)
    return None if late else unit.operands.addend


def _window_parameters(n: WindowRanges, unit: Unit) -> Iterator[Parameter]:
    rule, addend = unit.sum, _group_addend(unit)
    assert isinstance(rule, WindowSum)
    inner, late = isinstance(rule, AlignedSum), unit.late if isinstance(unit.late, LateInWindow) else None
    own = [*([addend] if addend is not None and late is None else []), unit.result.format] if inner else []
    beyond = [] if late is None or addend is None else [addend, unit.result.format]
    yield Parameter("parameter: sum", n.rule, rule)
    yield Parameter("parameter: result.format", n.result, unit.result.format)
    yield Parameter("parameter: sum.fraction_bits", n.fraction_bits, rule.fraction_bits)
    yield Parameter("parameter: sum.sticky", n.sticky, rule.sticky)
    yield Parameter("parameter: sum.zero_terms", n.counting, rule.zero_terms == "count")
    yield Parameter("parameter: sum.zero", n.zero_sign, rule.zero == "ieee")
    floor = None if rule.max_exp_floor is None else rule.max_exp_floor + n.bias
    floats = [fmt for fmt in own if isinstance(fmt, FloatFormat)]
    if floor is not None and floor <= min(0, 0, *(n.bias + fmt.emin - 1 for fmt in floats)):
        floor = None  # no term is below it
    yield Parameter("parameter: sum.max_exp_floor", n.floor, floor)
    yield Parameter("parameter: sum.subgroup", n.subgroup, rule.subgroup if isinstance(rule, AlignedSum) else None)
    yield Parameter("parameter: halves", n.halves, rule if isinstance(rule, EvenOddSum) else None)
    yield Parameter("parameter: windows", len(n.names), 2 if isinstance(rule, EvenOddSum) else 1)
    yield Parameter("parameter: late", n.late, late)
    yield Parameter("parameter: addend", n.addend, addend)
    yield Parameter("parameter: the window has an addend", n.sums_addend, inner)
    yield Parameter("parameter: addends of the window", n.addends, own)
    yield Parameter("parameter: late addends", n.late_formats, beyond)
    if not n.mode_bits:
        terms = model_terms(unit)
        yield Parameter("parameter: terms", n.terms, len(terms))
        yield Parameter("parameter: term.fraction_bits", n.term_fraction_bits, terms[0])


def model_terms(unit: Unit) -> list[int]:
    """The fraction bits of each term that the model sums in a group, of zeros under scales of the least code."""
    model, lanes = Definition(unit, keep=False), unit.instruction.lanes
    scales = ((0,) * lanes, (0,) * lanes) if unit.scale is not None else ((), ())
    _, products, subgroups = model.multiply(GroupOperands((0,) * lanes, (0,) * lanes, *scales))
    return [term.fraction_bits for term in ([part.term for part in subgroups] or products)]


def _exact(n: ExactRanges, unit: Unit) -> Iterator[Parameter]:
    rule, instruction = unit.sum, unit.instruction
    assert isinstance(rule, ExactSum)
    addend, carries = _group_addend(unit), rule.rounded == "end"
    yield Parameter("parameter: sum", n.rule, rule)
    yield Parameter("parameter: result.format", n.result, unit.result.format)
    yield Parameter("parameter: sum.rounded at the end", n.carries, carries)
    yield Parameter("parameter: addend", n.addend, addend)
    own = [] if addend is None else [addend, *([] if carries else [unit.result.format])]
    yield Parameter("parameter: starts", n.addends, own)
    groups = _groups(unit) or (None if instruction.chain else instruction.groups)
    bits = 0 if not carries else MANY_GROUPS if groups is None else groups.bit_length()
    yield Parameter("parameter: bits of groups", n.groups_bits, bits)


def _rounded(n: RoundedRanges, unit: Unit) -> Iterator[Parameter]:
    rule = unit.sum
    assert isinstance(rule, RoundedSum)
    yield Parameter("parameter: sum", n.rule, rule)
    yield Parameter("parameter: sum.format", n.fmt, rule.format)
    yield Parameter("parameter: result.format", n.result, unit.result.format)
    yield Parameter("parameter: addend", n.addend, _group_addend(unit))
    yield Parameter("parameter: products are rounded", n.product == n.fmt, rule.product == "rounded")


def _additions(claims: RoundedSumClaims) -> Iterator[Parameter]:
    """Of every addition, in the order of levels; those of equal operands once."""
    found: dict[str, FloatAdder] = {}
    for level in claims._additions:
        for addition in level:
            found.setdefault(f"{addition.kind} added", addition.adder)
            if _of_adder(addition.adder) != _of_adder(found[f"{addition.kind} added"]):
                found[f"{addition.place.sum}"] = addition.adder
    for name, adder in found.items():
        yield from _adder(name, adder, claims.rule)


def _of_adder(adder: FloatAdder) -> tuple[object, ...]:
    return adder.fmt, adder.rounding, adder.target.flush, adder.target.overflow


def _adder(name: str, adder: FloatAdder, rule: RoundedSum | Accumulation) -> Iterator[Parameter]:
    overflow = rule.overflow if isinstance(rule, RoundedSum) else "ieee"
    specified_by = rule.format, rule.rounding, rule.flushes, overflow
    names = "format", "rounding", "flush", "overflow"
    for what, rtl, specified in zip(names, _of_adder(adder), specified_by, strict=True):
        yield Parameter(f"parameter: {name}, {what}", rtl, specified)


def _groups(unit: Unit) -> int | None:
    """Groups after which a partial sum starts again, as the model counts them; None where it never does."""
    promoter = promoter_of(unit)
    if promoter is not None:
        return promoter.groups
    return unit.instruction.groups if unit.instruction.start == "zero" else None


def accumulation_parameters(unit: Unit, what: Accumulation | None) -> Iterator[Parameter]:
    """Of what is added after a group's sum."""
    rule = unit.promotion if unit.promotion is not None else unit.late if isinstance(unit.late, LateAdd) else None
    yield Parameter("parameter: an addition follows groups", what is not None, rule is not None)
    if what is None or rule is None:
        return
    promoted = unit.promotion is not None
    name, addend, scale = "promotion" if promoted else "late", unit.operands.addend, unit.scale
    yield Parameter(f"parameter: {name}.format", what.format, rule.format)
    yield Parameter(f"parameter: {name}.rounding", what.rounding, rule.rounding)
    yield Parameter(f"parameter: {name}.flush", what.flush, isinstance(rule, LateAdd) and rule.flush)
    yield Parameter(f"parameter: {name}.tininess", what.flushes, rule.flushes if isinstance(rule, LateAdd) else None)
    yield Parameter(f"parameter: {name}, groups", what.groups, _groups(unit))
    yield Parameter(f"parameter: {name}, partial sum", what.partial, unit.result.format)
    own = promoted or addend is None or addend == rule.format
    yield Parameter(f"parameter: {name}, start", what.start, None if own else addend)
    here = promoted and scale is not None and scale.at == "promotion"
    scales = [scale.a.format, scale.b.format] if here and scale is not None else []
    yield Parameter(f"parameter: {name}, scales", list(what.scales.values()), scales)
