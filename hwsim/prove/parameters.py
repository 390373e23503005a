"""What proofs take from the objects that the RTL is made of, beside what the specification and the model say it is.

A claim about a step asks objects of `hwsim.rtl` for formats, rounding, intervals, and what else decides a result. Each
of these is claimed here to be the unit's own: an RTL made of others is else proved to be right in its own way. Widths,
biases and bounds are not: claims about steps show that they fit, whatever they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hwsim.formats import FloatFormat, Format
from hwsim.model.definition import Definition, GroupOperands
from hwsim.model.promotion import promoter_of
from hwsim.prove.accumulation import AccumulationClaims
from hwsim.prove.datapathclaims import DatapathClaims
from hwsim.prove.factors import FactorClaims
from hwsim.prove.logic import Decided
from hwsim.prove.modal import ModalClaims
from hwsim.prove.promotion import PromotionClaims
from hwsim.prove.roundedsums import RoundedSumClaims
from hwsim.rtl.accumulate import Accumulation
from hwsim.rtl.addition import FloatAdder
from hwsim.rtl.exact import ExactRanges
from hwsim.rtl.generalranges import GeneralRanges
from hwsim.rtl.numbers import ProductRanges, WindowRanges
from hwsim.rtl.rounded import RoundedRanges
from hwsim.spec import (
    AlignedSum,
    EvenOddSum,
    ExactSum,
    LateAdd,
    LateInWindow,
    RoundedSum,
    Unit,
    WindowSum,
)

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
            yield from _plain_window(n, unit)
        case GeneralRanges():
            yield from _windows(n, unit)
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


def _of_sum(n: WindowRanges | GeneralRanges, unit: Unit, bias: int, least: int) -> Iterator[Parameter]:
    """What windows of both kinds have. least: the smallest exponent of a term, as the RTL counts."""
    rule = unit.sum
    assert isinstance(rule, WindowSum)
    yield Parameter("parameter: sum", n.rule, rule)
    yield Parameter("parameter: result.format", n.result, unit.result.format)
    yield Parameter("parameter: sum.sticky", n.sticky, rule.sticky)
    floor = None if rule.max_exp_floor is None else rule.max_exp_floor + bias
    if isinstance(n, WindowRanges) and floor is not None and floor <= least:
        floor = None  # no term is below it
    yield Parameter("parameter: sum.max_exp_floor", n.floor, floor)


def _plain_window(n: WindowRanges, unit: Unit) -> Iterator[Parameter]:
    addend = None if unit.late is not None else _group_addend(unit)
    floats = [fmt for fmt in (addend, unit.result.format) if isinstance(fmt, FloatFormat)]
    yield from _of_sum(n, unit, n.product_bias, min(0, *(n.product_bias + fmt.emin - 1 for fmt in floats)))
    assert isinstance(unit.sum, AlignedSum)
    yield Parameter("parameter: sum.fraction_bits", n.fraction_bits, unit.sum.fraction_bits)
    yield Parameter("parameter: addend of the window", n.window_addend, addend)


def _windows(n: GeneralRanges, unit: Unit) -> Iterator[Parameter]:
    yield from _of_sum(n, unit, n.bias, 0)
    rule, addend = unit.sum, _group_addend(unit)
    inner, late = isinstance(rule, AlignedSum), unit.late if isinstance(unit.late, LateInWindow) else None
    yield Parameter("parameter: sum.subgroup", n.subgroup, rule.subgroup if isinstance(rule, AlignedSum) else None)
    yield Parameter("parameter: halves", n.halves, rule if isinstance(rule, EvenOddSum) else None)
    yield Parameter("parameter: windows", n.windows, 2 if isinstance(rule, EvenOddSum) else 1)
    yield Parameter("parameter: late", n.late, late)
    yield Parameter("parameter: addend", n.addend, addend)
    yield Parameter("parameter: the window has an addend", n.inner, inner)
    own = [*([addend] if addend is not None and late is None else []), unit.result.format] if inner else []
    yield Parameter("parameter: addends of the window", n.inner_formats, own)
    beyond = [] if late is None or addend is None else [addend, unit.result.format]
    yield Parameter("parameter: late addends", n.late_formats, beyond)
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
