"""Which stage differs first: one case through the RTL's own steps, beside the model's.

The steps run without registers in Amaranth's simulator, fed with the partial sums that the model says. Where every
stage agrees, the fault is in the control: registers, contexts, handshake.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, assert_never

from amaranth.hdl import Value
from amaranth.lib.wiring import PureInterface
from amaranth.sim import Simulator

from hwsim.cases.case import Case, beats, dot, modal_dot, multiplied
from hwsim.formats import Class, Fields
from hwsim.model.clock import Beat
from hwsim.model.definition import Definition, selected
from hwsim.model.methods import ExactSoFar
from hwsim.model.record import Explanation, Group
from hwsim.model.terms import Term, lost_part
from hwsim.rtl import datapath, promotion
from hwsim.rtl.accumulate import accumulation
from hwsim.rtl.exact import ExactRanges
from hwsim.rtl.numbers import FactorShape, ProductRanges, as_float
from hwsim.rtl.selector import FactorSelect
from hwsim.spec import (
    AlignedSum,
    AnyUnit,
    ExactSum,
    LateInWindow,
    ModalUnit,
    RoundedSum,
    SparseUnit,
    Specified,
    WindowSum,
    modes_of,
)
from hwsim.spec.implementation import one_plain_window
from hwsim.spec.keys import Number


@dataclass(frozen=True)
class Difference:
    """The first stage that differs. where: beat, and lane or field. expected, got: integers as the model names them."""

    beat: int
    stage: str
    where: str
    expected: object
    got: object

    def __str__(self) -> str:
        return f"{self.stage}, {self.where}: expected {self.expected}, got {self.got}"


Checkpoint = tuple[str, str, object, object]
Inputs = dict[str, Any]
Values = dict[str, dict[str, Any]]


def first_difference(unit: AnyUnit, case: Case) -> Difference | None:
    """The first stage at which the RTL's arithmetic leaves the model's; None where it never does."""
    if isinstance(unit, SparseUnit):
        return _selects(unit, case) or first_difference(unit.dense, multiplied(unit, case))
    modes = tuple(map(Definition, modes_of(unit)))
    explained = modal_dot(unit, modes, case) if isinstance(unit, ModalUnit) else dot(modes[0], case)
    brought = list(beats(unit, case))
    chain, inputs = datapath(unit, ()), list(_inputs(unit, brought, explained))
    if (ports := _other_ports(chain, inputs)) is not None:
        return ports
    values = _run(chain, inputs)
    added = dict(_added(unit, brought, explained))
    n = ProductRanges(unit)
    for index, group in enumerate(explained.groups):
        for stage, where, expected, got in _group_checkpoints(n, values[index], group, _code(explained, index)):
            if expected != got:
                place = f"beat {index}, {where}" if where else f"beat {index}"
                return Difference(index, stage, place, expected, got)
        if index in added and added[index].expected != added[index].got:
            addition = added[index]
            return Difference(index, addition.stage, f"beat {index}", hex(addition.expected), hex(addition.got))
    return None


def _selects(unit: SparseUnit, case: Case) -> Difference | None:
    """The first lane that gets another factor of b in the RTL."""
    chain = FactorSelect(unit)
    brought = list(beats(unit, case))
    for index, (beat, got) in enumerate(zip(brought, _selected(chain, brought), strict=True)):
        for lane, (code, other) in enumerate(zip(selected(unit.sparsity, beat.b, beat.metadata), got, strict=True)):
            if code != other:
                return Difference(index, "select", f"beat {index}, lane {lane}", hex(code), hex(other))
    return None


def _selected(chain: FactorSelect, brought: Sequence[Beat]) -> list[list[int]]:
    """The factors of b that the RTL selects of each beat."""
    codes: list[list[int]] = []

    async def bench(ctx: Any) -> None:
        for beat in brought:
            for signals, values in ((chain.i.b, beat.b), (chain.i.metadata, beat.metadata)):
                for signal, value in zip(signals, values, strict=True):
                    ctx.set(signal, value)
            await ctx.delay(1e-9)
            codes.append(_read(ctx, chain.o.b))

    _simulated(chain, bench)
    return codes


def _simulated(chain: Any, bench: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        simulator = Simulator(chain)
        simulator.add_testbench(bench)
        simulator.run()


def _code(explained: Explanation, index: int) -> int:
    """The result of a group's datapath: the group's code, or with a late addend in a window that of both."""
    late = isinstance(explained.unit.late, LateInWindow)
    return explained.additions[index].code if late else explained.groups[index].code


def _inputs(unit: Specified, brought: Sequence[Beat], explained: Explanation) -> Iterator[Inputs]:
    """Yield the datapath's inputs of every beat, with the partial sums of the model's groups."""
    restart = None if isinstance(unit.late, LateInWindow) else unit.restart
    enters = ProductRanges(unit).group_addend is not None
    for index, beat in enumerate(brought):
        chain = index > 0 and (restart is None or index % restart != 0)
        inputs: Inputs = {"a": beat.a, "b": beat.b, "chain": int(chain)}
        match explained.groups[index].start:
            case ExactSoFar(term) if chain:
                inputs |= _so_far(unit, term)
            case _ if chain:
                inputs["carried"] = {"code": _code(explained, index - 1) >> unit.result.format.padding}
            case _:
                inputs |= _nothing(unit)
        if unit.scale is not None:
            inputs |= {"scale_a": beat.scale_a, "scale_b": beat.scale_b}
        if enters:
            inputs["c"] = beat.c
        if isinstance(unit, ModalUnit):
            inputs["mode"] = beat.mode
        yield inputs


def _nothing(unit: Specified) -> Inputs:
    if isinstance(unit.sum, ExactSum) and unit.sum.rounded == "end":
        return _so_far(unit, Term(0, 0, 0, 0, Class.ZERO))
    return {"carried": {"code": 0}}


def _so_far(unit: Specified, term: Term) -> Inputs:
    places = term.exp - term.fraction_bits - ExactRanges(unit).unit_exp
    total = term.sig << places if places >= 0 else term.sig >> -places
    infinite = term.cls is Class.INFINITY
    special = {"nan": term.cls is Class.NAN, "positive": infinite and not term.sign, "negative": infinite and term.sign}
    carried = {"total": -total if term.sign else total, "zero_sign": term.sign}
    return {"carried": carried, "carried.special": {name: int(value) for name, value in special.items()}}


def _other_ports(chain: Any, every: Sequence[Inputs]) -> Difference | None:
    """The first input whose number of codes in the RTL is not that of a beat."""
    for index, inputs in enumerate(every):
        for field, value in inputs.items():
            if isinstance(value, Sequence) and len(value) != len(signal := _signal(chain, field)):
                return Difference(index, "ports", f"beat {index}, codes of {field}", len(value), len(signal))
    return None


def _signal(chain: Any, field: str) -> Any:
    signal = chain.i
    for name in field.split("."):
        signal = getattr(signal, name)
    return signal


def _run(chain: Any, every: Sequence[Inputs]) -> list[Values]:
    """The outputs of every step of a chain for each of its inputs: by step and field, integers."""
    values: list[Values] = []

    async def bench(ctx: Any) -> None:
        for inputs in every:
            for field, value in inputs.items():
                signal = _signal(chain, field)
                if isinstance(value, Sequence):
                    for element, code in zip(signal, value, strict=True):
                        ctx.set(element, code)
                elif isinstance(value, Mapping):
                    for inner, code in value.items():
                        ctx.set(getattr(signal, inner), code)
                else:
                    ctx.set(signal, value)
            await ctx.delay(1e-9)
            values.append(
                {step.name: {field: _read(ctx, getattr(step.o, field)) for field in step.makes} for step in chain.steps}
            )

    _simulated(chain, bench)
    return values


def _read(ctx: Any, signal: Any) -> Any:
    """A signal's value: a list for an array, a dictionary for a bundle."""
    if isinstance(signal, Sequence):
        return [_read(ctx, element) for element in signal]
    if isinstance(signal, PureInterface):
        return {name: _read(ctx, getattr(signal, name)) for name in signal.signature.members}
    return int(ctx.get(Value.cast(signal)))


