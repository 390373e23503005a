"""Sums by rounded additions, in one format: one after the other (`sequential`), or by a tree (`pairwise`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hwsim.formats import FloatFormat
from hwsim.model.addition import add
from hwsim.model.terms import Term, addend_term


class Step(NamedTuple):
    """One rounding: the sum of one or two terms, as a code of the sum's format.

    name: of a lane, of lanes `0..3`, or `addend`; with `rounded ` before it where a single term is rounded.
    """

    name: str
    terms: tuple[Term, ...]
    code: int


class Additions(NamedTuple):
    """How every addition rounds: to `fmt`; flush: subnormal results become zeros. fused: products are not rounded."""

    fmt: FloatFormat
    rounding: str
    flush: bool
    fused: bool

    def step(self, name: str, *terms: Term) -> Step:
        """One addition, or one rounding."""
        return Step(name, terms, add(self.fmt, terms, self.rounding, self.flush))

    def term(self, step: Step) -> Term:
        """A step's result, to go on with."""
        return addend_term(self.fmt, step.code)


def sequential(rule: Additions, products: Sequence[Term], addend: Term | None) -> list[Step]:
    """The addend, or +0, and then product after product: sum = round(sum + product)."""
    start = addend if addend is not None else addend_term(rule.fmt, 0)
    steps = [rule.step("rounded addend", start)]
    before = steps[0]
    for lane, product in enumerate(products):
        if not rule.fused:
            steps.append(rule.step(f"rounded {lane}", product))
            product = rule.term(steps[-1])
        before = rule.step(str(lane), rule.term(before), product)
        steps.append(before)
    return steps


def pairwise(rule: Additions, products: Sequence[Term], addend: Term | None) -> list[Step]:
    """The products by a balanced tree, neighbours first, and then the addend. An odd one goes up a level as it is."""
    steps: list[Step] = []
    level = [(lane, lane, product) for lane, product in enumerate(products)]
    if not rule.fused:
        for lane, product in enumerate(products):
            steps.append(rule.step(f"rounded {lane}", product))
            level[lane] = (lane, lane, rule.term(steps[-1]))
    while len(level) > 1:
        above = []
        for (first, _, x), (_, last, y) in zip(level[::2], level[1::2], strict=False):
            steps.append(rule.step(f"{first}..{last}", x, y))
            above.append((first, last, rule.term(steps[-1])))
        level = above + level[len(level) // 2 * 2 :]
    root = level[0][2]
    if addend is None:
        return [*steps, rule.step("sum", root)]
    steps.append(rule.step("rounded addend", addend))
    return [*steps, rule.step("addend", root, rule.term(steps[-1]))]


METHODS = {"sequential": sequential, "pairwise": pairwise}
