"""The specification of the results of a dot-product unit, bit for bit, with its rules checked.

Registers and cycles are in `hwsim.spec.implementation.Pipeline`. The arithmetic that these settings choose is in
`hwsim docs arithmetic`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from hwsim.base.text import facts, titled
from hwsim.formats import FloatFormat
from hwsim.spec.fields import vary
from hwsim.spec.parts import SharedKeys, UnitKeys
from hwsim.spec.rules import check


class Unit(UnitKeys):
    """A dot-product unit. `hwsim units NAME` prints one as YAML."""

    @model_validator(mode="after")
    def _rules(self) -> Self:
        check(self)
        return self

    def _repr_html_(self) -> str:
        """The keys as a notebook shows them, by their parts."""
        parts = self.model_dump(mode="json", exclude_defaults=True)
        rows = ((part, _in_words(value)) for part, value in parts.items() if part not in ("unit", "summary"))
        return titled(self.name, self.summary, facts(rows))

    def replace(self, changes: Mapping[str, Any] | None = None, /, **fields: Any) -> Self:
        """This unit with other keys, checked as a file's are.

        changes, fields: from a key's path in the unit's file (`sum.fraction_bits`) or a short name (`fraction_bits`,
        `lost`, `result`, `rounding`, `a`, `b`, `method`, `accumulator`, `lanes`, `interval`) to its value there. The
        unit's name says what is other.
        Raises SpecError for what is no key, naming the nearest, and for a value that breaks a rule.
        """
        return vary(self, {**(changes or {}), **fields})


def _in_words(value: Any) -> str:
    """A value of a key in a line; formats by their names."""
    if isinstance(value, Mapping):
        entries = (f"{key} {_in_words(entry)}" for key, entry in value.items())
        return str(value["name"]) if "kind" in value else ", ".join(entries)
    if isinstance(value, (list, tuple)):
        sizes = all(isinstance(size, int) for size in value)
        return " x ".join(map(_in_words, value)) if sizes else "; ".join(map(str, value))
    return "none" if value is None else str(value)


Codes = TypeVar("Codes", bound=np.integer[Any])


@dataclass(frozen=True)
class Unpromised:
    """The bits of a unit's results that it does not promise, and that no comparison counts.

    nans: the format of results whose NaNs are as good as one another; None where the unit's own NaN is promised.
    zeros: the format of results whose zeros are as good as one another; None where their signs are promised.
    """

    nans: FloatFormat | None = None
    zeros: FloatFormat | None = None

    @property
    def minus_zero(self) -> int | None:
        """The container's code of a -0 that is as good as +0; None where there is none."""
        return None if self.zeros is None else self.zeros.sign_bit << self.zeros.padding

    def plain(self, code: int) -> int:
        """A container's code; that of the canonical NaN, or of +0, where it is as good. Below 0, what is no code."""
        if code >= 0 and code == self.minus_zero:
            return 0
        return self._plain_nan(self.nans, code) if self.nans is not None and code >= 0 else code

    @staticmethod
    def _plain_nan(fmt: FloatFormat, code: int) -> int:
        canonical = fmt.canonical_nan
        fits = canonical is not None and code < 1 << fmt.container_bits
        return canonical if fits and canonical is not None and fmt.is_nan(code >> fmt.padding) else code

    def plain_zeros(self, codes: NDArray[Codes]) -> NDArray[Codes]:
        """Containers' codes with +0 for each -0 that is as good; all others as they are."""
        if self.minus_zero is None:
            return codes
        plain = codes.copy()
        plain[codes == self.minus_zero] = 0
        return plain

    def same(self, expected: int, got: int) -> bool:
        """True if a container's code is as good as the expected one."""
        return expected == got or self.plain(expected) == self.plain(got)

    def left_out(self) -> Iterator[str]:
        """The bits that are not compared, in words, with the key that says so."""
        if self.nans is not None:
            yield "the bits of NaNs (result.nan: any)"
        if self.zeros is not None:
            yield "the signs of results that are zero (result.zero_sign: any)"


def unpromised(unit: SharedKeys) -> Unpromised:
    """The bits of a unit's results that it does not promise."""
    fmt, rule = unit.output, unit.result
    if not isinstance(fmt, FloatFormat):
        return Unpromised()
    return Unpromised(fmt if rule.nan == "any" else None, fmt if rule.zero_sign == "any" else None)
