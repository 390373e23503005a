"""What of a unit's results is not promised: which codes are as good as one another wherever results are compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import FloatFormat
from hwsim.spec.parts import SharedKeys

Codes = TypeVar("Codes", bound=np.integer[Any])


@dataclass(frozen=True)
class Unpromised:
    """What a unit's results are compared without.

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
        """Whether a container's code is as good as the expected one."""
        return expected == got or self.plain(expected) == self.plain(got)

    def left_out(self) -> Iterator[str]:
        """What is not compared, in words, with the key that says so."""
        if self.nans is not None:
            yield "the bits of NaNs (result.nan: any)"
        if self.zeros is not None:
            yield "the signs of results that are zero (result.zero_sign: any)"


def unpromised(unit: SharedKeys) -> Unpromised:
    """What of a unit's results is not promised."""
    fmt, rule = unit.output, unit.result
    if not isinstance(fmt, FloatFormat):
        return Unpromised()
    return Unpromised(fmt if rule.nan == "any" else None, fmt if rule.zero_sign == "any" else None)
