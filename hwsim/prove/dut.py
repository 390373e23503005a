"""A user's design against the specification, with more and more products that are not zero.

The specification is the model's dot product, run on codes that are not known. What is proved of so many products is
proved of every choice of lanes for them, one after another; what is not, is said.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from math import comb

from hwsim.cosim.dutdesign import DutDesign
from hwsim.prove.logic import Decided, Word
from hwsim.prove.placed import Lanes, PlacedProducts, Placing, zeros_count
from hwsim.prove.run import ClaimRow
from hwsim.prove.unrolled import BeatResult, beat_result
from hwsim.words import counted

# What a proof of a user's design takes for granted, in words.
TRUSTED = (
    "slang and hwsim's adapter, by which ports are fields; Yosys, which writes both as BTOR2",
    "hwsim's reader of BTOR2 and its integers that are not known (hwsim/prove)",
    "bitwuzla; two-valued logic: a bit that the design leaves undefined is 0 or 1, whichever is worse",
    "that the model's sum in a window, or exact sum, does not depend on which lanes of a group its products are in, nor "
    "on the codes of products that are zero: `hwsim docs proof`",
)
MOST_PRODUCTS = 3  # that are not zero, unless another number is asked for


@dataclass(frozen=True)
class Refuted:
    """Values of constants with which a design's result is not the model's. lanes: those of the products."""

    lanes: Lanes
    model: Mapping[str, int]


@dataclass(frozen=True)
class DutProof:
    """What was asked about a user's design, and answered.

    products: so many at most were proved to be right, and -1 where none. left_out: what was not shown. hint: what to
    change in the design's file. refuted: where it is wrong.
    """

    design: str
    unit: str
    rows: tuple[ClaimRow, ...]
    products: int
    left_out: tuple[str, ...]
    hint: str = ""
    refuted: Refuted | None = None

    @property
    def proved(self) -> bool:
        """Whether every claim that was made is."""
        return all(row.word == "proved" for row in self.rows)


def prove_dut(
    design: DutDesign,
    products: int = MOST_PRODUCTS,
    seconds: float = 300.0,
    tell: Callable[[ClaimRow], None] = lambda row: None,
) -> tuple[DutProof, BeatResult]:
    """Prove what can be of a design, and how it was followed.

    products: at most so many that are not zero. seconds: for each claim. tell: called with each claim that is decided.
    Raises as `beat_result`, and NotImplementedYet for a unit that the model does not have.
    """
    followed = beat_result(design)
    rows = list(followed.rows)
    for row in rows:
        tell(row)
    found = _Claims(design, followed, seconds)
    proved, refuted = -1, None
    if all(row.word == "proved" for row in rows):
        for count, zeros in _plan(design, products):
            row, refuted = found.products(count, zeros)
            rows.append(row)
            tell(row)
            if row.word != "proved":
                break
            proved = max(proved, count) if not zeros else proved
    return (
        DutProof(
            design.name,
            design.unit.name,
            tuple(rows),
            proved,
            tuple(_left_out(design, followed, proved)),
            followed.hint,
            refuted,
        ),
        followed,
    )


def _plan(design: DutDesign, products: int) -> Iterator[tuple[int, bool]]:
    """How many products, and whether the others are of any codes of which they are zero."""
    for count in range(1, min(products, design.products) + 1):
        yield count, False
        if not zeros_count(design.unit) and count < design.products:
            yield count, True


@dataclass
class _Claims:
    design: DutDesign
    followed: BeatResult
    seconds: float
    placing: Placing = field(init=False)

    def __post_init__(self) -> None:
        self.placing = Placing(self.design, self.followed)

    def products(self, count: int, zeros: bool) -> tuple[ClaimRow, Refuted | None]:
        """That the result is the model's with so many products of any codes, in any lanes."""
        begun = time.monotonic()
        word: Word = "proved"
        done, refuted = 0, None
        for lanes in combinations(range(self.design.products), count):
            left = begun + self.seconds - time.monotonic()
            answer = self._choice(lanes, zeros, left) if left > 0 else Decided("undecided", 0.0)
            word = answer.word
            if answer.word == "refuted":
                refuted = Refuted(lanes, answer.model or {})
            if answer.word != "proved":
                break
            done += 1
        spent = time.monotonic() - begun
        return self._row(count, zeros, done, spent, word), refuted

    def _choice(self, lanes: Lanes, zeros: bool, seconds: float) -> Decided:
        end = time.monotonic() + seconds
        placed: PlacedProducts = self.placing.placed(lanes, zeros)
        for question in placed.questions:
            left = end - time.monotonic()
            if left <= 0:
                return Decided("undecided", seconds)
            answer = placed.points.decide(question, left)
            if answer.word != "proved":
                return answer
        return Decided("proved", seconds)

    def _row(self, count: int, zeros: bool, done: int, seconds: float, word: Word) -> ClaimRow:
        choices = comb(self.design.products, count)
        name = counted(count, "product") + (", zeros" if zeros else "")
        how = "any zeros" if zeros else "+0 times +0"
        rest = f"; {how} in the other lanes" if count < self.design.products else ""
        which = f"{done} of {choices}" if word == "undecided" else f"{choices}"
        over = f"any codes{self._beside} in {which} choices of lanes{rest}"
        words = "the result is the model's"
        return ClaimRow(name, words, over, "bitwuzla", seconds, word)

    @property
    def _beside(self) -> str:
        parts = (["any addend"] if self.design.addend else []) + (["any scales"] if self.design.unit.scale else [])
        return "".join(f", {part}," for part in [" and ".join(parts)] if part)


def _left_out(design: DutDesign, followed: BeatResult, proved: int) -> Iterator[str]:
    """What a proof says nothing of."""
    if proved < design.products:
        yield f"more than {counted(max(proved, 0), 'product')} other than zero"
    if zeros_count(design.unit):
        yield "products of zero other than +0 times +0"
    if design.unit.scale is not None and design.products > 1:
        yield "scales other than 1 of blocks whose products are all zero"
    if followed.alone:
        yield "a beat that is not alone after a reset"
    if design.chains:
        yield "sums of more than one beat"
    protocol = design.dut.file.protocol
    if protocol.output_ready is not None or protocol.enable is not None:
        yield f"cycles in which {protocol.output_ready or protocol.enable} is low"
    if design.dut.file.contexts > 1:
        yield "contexts other than 0"
