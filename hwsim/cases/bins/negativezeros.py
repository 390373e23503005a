"""Whether a dot product can be -0: what negative zeros alone make is computed, what rounds to zero is proved."""

from __future__ import annotations

from itertools import product as cross

from hwsim.cases.bins.limits import negative_zero
from hwsim.cases.case import Case, block_lengths, dot
from hwsim.cases.landmarks import zeros
from hwsim.formats import Class, FloatFormat, unpack
from hwsim.formats.blocks import one_code
from hwsim.model.definition import definition_of
from hwsim.spec import Unit
from hwsim.spec.keys import Number


def no_negative_zero(unit: Unit) -> str | None:
    """Why no dot product of a unit is -0, or None where one is, or may be."""
    return negative_zero(unit, zeros_make_one=any(_is_negative_zero(unit, case) for case in _zeros_alone(unit)))


def _zeros_alone(unit: Unit) -> list[Case]:
    """Zeros in all lanes, by every kind of zero times every kind of number, beside every kind of negative addend.

    Among these are a zero and the ends of the subnormal numbers, which a unit may take for zeros.
    """
    k, addend = unit.instruction.fill, unit.operands.addend
    scales: list[tuple[int, ...]] = [(), ()]
    if unit.scale is not None:
        sides = zip((unit.scale.a, unit.scale.b), block_lengths(unit), strict=True)
        scales = [(one_code(side.format),) * -(-k // length) for side, length in sides]
    addends = [0] if addend is None else [zeros(addend)[-1], *_subnormal(addend)]
    triples = cross(_zeros_and_ends(unit.operands.a), _zeros_and_ends(unit.operands.b), addends)
    return [Case("zeros", (a,) * k, (b,) * k, c, scales[0], scales[1]) for a, b, c in triples]


def _subnormal(fmt: Number) -> list[int]:
    """The least and the largest of a format's negative subnormal numbers; none where it has none."""
    if not isinstance(fmt, FloatFormat) or not (fmt.subnormals and fmt.signed):
        return []
    sign = 1 << fmt.container_bits - 1
    return [sign | magnitude << fmt.padding for magnitude in (1, (1 << fmt.fraction_bits) - 1)]


def _zeros_and_ends(fmt: Number) -> list[int]:
    """Zeros, the largest number and, where there is one, the largest negative one."""
    if isinstance(fmt, FloatFormat):
        minus = fmt.max_code | 1 << fmt.container_bits - 1 if fmt.signed else fmt.max_code
    else:
        minus = 1 << fmt.bits - 1
    return [*zeros(fmt), fmt.max_code, minus]


def _is_negative_zero(unit: Unit, case: Case) -> bool:
    explained = dot(definition_of(unit), case)
    if not all(term.cls is Class.ZERO for term in explained.groups[0].products):
        return False
    sign, _, _, cls = unpack(unit.output, explained.code)
    return cls is Class.ZERO and bool(sign)