class _Added(NamedTuple):
    """One addition after a group, in the model and in the RTL. stage: the RTL's."""

    stage: str
    expected: int
    got: int


def _added(unit: Specified, brought: Sequence[Beat], explained: Explanation) -> Iterator[tuple[int, _Added]]:
    """Yield the promotions, or the late additions, by the index of the group that each follows."""
    what = accumulation(unit)
    if what is None:
        return
    chain, fmt = promotion(unit, ()), as_float(unit.output)
    indices, every = list[int](), list[Inputs]()
    for index in range(len(brought)):
        first = index - index % what.groups
        promoted, late = explained.promotions.get(index), explained.additions.get(index)
        if promoted is not None:
            inputs: Inputs = {"register": promoted.register >> fmt.padding, "partial": promoted.partial}
        elif late is not None:
            inputs = {"register": late.addend >> late.addend_format.padding, "partial": late.partial}
            if what.start is not None:
                inputs["starts"] = int(first == 0)
        else:
            continue
        inputs["partial"] >>= unit.result.format.padding
        if what.scales:
            inputs |= {"scale_a": brought[first].scale_a[0], "scale_b": brought[first].scale_b[0]}
        indices.append(index)
        every.append(inputs)
    for index, values in zip(indices, _run(chain, every), strict=True):
        last = values[chain.steps[-1].name]
        got = unit.nan if last["nan"] else int(last["code"]) << fmt.padding
        after = explained.promotions.get(index) or explained.additions[index]
        yield index, _Added(what.name, after.code, got)


