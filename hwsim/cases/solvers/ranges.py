"""Solves for the ends of the result's range, and for addends that products push over them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as cross

from hwsim.cases.bench import SIGN, SIGN_PAIRS, SIGNS, Bench
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.palette import Product
from hwsim.formats import unpack


def magnitudes(bench: Bench) -> Iterator[tuple[str, int, int]]:
    """Numbers near the ends of the result's range, and of every subnormal length.

    Name, integer, and the exponent of its unit.
    """
    fmt = bench.result
    ulp = fmt.emax - fmt.fraction_bits - 2
    most = ((fmt.max_magnitude & (1 << fmt.fraction_bits) - 1) | 1 << fmt.fraction_bits) << 2
    for name, step in (("-ulp", -4), ("", 0), ("+quarter", 1), ("+half", 2), ("+three-quarters", 3), ("+ulp", 4)):
        yield f"largest{name}", most + step, ulp
    yield "twice-largest", most, ulp + 1
    least = fmt.emin - fmt.fraction_bits
    for place in range(fmt.fraction_bits + 4):
        lead = fmt.emin + 1 - place
        kept = max(0, lead - least)
        yield f"lead{place:02}", 1, lead
        yield f"lead{place:02}-ones", (2 << bench.window) - 1, lead - bench.window
        yield f"lead{place:02}-half", (1 << kept + 1) | 1, lead - kept - 1
        yield f"lead{place:02}-odd-half", (1 << kept + 1) | 3, lead - kept - 1
        yield f"lead{place:02}-above-half", (1 << kept + 3) | 5, lead - kept - 3
        yield f"lead{place:02}-below-half", (1 << kept + 3) | 3, lead - kept - 3


def ends(bench: Bench) -> None:
    """Results at the ends of the range: overflow and just not, and underflow through every subnormal place to zero."""
    for (name, size, unit_exp), sign in cross(magnitudes(bench), SIGNS):
        bench.add_solution(f"range/{name}-{SIGN[sign]}", bench.solved(-size if sign else size, unit_exp))


def pushed(bench: Bench, facts: UnitFacts) -> None:
    """Addends near the ends of their format's range, and products of about their size that push them over or back."""
    fmt = bench.addend_format or bench.result
    first, most = 1 << fmt.fraction_bits, fmt.max_magnitude
    zones = {"largest": most - 1, "least-normal": first + 1, "subnormal": first - 1, "middle-subnormal": first // 2}
    for (word, magnitude), signs in cross(zones.items(), SIGN_PAIRS):
        _, exp, sig, _ = unpack(fmt, magnitude << fmt.padding)
        added = bench.addend(signs[0], sig, exp - fmt.fraction_bits)
        one = beside(bench, signs[1], exp) if added else None
        if added and one:
            bench.add_beat(f"G9/{word}-{signs[0]}{signs[1]}", one[:1], added, shift=one[1])


def beside(bench: Bench, sign: int, exp: int) -> tuple[Product, int] | None:
    """A product whose exponent, scaled, is near this one; and the shift of the scales."""
    for source in bench.tries:
        products = bench.palette.of(sign, source)
        for step in (0, -1, 1, -2, 2, -3, -4, -5, -6):
            shift = exp + step - source if bench.unit.scale is not None else 0
            if products and bench.can_shift(shift) and abs(source + shift - exp) <= bench.window - 2:
                return products[-1], shift
    return None
