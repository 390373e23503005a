"""Units that flush, at each place and by each way of judging, and cases just below the least normal number."""

from __future__ import annotations

from itertools import product

from unit_keys import Mapping, chained, exact_sum, late, odd

from hwsim.cases.bins.boundaries import flush_rows
from hwsim.cases.case import Case, Rows
from hwsim.spec import Unit

ROUNDINGS = ("rne", "rna", "rz", "ru", "rd", "rto")
TININESS = ("result", "after", "before")
PLACES = ("result", "chain", "tree", "late")


def flushing(place: str, rounding: str, tininess: str, narrow: bool = True) -> Mapping:
    """A unit. place: of `PLACES`, where it flushes. narrow: of 8 bits; else of more."""
    fmt, result, factor = ("e4m3", "f16", "e5m2") if narrow else ("bf16", "f32", "bf16")
    keys = {"flush": True, "tininess": tininess}
    match place:
        case "result":
            more = {"overflow": "nan", "subnormals": "flush", "tininess": tininess}
            return odd(factor, fmt, exact_sum(), fmt, 2, rounding=rounding, **more)
        case "chain" | "tree":
            method = {"chain": "sequential", "tree": "pairwise"}[place]
            kind = {"chain": "fused", "tree": "rounded"}[place]
            # Few products of e5m2 have as many bits as a rounding of them alone needs.
            factor = "bf16" if kind == "rounded" else factor
            return odd(factor, fmt, chained(method, fmt, rounding, kind, **keys), result, 2)
        case _:
            return odd(factor, fmt, exact_sum(), result, 2, **late(fmt, rounding, **keys))


def flush_cases(unit: Unit) -> list[Case]:
    """Products, and differences of two terms, at and just below the least normal number."""
    rows = Rows(unit)
    flush_rows(rows)
    return list(rows.cases.values())


EVERY = {
    f"{place}-{rounding}-{tininess}": flushing(place, rounding, tininess)
    for place, rounding, tininess in product(PLACES, ROUNDINGS, TININESS)
}
# Of each place and way of judging one, of narrow and of wide numbers, and each rounding that goes up.
FEW = {
    f"{place}-{rounding}-{tininess}": flushing(place, rounding, tininess, narrow=at % 3 == 0)
    for at, ((place, tininess), rounding) in enumerate(
        zip(product(PLACES, ("after", "before")), ("rne", "ru", "rna", "rne", "rd", "rne", "rne", "rna"), strict=True)
    )
}
