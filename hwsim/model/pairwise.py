"""The method `pairwise`: a balanced tree of rounded additions."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.model.method import Addition
from hwsim.model.rounded import RoundedAdditions
from hwsim.model.terms import Term


class Pairwise(RoundedAdditions):
    """Products are added by a tree, neighbours first; an odd one goes up a level as it is. The addend comes last."""

    def additions(self, products: Sequence[Term], addend: Term | None) -> list[Addition]:
        """The products, rounded where they are; the tree, level by level; the addend, rounded, and its addition."""
        every: list[Addition] = []
        level = [(lane, lane, product) for lane, product in enumerate(products)]
        if not self.fused:
            every = [self.add(f"rounded {lane}", product) for lane, product in enumerate(products)]
            level = [(lane, lane, self.term(rounded)) for lane, rounded in enumerate(every)]
        while len(level) > 1:
            above = []
            for (first, _, x), (_, last, y) in zip(level[::2], level[1::2], strict=False):
                every.append(self.add(f"{first}..{last}", x, y))
                above.append((first, last, self.term(every[-1])))
            level = above + level[len(level) // 2 * 2 :]
        root = level[0][2]
        if addend is None:
            return [*every, self.add("sum", root)]
        every.append(self.add("rounded addend", addend))
        return [*every, self.add("addend", root, self.term(every[-1]))]