def _group_checkpoints(n: ProductRanges, values: Values, group: Group, code: int) -> Iterator[Checkpoint]:
    unit = group.unit
    formats = unit.operands.multiplied
    for side, factors, fmt, shape in zip("ab", (group.a, group.b), formats, n.multiplied, strict=True):
        yield from _decoded(side, factors, values["decode"][side], fmt, shape)
    match unit.sum:
        case AlignedSum():
            if group.special is None and one_plain_window(unit):
                yield from _terms(n, group, values)
        case RoundedSum() as rule:
            yield from _additions(rule, values, group)
        case WindowSum() | ExactSum():
            pass
        case _:
            assert_never(unit.sum)
    result, rounded = unit.result.format, values["round"]
    nan = Definition(unit).nan
    yield "round", "", hex(code), hex(nan if rounded["nan"] else rounded["code"] << result.padding)


def _decoded(
    side: str, factors: Sequence[Fields], given: Sequence[dict[str, int]], fmt: Number, shape: FactorShape
) -> Iterator[Checkpoint]:
    bias, below = shape.field.bias, shape.fraction_bits - fmt.fraction_bits
    for lane, (factor, got) in enumerate(zip(factors, given, strict=True)):
        special = {Class.NAN: (1, 0), Class.INFINITY: (0, 1)}.get(factor.cls, (0, 0))
        yield "decode", f"{side}, lane {lane}, NaN and infinity", special, (got["nan"], got["inf"])
        if special == (0, 0):
            expected = (factor.sign, factor.exp if factor.sig else None, factor.sig << below)
            actual = (got["sign"], got["bexp"] - bias if got["sig"] else None, got["sig"])
            yield "decode", f"{side}, lane {lane}, sign exp sig", expected, actual


def _additions(rule: RoundedSum, values: Values, group: Group) -> Iterator[Checkpoint]:
    """Yield the code of every rounded addition, in the order of the levels, and of the lanes in a level."""
    rounded = (step for step in group.steps if len(step.terms) > 1 or step.name == "sum")
    for level, sums in values.items():
        if level.startswith("add.") and level.count(".") == 1:
            for got in sums.values():
                step = next(rounded)
                yield level, f"addition {step.name}", hex(step.code), hex(got << rule.format.padding)


def _terms(n: ProductRanges, group: Group, values: dict[str, Any]) -> Iterator[Checkpoint]:
    bias = n.product_bias
    for lane, (term, got) in enumerate(zip(group.products, values["multiply"]["terms"], strict=True)):
        below = n.product_fraction_bits - term.fraction_bits
        expected = (term.sign, term.exp if term.sig else None, term.sig << below)
        actual = (got["sign"], got["exp"] - bias if got["exp"] else None, got["sig"])
        yield "multiply", f"lane {lane}, sign exp sig", expected, actual
    # A subnormal addend that stands alone may pass through the RTL with another exponent and significand.
    alone = group.addend is not None and group.addend.sig >> group.addend.fraction_bits == 0
    alone = alone and not any(term.sig for term in group.products)
    if group.max_exp is not None and not alone:
        yield "maximum", "max_exp", group.max_exp, values["maximum"]["max_exp"] - bias
        for lane, expected_term in enumerate(group.aligned):
            got = values["align"]["aligned"][lane]
            where = "addend" if lane == len(group.products) else f"lane {lane}"
            yield "align", where, expected_term, got["ones"] + got["carry"]
            if "lost" in values["align"]:
                whole = group.terms[lane]
                lost = lost_part(whole, group.max_exp, group.fraction_bits) != 0
                yield "align", f"{where}, whether a 1 is lost", int(lost), values["align"]["lost"][lane]
        yield "sum", "total", group.total, values["sum"]["total"]
