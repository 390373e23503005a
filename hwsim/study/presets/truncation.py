"""The expected loss of a growing sum in a truncating window, from the products alone: no unit is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import get_format
from hwsim.quantize import quantize
from hwsim.study.data import draw, parse_data

ROWS = 64  # of A, and columns of B, that products are taken of
EVERY = 32  # of the k, one is taken
GROUP = 32
LEAST_MEAN = 0.02  # over the root mean square: below it, a sum wanders and does not grow


def sampled_products(entry: Any, length: int, seed: int) -> NDArray[np.float64]:
    """Products of numbers of a kind, of sums of such a length, scaled by tensor and rounded to E4M3."""
    drawn = draw(parse_data(entry, Path()), seed, 0, length, ROWS, ROWS)
    e4m3 = get_format("e4m3")
    a, b = (e4m3.decode(quantize(side, "tensor-e4m3").codes) for side in (drawn.a, drawn.b))
    return np.asarray(a.T[::EVERY, :, None] * b[::EVERY, None, :]).ravel()


def expected_shrink(products: NDArray[np.float64], length: int, fraction_bits: int) -> float:
    """The share of a sum of `length` such products that truncation takes away, where the sum outgrows each of them.

    At a sum of S, 2^E <= S < 2^(E+1), every product is cut, towards zero, to a multiple of u = 2^(E - fraction_bits):
    it loses sign(p) (|p| mod u). Cut and uncut products are added up on average, a group at a time; a step into the
    next binade is cut to that one's multiple too, half a u on average.

    NaN where the products' mean is nearly zero, or negative.
    """
    mean = float(products.mean())
    if mean <= LEAST_MEAN * float(np.sqrt(np.mean(products**2))):
        return float("nan")
    kept: dict[int, float] = {}
    total = 0.0
    for start in range(0, length, GROUP):
        many = min(GROUP, length - start)
        exponent = _exponent(max(total, mean))
        if exponent not in kept:
            u = 2.0 ** (exponent - fraction_bits)
            kept[exponent] = float(np.mean(np.sign(products) * np.floor(np.abs(products) / u) * u))
        grown = total + many * kept[exponent]
        crossed = _exponent(max(grown, mean)) > exponent
        total = grown - (2.0 ** (exponent - fraction_bits - 1) if crossed else 0.0)
    return 1 - total / (length * mean)


def share_of_signs(products: NDArray[np.float64]) -> float:
    """The share of positive products less that of negative ones."""
    return float(np.mean(np.sign(products)))


def _exponent(value: float) -> int:
    return int(np.frexp(value)[1]) - 1
