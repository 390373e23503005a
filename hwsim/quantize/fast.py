"""Large float32 arrays through compiled loops, with the bits of `convert.quantize_reference`."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import Missing, Overflow, Rounding
from hwsim.formats.fast import encoder_parameters, packed
from hwsim.formats.kind import NOTHING_RANDOM, TILE, EncoderParameters, RandomWords
from hwsim.formats.parts import flat, split, worth
from hwsim.formats.reference import overflows
from hwsim.formats.stochastic import NAME as STOCHASTIC
from hwsim.formats.stochastic import checked_stochastic
from hwsim.quantize.quantized import Lengths, block_max, spread
from hwsim.quantize.rule import DIVIDE, MULTIPLY, Apply, Powers, Rule, Select, Special, infinity_codes, nan_code

# An element's exponents: within these no number that counts is a binary32 subnormal when it is cut.
LEAST_EMIN, MOST_BINADES = -60, 60
LEAST_SCALE, LARGEST_SCALE = -127, 127
CARRY = (1 << 52) - 1  # added to a binary64's bits, takes its exponent up unless it is a power of two
NO_POWERS = Powers(*[0] * len(Powers._fields))

Codes = NDArray[np.uint8]


class LoopRule(NamedTuple):
    """A rule with power-of-two scales as the loops take it."""

    powers: Powers
    target: NDArray[np.uint32]
    largest: float
    least_amax: float


def usable(x: NDArray[Any]) -> bool:
    """True if the loops take an array: of float32, and large."""
    return x.dtype == np.float32 and worth(x.size)


class Call:
    """The parts of a call of `quantize` that the loops compute; a method returns None where NumPy code must.

    random: random_bits, seed and counter.
    """

    def __init__(self, rule: Rule, lengths: Lengths, axis: int, random: dict[str, Any]):
        self.rule, self.lengths, self.axis = rule, lengths, axis
        self.k, self.others = lengths[axis], tuple(1 if i == axis else size for i, size in enumerate(lengths))
        self.random = random

    def powers(self, x: NDArray[Any]) -> tuple[Codes, Codes] | None:
        """Codes and power-of-two scales; None also where the rule refuses a NaN or an infinity."""
        plan, random = planned(self.rule), self._words(x.size)
        if plan is None or random is None or max(self.others) > 1:
            return None
        outer, n, inner = _layout(x, self.k, self.axis)
        codes, scales = np.empty((outer, n, inner), np.uint8), np.empty((outer, -(-n // self.k), inner), np.uint8)
        arguments = (
            plan.powers, plan.largest, plan.least_amax, plan.target, random, np.empty((0, 0, 0), np.float32), 0,
        )  # fmt: skip
        if not _walk(x, self.k, arguments, codes, scales):
            return None
        return codes.reshape(x.shape), scales.reshape(self._along(x))

    def operands(self, x: NDArray[Any], operands: NDArray[np.float32], multiply: bool) -> Codes | None:
        """Codes of products or quotients, each rounded to binary32. x: finite. operands: one a block."""
        target, random, k = _target(self.rule), self._words(x.size), self.k
        if target is None or random is None:
            return None
        operands = spread(operands, self.others, self._along(x))
        outer, n, inner = _layout(x, k, self.axis)
        tiled: Any = operands.reshape(outer, -(-n // k), inner)
        if k >= n > TILE:  # shorter tiles that stay in the cache
            k, tiled = TILE, np.repeat(tiled, -(-n // TILE), axis=1)
        codes, scales = np.empty((outer, n, inner), np.uint8), np.empty((outer, -(-n // k), inner), np.uint8)
        way = MULTIPLY if multiply else DIVIDE
        tiled = np.require(tiled, requirements=["C", "W"])  # loops are compiled for arrays that may be written
        _walk(x, k, (NO_POWERS, 1.0, 0.0, packed(target), random, tiled, way), codes, scales)
        return codes.reshape(x.shape)

    def largest(self, x: NDArray[Any]) -> NDArray[np.float32]:
        """`block_max` of the magnitudes."""
        from hwsim.quantize import loops

        outer, n, inner = _layout(x, self.k, self.axis)
        bits, maxima = flat(x, "u4"), np.empty((outer, -(-n // self.k), inner), np.uint32)
        if inner == 1:
            loops.maxima_of_rows(bits.reshape(outer, n), self.k, maxima.reshape(outer, -1))
        else:
            loops.maxima_of_columns(bits.reshape(outer, n, inner), self.k, maxima)
        return np.asarray(block_max(maxima.view(np.float32).reshape(self._along(x)), self.others))

    def _along(self, x: NDArray[Any]) -> tuple[int, ...]:
        """The shape of x with blocks along the axis."""
        return tuple(-(-size // self.k) if i == self.axis else size for i, size in enumerate(x.shape))

    def _words(self, count: int) -> RandomWords | None:
        """The random words, or NOTHING_RANDOM; None where `encode` refuses them or the rounding."""
        bits, seed, counter = (self.random[key] for key in ("random_bits", "seed", "counter"))
        if self.rule.rounding != STOCHASTIC:
            known = self.rule.rounding in list(Rounding) and (bits, seed) == (None, None)
            return NOTHING_RANDOM if known else None
        try:
            checked = checked_stochastic(self.rule.element, bits, seed, counter)
        except (TypeError, ValueError):
            return None
        return checked.for_loops() if counter + count <= 1 << 64 else None


def _layout(x: NDArray[Any], k: int, axis: int) -> tuple[int, int, int]:
    """Sizes outer, n and inner of an array with blocks along n; rows of whole blocks are joined into a single row."""
    outer, n, inner = math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :])
    return (1, outer * n, 1) if inner == 1 and n % k == 0 and k <= TILE else (outer, n, inner)


def _walk(x: NDArray[Any], k: int, arguments: tuple[Any, ...], codes: Codes, scales: Codes) -> bool:
    """Fill codes and scales, uint8[outer, n, inner] and [outer, blocks, inner]. False if the rule refuses a number.

    arguments: of the loops, from the third on.
    """
    from hwsim.quantize import loops

    outer, n, inner = codes.shape
    blocks, bits = scales.shape[1], flat(x, "u4")
    if inner > 1:
        bits = bits.reshape(outer, n, inner)
        tiles, size = outer * blocks * -(-inner // TILE), k * min(inner, TILE)
        walk: Any = loops.quantize_columns
    else:
        group = min(max(1, TILE // k), blocks)
        tiles, size = outer * -(-blocks // group), group * k
        bits, codes, scales = bits.reshape(outer, n), codes.reshape(outer, n), scales.reshape(outer, blocks)
        *front, operands, way = arguments
        arguments = (*front, operands.reshape(operands.shape[:2]), way)
        walk = loops.quantize_rows
    return all(split(tiles, size, lambda first, last: walk(bits, k, *arguments, first, last, codes, scales)))


@lru_cache(maxsize=128)
def _target(rule: Rule) -> EncoderParameters | None:
    """A rule's element format and rounding; the codes for infinities are those that infinite quotients get."""
    fmt = rule.element
    rounding, overflow = rule.rounding, rule.overflow
    if fmt.container_bits > 8 or overflow not in overflows(fmt) or rounding not in [*Rounding, STOCHASTIC]:
        return None
    nearest = None if rounding == STOCHASTIC else Rounding(rounding)
    parameters = encoder_parameters(fmt, nearest, Overflow(overflow), Missing.ZERO)
    return _symmetric(rule, parameters) if parameters is not None else None


