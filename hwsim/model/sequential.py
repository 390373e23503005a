"""The method `sequential`: one rounded addition after the other."""

from __future__ import annotations

from collections.abc import Sequence

from hwsim.model.method import Addition
from hwsim.model.rounded import RoundedAdditions
from hwsim.model.terms import Term, addend_term


class Sequential(RoundedAdditions):
    """The addend, or +0, and then product after product: sum = round(sum + product)."""

    def additions(self, products: Sequence[Term], addend: Term | None) -> list[Addition]:
        """The addend, rounded, and an addition for each product; where products are rounded, that before it."""
        before = self.add("rounded addend", addend if addend is not None else addend_term(self.rule.format, 0))
        every = [before]
        for lane, product in enumerate(products):
            if not self.fused:
                every.append(self.add(f"rounded {lane}", product))
                product = self.term(every[-1])
            before = self.add(str(lane), self.term(before), product)
            every.append(before)
        return every
