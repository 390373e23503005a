"""The claims of each method of summing, of modes, and of the parameters of the RTL's objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from hwsim.formats import Class
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.terms import align
from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.circuits import Circuit, datapath_circuits, fixed
from hwsim.prove.claims import AnyClaim, Claim, DatapathClaims, StepCircuits, StructuralClaim, each, exactly, holds
from hwsim.prove.exact import ExactClaims
from hwsim.prove.latewindow import LateWindowClaims
from hwsim.prove.lowaddend import LowAddendClaims
from hwsim.prove.rounded import RoundedSumClaims
from hwsim.prove.subgroups import SubgroupClaims
from hwsim.prove.symbolic import Integer, as_integer, bits_for, paths
from hwsim.prove.terms import Term, constant, constants_of, value, width
from hwsim.prove.windows import WindowClaims
from hwsim.rtl.numbers import ProductRanges
from hwsim.rtl.terms import WindowRanges
from hwsim.spec import (
    AlignedSum,
    EvenOddSum,
    ExactSum,
    LateInWindow,
    ModalUnit,
    PairwiseSum,
    RoundedSum,
    SequentialSum,
    Specified,
    Sum,
    Support,
    Unit,
)
from hwsim.spec.implementation import one_plain_window
from hwsim.spec.ranges import span_of
from hwsim.spec.sums import ExactSubgroup, WindowSubgroup

MODE = "i__mode"


class ModalClaims(DatapathClaims):
    """All claims about the datapath of a unit of several modes: of one plain window, or of rounded additions."""

    def __init__(self, unit: ModalUnit, cuts: Sequence[str], steps: Mapping[str, Circuit]):
        self.n, self.steps = ProductRanges(unit), steps
        self.window = WindowRanges(unit) if isinstance(unit.sum, AlignedSum) else None
        self.modes: dict[str, DatapathClaims] = {}
        for number, (name, mode_unit) in enumerate(zip(unit.modes, unit.units, strict=True)):
            mine = {step: _in_mode(circuit, number) for step, circuit in steps.items()}
            if self.window is None:
                self.modes[name] = RoundedSumClaims(mode_unit, cuts, mine, unit)
            else:
                self.modes[name] = AlignedClaims(mode_unit, cuts, StepCircuits.joined(mine), self.window)
        super().__init__(unit.units[0], cuts, next(iter(self.modes.values())).calls)

    @property
    def chain(self) -> Sequence[Circuit]:
        """The chain of the first mode."""
        return next(iter(self.modes.values())).chain

    @property
    def neutral(self) -> Mapping[str, Term]:
        """The neutral inputs of the first mode."""
        return next(iter(self.modes.values())).neutral

    def claims(self) -> Iterator[AnyClaim]:
        """Yield the claims of the first mode, those of others that depend on the mode, and those about all modes."""
        for number, (name, mode) in enumerate(self.modes.items()):
            for claim in mode.of_mode() if number else mode.claims():
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
        """The zeros below a product's significand in every mode, and the largest significand where it has so many."""
        largest: dict[int, int] = {}
        for mode in self.modes.values():
            a, b = mode.unit.operands.multiplied
            zeros = self.n.product_fraction_bits - a.fraction_bits - b.fraction_bits
            largest[zeros] = max(largest.get(zeros, 0), span_of(a).most * span_of(b).most)
        return largest

    def _aligned_alike(self, n: WindowRanges, zeros: int, most: int) -> Claim:
        """The claim that a product is aligned to the same with zeros below as without."""
        bits = {"sig": most.bit_length(), "sign": 1, "exp": bits_for(*n.max_exp), "top": bits_for(*n.max_exp)}
        show = {name: constant(f"modes.{name}", size) for name, size in bits.items()}
        sig, sign = (Integer.unsigned(show[name]) for name in ("sig", "sign"))
        exp, top = (Integer.signed(show[name]) for name in ("exp", "top"))
        known = (exactly(sig, 1, most), exactly(exp, *n.max_exp), exactly(top, *n.max_exp), holds(exp <= top))

        def alike() -> Term:
            negative = 1 if sign else 0
            short = ModelTerm(negative, exp, sig, n.product_fraction_bits - zeros, Class.NORMAL)
            long = short._replace(sig=sig << zeros, fraction_bits=n.product_fraction_bits)
            of_short, of_long = (align(term, top, n.fraction_bits, n.rule.term_lost) for term in (short, long))
            return holds(as_integer(of_short) == of_long)

        return Claim(
            f"modes: {zeros} zeros below", "a product is aligned to the same with zeros below its significand",
            "every product and max_exp", known, each(paths(alike, known)), tuple(show.values()),
        )  # fmt: skip


def _in_mode(circuit: Circuit, number: int) -> Circuit:
    if MODE not in circuit.inputs:
        return circuit
    inputs = {name: term for name, term in circuit.inputs.items() if name != MODE}
    return replace(fixed(circuit, {MODE: value(number, width(circuit.inputs[MODE]))}), inputs=inputs)


Claims = Callable[[Unit, Sequence[str], Mapping[str, Circuit]], DatapathClaims]


def _windows(unit: Unit) -> Claims:
    if isinstance(unit.late, LateInWindow):
        claims: type[WindowClaims] = LateWindowClaims
    elif isinstance(unit.subgroup, ExactSubgroup) and unit.subgroup.asks_addend:
        return lambda unit, cuts, steps: LowAddendClaims(unit, cuts, StepCircuits.joined(steps))
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
    """The features of a unit that no claim covers, though its RTL may have them."""
    lacks = _lacks(unit) if isinstance(unit, Unit) else _modes_lack(unit)
    return Support(unit.name, "is in the RTL, but no proof covers it yet", tuple(lacks), ())


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
    if isinstance(unit.subgroup, ExactSubgroup) and unit.subgroup.low_lanes == 1:
        yield "sum.subgroup.low_lanes: 1"
    if isinstance(unit.subgroup, WindowSubgroup):
        yield "sum.subgroup.method: aligned"
    if unit.subgroup is not None and isinstance(unit.sum, ExactSum | RoundedSum):
        yield f"sum.subgroup of sum.method: {unit.sum.method}"


def _modes_lack(unit: ModalUnit) -> Iterator[str]:
    """Yield the features of a unit of several modes that have no claims."""
    if isinstance(unit.sum, AlignedSum) and not one_plain_window(unit):
        yield "modes of another window than a plain one"
    elif not isinstance(unit.sum, (AlignedSum, RoundedSum)):
        yield f"modes of sum.method: {unit.sum.method}"
    if unit.sum.product_limit is not None:
        yield "modes with sum.product_limit"


def _window(unit: Unit) -> Iterator[str]:
    """Yield the features of a window beyond products and an addend, of which those that are zero count for nothing."""
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