def _symmetric(rule: Rule, parameters: EncoderParameters) -> EncoderParameters:
    if not (rule.element.twos_complement and rule.symmetric):
        return parameters
    least = rule.element.max_code + 1
    return parameters._replace(lopsided=0, minus=least + 1 if parameters.minus == least else parameters.minus)


@lru_cache(maxsize=128)
def planned(rule: Rule) -> LoopRule | None:
    """A rule as the loops take it, or None where they cannot follow it."""
    scale, target = rule.scale_format, _target(rule)
    if target is None or rule.apply is not Apply.EXACT or not scale.powers_of_two or scale.bits > 8:
        return None
    emin, least, most = target.low - 127, scale.emin, scale.emax
    zero = int(rule.zero_scale)
    if (
        emin < LEAST_EMIN or rule.emax - emin > MOST_BINADES or least < LEAST_SCALE or most > LARGEST_SCALE
        or not 0 <= zero < 1 << scale.bits
    ):  # fmt: skip
        return None
    powers = Powers(
        **_selection(rule), least=least, most=most, bias=scale.min_code - scale.emin, zero=zero,
        nan=nan_code(scale), zero_is_nan=int(scale.is_nan(zero)), huge_is_nan=int(rule.huge_scale == "nan"),
        nan_apart=int(rule.nan is not Special.BLOCK), infinity_apart=int(rule.infinity is not Special.BLOCK),
        refused=int(not {Special.ERROR, Special.AMAX}.isdisjoint((rule.nan, rule.infinity))), flush=int(rule.flush),
        emin=emin, dead=nan_code(rule.element),
    )  # fmt: skip
    plus, minus = infinity_codes(rule)
    whole = target._replace(nan=nan_code(rule.element), plus=plus, minus=minus)
    return LoopRule(powers, packed(whole), rule.largest, rule.least_amax)


def _selection(rule: Rule) -> dict[str, int]:
    """The fields of `Powers` that take amax to the exponent of a scale."""
    if rule.select in (Select.RCEIL, Select.RCEIL_RECIPROCAL):
        division = DIVIDE if rule.select is Select.RCEIL else MULTIPLY
        return {"add": CARRY, "offset": 1023, "division": division}
    add = {Select.FLOOR: 0, Select.CEIL: CARRY, Select.EVEN: 1 << 51 - rule.fraction_bits}[rule.select]
    return {"add": add, "offset": 1023 + rule.emax, "division": 0}
