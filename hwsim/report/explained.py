"""One dot product with every stage's integers, under the names that the RTL and the documents use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hwsim.formats import Fields, Format
from hwsim.model.arguments import addends, pad, shape_error
from hwsim.model.arrays import definition_of, dot_scales, factors
from hwsim.model.chain import Step
from hwsim.model.parts import Halves, Subgroup
from hwsim.model.rounding import Rounded
from hwsim.model.stages import Added, Explanation, Group, Promoted
from hwsim.model.terms import Term
from hwsim.spec import Unit, load_unit


@dataclass(frozen=True, slots=True)
class ExplainedGroup:
    """One fused sum, stage by stage.

    unit: whose. index: its place in the dot product. indices: the index along K of each lane's product.
    codes_a, codes_b: the factors' codes, a lane each. used: lanes that hold products; the others fill the group.
    addend_format, addend_code: where the addend comes from: c, the previous group's result, or +0.
    stages: the definition's record, whose parts the properties name.
    """

    unit: Unit
    index: int
    indices: tuple[int, ...]
    codes_a: tuple[int, ...]
    codes_b: tuple[int, ...]
    used: int
    addend_format: Format
    addend_code: int
    stages: Group

    @property
    def first(self) -> int:
        """The index along K of lane 0."""
        return self.indices[0]

    @property
    def a(self) -> tuple[Fields, ...]:
        """The factors a, decoded and made ready to multiply: sign, exp, sig, class."""
        return self.stages.a

    @property
    def b(self) -> tuple[Fields, ...]:
        """The factors b, decoded and made ready to multiply: sign, exp, sig, class."""
        return self.stages.b

    @property
    def scale_exp(self) -> tuple[int | None, ...]:
        """The exponent that the shared scales add to each product; None where a scale is NaN."""
        return self.stages.scale_exp

    @property
    def products(self) -> tuple[Term, ...]:
        """The exact products, not normalised, at their reference exponents."""
        return self.stages.products

    @property
    def addend(self) -> Term | None:
        """The addend c, the previous group's result, or +0; None where the unit has none."""
        return self.stages.addend

    @property
    def terms(self) -> tuple[Term, ...]:
        """The products, and the addend last."""
        return self.stages.terms

    @property
    def special(self) -> Term | None:
        """The NaN or infinity that the result is; None for finite terms."""
        return self.stages.special

    @property
    def max_exp(self) -> int | None:
        """The largest exponent of the terms that count, as `sum` says; None when all are zero, or without a window."""
        return self.stages.max_exp

    @property
    def fraction_bits(self) -> int:
        """Bits of the window of `total` below 2^max_exp."""
        return self.stages.sum_bits

    @property
    def unit_exp(self) -> int | None:
        """The exponent of the unit of `total`; None where there is no such sum."""
        return self.stages.unit_exp

    @property
    def aligned(self) -> tuple[int, ...]:
        """The terms in units of 2^(max_exp - fraction_bits); of `even-odd`, in units of the windows of `halves`."""
        return self.stages.aligned

    @property
    def total(self) -> int:
        """The sum of the aligned terms, exact; of `exact`, the exact sum so far."""
        return self.stages.total

    @property
    def halves(self) -> Halves | None:
        """Of `even-odd`: the windows of the even lanes, of the odd lanes, and of both sums together."""
        return self.stages.halves

    @property
    def subgroups(self) -> tuple[Subgroup, ...]:
        """The exact sums of parts of the group, scaled: what is aligned in the place of products."""
        return self.stages.subgroups

    @property
    def steps(self) -> tuple[Step, ...]:
        """Of `sequential` and `pairwise`: every rounding, in order."""
        return self.stages.steps

    @property
    def carried(self) -> bool:
        """Whether the addend is an exact sum that goes on from the group before, without a code."""
        rule, restart = self.unit.sum, self.unit.restart
        goes_on = self.index if restart is None else self.index % restart
        return rule.method == "exact" and rule.rounded != "group" and goes_on > 0

    @property
    def in_window(self) -> tuple[tuple[str, Term, int], ...]:
        """What stands in the one window of `aligned`: a label, the term, and what is left of it; empty without one."""
        if self.unit.sum.method != "aligned" or self.max_exp is None or self.special is not None:
            return ()
        labels, terms = [str(index) for index in self.indices], self.products
        if self.subgroups:
            size = len(self.products) // len(self.subgroups)
            labels = [f"{i}-{i + size - 1}" for i in self.indices[::size]]
            terms = tuple(part.term for part in self.subgroups)
        both = [*zip(labels, terms, strict=True), *([] if self.addend is None else [("addend", self.addend)])]
        return tuple((label, term, kept) for (label, term), kept in zip(both, self.aligned, strict=True))

    @property
    def sum(self) -> int:
        """`total`."""
        return self.total

    @property
    def growth(self) -> int | None:
        """Places that the sum's leading one stands above max_exp (negative: below); None for 0 or without a window."""
        return None if self.max_exp is None else self.stages.growth(self.fraction_bits)

    @property
    def rounded(self) -> Rounded:
        """The result with its flags: overflow, inexact, tiny."""
        return self.stages.rounded

    @property
    def overflow(self) -> bool:
        """Whether the rounded sum was too large for the result format."""
        return self.stages.overflow

    @property
    def result(self) -> int:
        """The code of the group's result, in the result format's container."""
        return self.stages.code


