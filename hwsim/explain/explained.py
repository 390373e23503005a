"""One dot product with every stage's integers, under the names that the RTL and the documents use."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from hwsim.base.errors import InputError
from hwsim.explain.stages import explanation, picture, result_text, text, title
from hwsim.formats.codes import Codes
from hwsim.model.definition import definition_of
from hwsim.model.record import Explanation, Group
from hwsim.model.terms import Term
from hwsim.spec import SparseLike, SparseUnit, UnitLike, load_sparse, load_unit
from hwsim.spec.arguments import addends, dot_scales, factors, pad, shape_error
from hwsim.spec.sparse import gathered


@dataclass(frozen=True, slots=True)
class Explained(Explanation):
    """The model's record of a dot product, as users get it.

    There are three ways to show one: `str(explained)` is text, as a terminal and the story of a mismatch have it;
    `hwsim.explain.explanation(explained)` is what JSON keeps, and what a page draws; `explained.svg()` is a picture.
    `products` to `growth` are those of the last group, which for a short dot product is the only one.
    """

    @property
    def result(self) -> int:
        """The result's code, in the container of the unit's output."""
        return self.code

    @property
    def value(self) -> float | Fraction:
        """The result's value; a Fraction of a format that float64 does not hold."""
        value: float | Fraction = self.unit.output.decode(self.code).item()
        return value

    @property
    def overflow(self) -> bool:
        """True if any group's sum was too large for the result format."""
        return any(group.overflow for group in self.groups)

    @property
    def last(self) -> Group:
        """The last group."""
        return self.groups[-1]

    @property
    def products(self) -> tuple[Term, ...]:
        """The last group's products."""
        return self.last.products

    @property
    def addend(self) -> Term | None:
        """The last group's addend."""
        return self.last.addend

    @property
    def terms(self) -> tuple[Term, ...]:
        """The last group's products, and its addend last."""
        return self.last.terms

    @property
    def special(self) -> Term | None:
        """The NaN or infinity that the last group's result is; None for finite terms."""
        return self.last.special

    @property
    def max_exp(self) -> int | None:
        """The last group's largest exponent."""
        return self.last.max_exp

    @property
    def aligned(self) -> tuple[int, ...]:
        """The last group's aligned terms."""
        return self.last.aligned

    @property
    def total(self) -> int:
        """The last group's sum."""
        return self.last.total

    @property
    def sum(self) -> int:
        """The last group's sum."""
        return self.last.total

    @property
    def sticky(self) -> bool:
        """True if terms of the last group lost bits of which its rounding is told."""
        return self.last.sticky

    @property
    def growth(self) -> int | None:
        """The last group's growth."""
        return self.last.growth

    def __str__(self) -> str:
        return text(self)

    def __repr__(self) -> str:
        return f"<Explained {title(self)}; {result_text(self)}>"

    def _repr_html_(self) -> str:
        """The HTML that a notebook shows: the first groups, their windows drawn."""
        from hwsim.explain.drawing import notebook_html  # templates take a while to import

        return notebook_html(explanation(self))

    def svg(self, group: int = -1) -> str:
        """The picture of a group's window, as the text of an SVG file.

        Raises InputError where the group has none: its sum is no window, or a NaN or an infinity.
        """
        from hwsim.explain.drawing import drawing_svg, window_drawing

        shown = picture(self.groups[group])
        if shown is None:
            raise InputError(f"group {self.groups[group].index} of {self.unit.name}: no window to draw")
        return drawing_svg(window_drawing(shown))


def explain(
    unit: UnitLike | SparseLike,
    a: Any,
    b: Any,
    c: Any = None,
    scale_a: Any = None,
    scale_b: Any = None,
    metadata: Any = None,
) -> Explained:
    """One dot product with every stage's integers; `print` it to read it.

    a, b: (K,) codes or floats, as `dot` takes them. c: a scalar. scale_a, scale_b: (K / block,) codes. metadata: of a
    sparse unit, an index for each run that a keeps; what is explained is the dense unit's sum of what they select.
    Raises as `dot` does.
    """
    if metadata is not None:
        sparse = load_sparse(unit)
        unit, a, b = sparse.dense, *(row.codes for row in selection_of(sparse, a, b, metadata))
    unit = load_unit(unit)
    definition = definition_of(unit)
    codes_a, codes_b = factors(unit, a, b, ("K",))
    k = len(codes_a)
    code_c = int(addends(unit, c, (), "c"))
    given_a, given_b = _row(scale_a, "scale_a"), _row(scale_b, "scale_b")
    side_a, side_b = (side[0].tolist() for side in dot_scales(unit, given_a, given_b, 1, k))
    row_a, row_b = (pad(codes[None], unit.instruction.fill, 0)[0].tolist() for codes in (codes_a, codes_b))
    record = definition.dot(row_a, row_b, code_c, side_a, side_b, k)
    return Explained(**{part.name: getattr(record, part.name) for part in fields(record)})


class Selected(NamedTuple):
    """Factors that are multiplied. places: where they stand along K."""

    codes: Codes
    places: tuple[int, ...]


def selection_of(unit: SparseUnit, a: Any, b: Any, metadata: Any) -> tuple[Selected, Selected]:
    """What a sparse unit multiplies of one dot product: a's factors, and those of b that metadata select.

    a: (kept,), b: (K,), metadata: (runs,). Raises as `hwsim.dot` does.
    """
    rows = [given if hasattr(given, "dtype") else np.array(given, dtype=object) for given in (a, b)]
    for name, row in zip("ab", rows, strict=True):
        if row.ndim != 1:
            raise shape_error(name, "(K,)", row.shape)
    codes_a, codes_b, places = gathered(unit, rows[0][None], rows[1][None], np.asarray(metadata)[None], "(n, K)")
    taken = tuple(places[0].tolist())
    return Selected(codes_a[0], taken), Selected(codes_b[0][places[0]], taken)


def _row(scale: Any, what: str) -> Any:
    """A (K / block,) argument as the only row of a matrix."""
    if scale is None:
        return None
    array = scale if hasattr(scale, "dtype") else np.array(scale, dtype=object)
    if array.ndim != 1:
        raise shape_error(what, "(K / block,)", array.shape)
    return array[None]
