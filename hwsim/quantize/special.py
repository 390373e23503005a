"""The codes of NaNs and infinities under a rule."""

from __future__ import annotations

import numpy as np

from hwsim.formats import Format
from hwsim.formats.reference import encode_reference
from hwsim.quantize.rule import Rule, Special


def nan_code(fmt: Format) -> int:
    """The canonical NaN; code 0 in a format without NaN."""
    return fmt.canonical_nan or 0


def infinity_codes(rule: Rule) -> tuple[int, int]:
    """The elements of +infinity and -infinity, in a block whose scale is a number."""
    fmt, overflow = rule.element, "saturate"
    if rule.infinity is Special.ELEMENT:
        overflow = "infinity" if fmt.infinities else "nan"
    plus, minus = encode_reference(fmt, [np.inf, -np.inf], overflow=overflow).tolist()
    if fmt.twos_complement and rule.symmetric and minus == fmt.max_code + 1:
        minus += 1
    return plus, minus