@dataclass(frozen=True, slots=True)
class Explained:
    """One dot product: its groups in order, its promotions or late additions, its result.

    `products` to `overflow` are those of the last group, which for a short dot product is the only one.
    record: the definition's. codes_a, codes_b: the factors' codes, filled with zeros to whole groups or instructions.
    c: the addend's code. k: products, without the fill.
    """

    record: Explanation
    codes_a: tuple[int, ...]
    codes_b: tuple[int, ...]
    c: int
    k: int

    @property
    def unit(self) -> Unit:
        """The unit that was asked."""
        return self.record.unit

    @property
    def groups(self) -> tuple[ExplainedGroup, ...]:
        """The fused sums, in order."""
        return tuple(self._group(index, stages) for index, stages in enumerate(self.record.groups))

    def _group(self, index: int, stages: Group) -> ExplainedGroup:
        unit, result = self.unit, self.unit.result.format
        fmt, code = result, self.record.groups[index - 1].code if index else 0
        if unit.restart is not None and index % unit.restart == 0:
            code = 0
        elif index == 0:
            fmt, code = unit.operands.addend or result, self.c
        indices = unit.instruction.indices(index)
        return ExplainedGroup(
            unit=unit,
            index=index,
            indices=indices,
            codes_a=tuple(self.codes_a[i] for i in indices),
            codes_b=tuple(self.codes_b[i] for i in indices),
            used=sum(i < self.k for i in indices),
            addend_format=fmt,
            addend_code=code,
            stages=stages,
        )

    @property
    def promotions(self) -> Mapping[int, Promoted]:
        """Additions into the promotion register, by the index of the group that each follows."""
        return self.record.promotions

    @property
    def additions(self) -> Mapping[int, Added]:
        """Late additions of the addend, by the index of the group that each follows."""
        return self.record.additions

    @property
    def result(self) -> int:
        """The result's code, in the container of the unit's output."""
        return self.record.code

    @property
    def value(self) -> float:
        """The result's value."""
        return float(self.unit.output.decode(self.result))

    @property
    def products(self) -> tuple[Term, ...]:
        """The last group's products."""
        return self.groups[-1].products

    @property
    def addend(self) -> Term | None:
        """The last group's addend."""
        return self.groups[-1].addend

    @property
    def terms(self) -> tuple[Term, ...]:
        """The last group's products, and its addend last."""
        return self.groups[-1].terms

    @property
    def special(self) -> Term | None:
        """The NaN or infinity that the last group's result is; None for finite terms."""
        return self.groups[-1].special

    @property
    def max_exp(self) -> int | None:
        """The last group's largest exponent."""
        return self.groups[-1].max_exp

    @property
    def aligned(self) -> tuple[int, ...]:
        """The last group's aligned terms."""
        return self.groups[-1].aligned

    @property
    def total(self) -> int:
        """The last group's sum."""
        return self.groups[-1].total

    @property
    def sum(self) -> int:
        """The last group's sum."""
        return self.groups[-1].total

    @property
    def growth(self) -> int | None:
        """The last group's growth."""
        return self.groups[-1].growth

    @property
    def overflow(self) -> bool:
        """Whether any group's sum was too large for the result format."""
        return any(group.overflow for group in self.groups)

    def __str__(self) -> str:
        from hwsim.report.picture import text

        return text(self)


def explain(
    unit: Unit | str | Path, a: Any, b: Any, c: Any = None, scale_a: Any = None, scale_b: Any = None
) -> Explained:
    """One dot product with every stage's integers; `print` it to read it.

    a, b: (K,) codes or floats, as `dot` takes them. c: a scalar. scale_a, scale_b: (K / block,) codes.
    Raises as `dot` does.
    """
    unit = load_unit(unit)
    definition = definition_of(unit)
    codes_a, codes_b = factors(unit, a, b, ("K",))
    k = len(codes_a)
    code_c = int(addends(unit, c, (), "c"))
    given_a, given_b = _row(scale_a, "scale_a"), _row(scale_b, "scale_b")
    scales = [side[0].tolist() for side in dot_scales(unit, given_a, given_b, 1, k)]
    row_a, row_b = (pad(codes[None], unit.instruction.fill, 0)[0].tolist() for codes in (codes_a, codes_b))
    return Explained(definition.dot(row_a, row_b, code_c, *scales), tuple(row_a), tuple(row_b), code_c, k)


def _row(scale: Any, what: str) -> Any:
    """A (K / block,) argument as the only row of a matrix."""
    if scale is None:
        return None
    array = scale if hasattr(scale, "dtype") else np.array(scale, dtype=object)
    if array.ndim != 1:
        raise shape_error(what, "(K / block,)", array.shape)
    return array[None]
