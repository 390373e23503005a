"""The claims of a unit of several modes: of each mode, what decoding makes of its codes; of all, what follows.

What is decoded has one shape, which holds the numbers of every mode: a significand gets zeros below, and the product of
two as many as both. All that follows is one circuit without a mode, and is shown of any numbers of that shape. That the
model's products of a mode, which have no such zeros, are aligned to the same is a claim of its own; where they enter
rounded additions, the claims there are of their values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hwsim.formats import Class
from hwsim.model.terms import Term as ModelTerm
from hwsim.model.window import align
from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.btor import Circuit
from hwsim.prove.circuits import fixed
from hwsim.prove.claims import AnyClaim, Claim, FormClaim
from hwsim.prove.datapathclaims import DatapathClaims
from hwsim.prove.explore import paths
from hwsim.prove.logic import Term, constant, value, width
from hwsim.prove.reach import constants_of
from hwsim.prove.relations import StepCircuits, each, exactly, holds
from hwsim.prove.roundedsums import RoundedSumClaims
from hwsim.prove.symbolic import Integer, as_integer, bits_for
from hwsim.rtl.numbers import ProductRanges, WindowRanges, most_sig
from hwsim.spec import AlignedSum, ModalUnit

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
        yield FormClaim(
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
            found[zeros] = max(found.get(zeros, 0), most_sig(a) * most_sig(b))
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
