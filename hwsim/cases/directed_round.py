"""Directed cases of the rounding: guard and sticky bits, and the ends of the result's range."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product as cross

from hwsim.cases.bench import Bench
from hwsim.cases.directed_align import SIGNS
from hwsim.cases.solver import Found


def cut_fields(places: int) -> dict[str, int]:
    """Patterns of the bits that rounding cuts off: each single bit, half and each bit below it, ones, half less one."""
    half = 1 << places - 1
    fields = {"exact": 0, "half": half, "ones": 2 * half - 1, "below-half": half - 1}
    for k in range(places - 1):
        fields[f"sticky{k}"] = 1 << k
        fields[f"half-sticky{k}"] = half | 1 << k
    seen: dict[int, str] = {}
    for name, value in fields.items():
        if value >= 0:
            seen.setdefault(value, name)
    return {name: value for value, name in seen.items()}


def tie(bench: Bench) -> None:
    """Each field of bits that rounding cuts off, below an even and an odd last bit, and below all ones."""
    fraction = bench.result.fraction_bits
    last = 1 << fraction
    mixed = (last * 5 // 3) & ~1 | last
    kepts = {"even": last, "odd": last + 1, "mixed-even": mixed, "mixed-odd": mixed + 1, "ones": 2 * last - 1}
    for places in range(1, bench.window - fraction + bench.growths + 1):
        for (field, low), (kind, kept), sign in cross(cut_fields(places).items(), kepts.items(), SIGNS):
            if "sticky" in field and kind != ("even", "odd", "mixed-even", "mixed-odd")[low.bit_length() % 4]:
                continue
            total = kept << places | low
            name = f"tie/cut{places}-{field}-{kind}-{'neg' if sign else 'pos'}"
            tops = bench.tops(total.bit_length() - 1 - bench.window)
            signed = -total if sign else total
            found = bench.total(signed, tops) or bench.total(signed, tops, addend=True)
            bench.found(name, found)


def solved(bench: Bench, total: int, unit_exp: int) -> Found | None:
    """Terms whose sum is total * 2^unit_exp, by products alone or with an addend; None where none are found."""
    size = abs(total)
    zeros = (size & -size).bit_length() - 1
    unit, low = unit_exp + zeros, unit_exp + size.bit_length() - 1
    tops = range(low - bench.growths, low + bench.palette.fraction_bits + 1)
    for top in sorted(tops, key=lambda top: abs(top - low)):
        shift = unit - (top - bench.window)
        scaled = size >> zeros << shift if shift >= 0 else 0
        if scaled:
            signed = -scaled if total < 0 else scaled
            found = bench.total(signed, [top]) or bench.total(signed, [top], addend=True)
            if found and found.products:
                return found
    return None


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
        bench.found(f"range/{name}-{'neg' if sign else 'pos'}", solved(bench, -size if sign else size, unit_exp))
