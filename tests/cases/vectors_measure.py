"""What directed cases do, measured through the definition's stages; and what factors can reach, by enumeration."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property

from computed_once import computed_once
from odd_units import unit as unit_of

from hwsim.cases.bins.covering import directed
from hwsim.cases.case import Case, term_scales
from hwsim.formats import Class
from hwsim.model.definition import Definition
from hwsim.model.record import Explanation, Group
from hwsim.model.terms import Term
from hwsim.spec import Unit

# An odd one: 5 lanes, a binary16 addend and result, rounded to nearest, lost bits jammed.
ODD = "odd-e4m3-f16"
NAMES = (
    "hopper-wgmma-e4m3-f32",
    "hopper-wgmma-e5m2-f32",
    "mxfp8-e4m3-f32",
    "mxfp4-e2m1-f32",
    "mxint8-f32",
    "deepseek-v3-e4m3-f32",
    "odd-e4m3-f16",
)
SEED = 1


@dataclass(frozen=True)
class Measured:
    """A case and what the definition makes of it."""

    unit: Unit
    case: Case
    explanation: Explanation

    @property
    def group(self) -> Group:
        """The last beat's sum, where a directed case does what it is for."""
        return self.explanation.groups[-1]

    @cached_property
    def terms(self) -> list[Term]:
        """The last beat's terms other than zero, the addend last."""
        return [term for term in [*self.group.products, self.group.addend] if term and term.cls is Class.NORMAL]

    @cached_property
    def products(self) -> list[Term]:
        """The last beat's products other than zero."""
        return [term for term in self.group.products if term.cls is Class.NORMAL]

    @property
    def addend(self) -> Term | None:
        """The last beat's addend, unless it is zero."""
        term = self.group.addend
        return term if term is not None and term.cls is Class.NORMAL else None

    @property
    def growth(self) -> int | None:
        """Places of the sum's leading one above max_exp."""
        return self.group.growth

    def distance(self, term: Term) -> int:
        """Places of a term's exponent below max_exp."""
        assert self.group.max_exp is not None
        return self.group.max_exp - term.exp

    def lost(self, term: Term) -> int:
        """The bits of a term that are below the window, as a number."""
        return term.sig & ((1 << self.lost_places(term)) - 1)

    def lost_places(self, term: Term) -> int:
        """How many bits of a term's significand field are below the window."""
        return max(0, self.distance(term) + term.fraction_bits - (self.unit.sum.fraction_bits or 0))

    @property
    def exact(self) -> Fraction:
        """The last beat's sum as if nothing were lost."""
        return sum((value(term) for term in self.terms), Fraction(0))


def value(term: Term) -> Fraction:
    """A term's exact value."""
    return Fraction((-1) ** term.sign * term.sig) * Fraction(2) ** (term.exp - term.fraction_bits)


@computed_once("cases")
def explained(unit: Unit, seed: int) -> list[tuple[Case, Explanation]]:
    """The directed cases of a unit, and what the definition makes of them."""
    definition = Definition(unit)
    return [(case, definition.dot(case.a, case.b, case.c, *term_scales(unit, case))) for case in directed(unit, seed)]


class Suite:
    """A unit's directed cases, measured."""

    def __init__(self, name: str):
        self.unit = unit_of(name)
        self.definition = Definition(self.unit)
        self.cases = [case for case, _ in explained(self.unit, SEED)]
        self.window = self.unit.sum.fraction_bits or 0
        self.lanes = self.unit.instruction.lanes
        self.measured = [Measured(self.unit, *each) for each in explained(self.unit, SEED)]

    def of(self, *prefixes: str) -> list[Measured]:
        """The cases of these groups: of `distance`, or of a part of one, as `scale/far`."""
        starts = tuple(prefix if "/" in prefix else f"{prefix}/" for prefix in prefixes)
        return [one for one in self.measured if one.case.id.startswith(starts)]

    @cached_property
    def reference(self) -> dict[int, set[tuple[int, int]]]:
        """Every (sign, significand) of the products of each reference exponent, from all pairs of codes."""
        found: dict[int, set[tuple[int, int]]] = {}
        a, b = self.unit.operands.a, self.unit.operands.b
        for x in range(1 << a.bits):
            for y in range(1 << b.bits):
                term = self.definition.product(x, y)
                if term.cls is Class.NORMAL:
                    found.setdefault(term.exp, set()).add((term.sign, term.sig))
        return found

    def apart(self, d: int) -> list[int]:
        """Reference exponents that have another d places above them."""
        return [exp for exp in self.reference if exp + d in self.reference]

    def places(self, d: int) -> int:
        """Bits of a product below the window at a distance."""
        bits = self.unit.operands.a.fraction_bits + self.unit.operands.b.fraction_bits
        return max(0, d + bits - self.window)


@cache
def suite(name: str) -> Suite:
    """The measured suite of a unit, once."""
    return Suite(name)
