"""Lanes that share scales: however large these are, the exponents of such lanes' products are near to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hwsim.prove.logic import Term, ask, both, constant, either, is_one, negated, width
from hwsim.prove.relations import SPECIAL, StepCircuits, holds
from hwsim.prove.symbolic import Integer
from hwsim.rtl.numbers import WindowRanges


@dataclass(frozen=True)
class ScaledLanes:
    """Lanes whose scales are the same. base: what these add to exponents, which may be anything; one for all parts."""

    lanes: tuple[int, ...]
    base: Any


@dataclass(frozen=True)
class Blocks:
    """All blocks of a beat; none without scales. fields: the least and the largest sum of both factors' exponents."""

    blocks: tuple[ScaledLanes, ...]
    fields: tuple[int, int]

    @classmethod
    def of(cls, n: WindowRanges, parts: StepCircuits, known: Sequence[Term]) -> Blocks:
        """Those that the circuits have: lanes with one term as what scales add. None where the solver does not find it
        in their products. known: of all operands. That all lanes make the same of theirs is a claim of `hwsim.prove`.
        """
        fields = len(n.multiplied), sum(shape.field.most for shape in n.multiplied)
        scales = [parts.decode.outputs[f"o__scale_exp__{lane}"] for lane in range(n.lanes if n.scales else 0)]
        lanes = {scale.id(): [lane for lane, one in enumerate(scales) if one == scale] for scale in scales}
        finite = [negated(is_one(parts.products.outputs[f"o__special__{flag}"])) for flag in SPECIAL]
        for first, *_ in lanes.values():
            exp = Integer.unsigned(parts.products.outputs[f"o__terms__{first}__exp"])
            near = _near(exp, Integer.unsigned(scales[first]), fields)
            if ask(either(holds(exp == 0), near), (*known, *finite)).word != "proved":
                return cls((), fields)
        bases = [Integer.unsigned(constant("blocks: scale", width(scales[some[0]]))) for some in lanes.values()]
        return cls(
            tuple(ScaledLanes(tuple(some), base) for some, base in zip(lanes.values(), bases, strict=True)), fields
        )

    def near(self, exps: Sequence[Any]) -> list[Term]:
        """That each product other than zero is near to what its scales add. exps: of all lanes."""
        return [
            either(holds(exps[lane] == 0), _near(exps[lane], block.base, self.fields))
            for block in self.blocks
            for lane in block.lanes
        ]

    def within(self, max_exp: Any) -> Term:
        """That a max_exp is one that products of some block can have."""
        found = [_near(max_exp, block.base, self.fields) for block in self.blocks]
        return either(*found) if found else both()


def _near(exp: Any, base: Any, fields: tuple[int, int]) -> Term:
    least, most = fields
    return both(holds(exp >= base + least), holds(exp <= base + most))
