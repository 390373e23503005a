"""All claims of a unit, decided one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from hwsim.prove.aligned import AlignedClaims
from hwsim.prove.claims import AnyClaim
from hwsim.prove.control import control_claims
from hwsim.prove.logic import Word
from hwsim.prove.promotion import PromotionClaims
from hwsim.prove.readback import readback_claims
from hwsim.rtl import supports
from hwsim.spec import AlignedSum, NotImplementedYet, Pipeline, Unit

# What a proof takes for granted, in words.
TRUSTED = (
    "Amaranth's elaboration of each step, and Yosys, which writes it as BTOR2",
    "hwsim's reader of BTOR2 and its integers that are not known (hwsim/prove)",
    "bitwuzla; linear forms (hwsim/prove/linear.py); two-valued logic",
    "that steps whose relations meet may be put together: `hwsim docs proof`",
)


@dataclass(frozen=True)
class ClaimRow:
    """What became of one claim. model: values of constants that refute it."""

    name: str
    words: str
    over: str
    solver: str
    seconds: float
    word: Word
    model: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Proof:
    """What was asked about a unit, and answered."""

    unit: str
    cuts: tuple[str, ...]
    contexts: int
    rows: tuple[ClaimRow, ...]

    @property
    def proved(self) -> bool:
        """Whether every claim is."""
        return all(row.word == "proved" for row in self.rows)


def claims_of(unit: Unit, pipeline: Pipeline) -> Iterator[AnyClaim]:
    """The claims about a unit. Raises NotImplementedYet for one that the RTL, or no proof, has."""
    supports(unit).demand()
    if not isinstance(unit.sum, AlignedSum):
        raise NotImplementedYet(f"unit {unit.name}: sum.method: {unit.sum.method} has no claims yet")
    yield from AlignedClaims(unit, pipeline.cuts).claims()
    if unit.promotion is not None:
        yield from PromotionClaims(unit, unit.promotion, pipeline.cuts).claims()
    yield from control_claims(unit, pipeline)
    yield from readback_claims(unit, pipeline)


def prove(
    unit: Unit, pipeline: Pipeline, seconds: float = 60.0, tell: Callable[[ClaimRow], None] = lambda row: None
) -> Proof:
    """Decide every claim. seconds: for each. tell: called with each as it is decided. Raises as `claims_of`."""
    rows = []
    for claim in claims_of(unit, pipeline):
        answer = claim.decide(seconds)
        row = ClaimRow(claim.name, claim.words, claim.over, claim.solver, answer.seconds, answer.word, answer.model)
        rows.append(row)
        tell(row)
    return Proof(unit.name, pipeline.cuts, pipeline.contexts, tuple(rows))
