"""G3: what sets the reference exponent."""

from __future__ import annotations

from hwsim.cases.bins.declare import Declared, Hits
from hwsim.cases.bins.seen import Seen
from hwsim.cases.bins.shape import Shape
from hwsim.formats import Class, FloatFormat


def declare(shape: Shape, out: Declared) -> None:
    """Subnormal factors, zeros, ties, each lane and the addend as the maximum, and each lane that straddles below."""
    _subnormal(shape, out)
    _zeros(shape, out)
    _ties(shape, out)
    _lanes(shape, out)


def _subnormal(shape: Shape, out: Declared) -> None:
    at: dict[tuple[int, int], int] = {}
    both = None
    for side, fmt in enumerate(shape.factors):
        if isinstance(fmt, FloatFormat) and fmt.subnormals:
            for zeros in range(1, fmt.precision):
                name = f"max_exp by a subnormal {'ab'[side]} of {zeros} leading zeros, beside another term"
                at[side, zeros] = out.bin("G3", name, shape.together)
    if {side for side, _ in at} == {0, 1}:
        both = out.bin("G3", "max_exp by a subnormal times a subnormal, beside another term", shape.together)
    precisions = [fmt.fraction_bits + 1 for fmt in shape.factors]

    def sample(seen: Seen, hits: Hits) -> None:
        if not seen.holders or len(seen.terms) + (seen.addend is not None) < 2:
            return
        pair = [factors[seen.holders[0]] for factors in (seen.group.a, seen.group.b)]
        small = [factor.cls is Class.SUBNORMAL for factor in pair]
        if both is not None and all(small):
            hits.add(both)
        elif any(small):
            side = small.index(True)
            hits.add(at[side, precisions[side] - pair[side].sig.bit_length()])

    out.groups.append(sample)


def _zeros(shape: Shape, out: Declared) -> None:
    a, b = (_exponents(fmt) for fmt in shape.factors)
    at = []
    for word, low, other in (("a", a[0], b[1]), ("b", b[0], a[1])):
        flat = not shape.addends and low + other <= shape.exps[0]
        why = (
            f"a zero {word} counts with exponent {low}, so that its product is never above a number's" if flat else None
        )
        at.append(out.bin("G3", f"zero product above max_exp, by a zero {word}", shape.together or why))
    flat = not shape.addends and max(a[0] + b[1], b[0] + a[1]) <= shape.exps[0]
    why = "a zero product's exponent is never above a number's" if flat else None
    if shape.lanes == 1:
        why = "a group has one product only"
    every = out.bin("G3", "zero products above max_exp in all lanes but one", shape.together or why)
    nothing = out.bin("G3", "every term zero")
    alone = out.bin("G3", "every product zero, and the addend not") if shape.addends else None
    most = shape.lanes - 1

    def sample(seen: Seen, hits: Hits) -> None:
        if not seen.finite:
            return
        if seen.top is None:
            hits.add(nothing)
            return
        if not seen.terms and alone is not None:
            hits.add(alone)
        top = seen.top
        above = [lane for lane, term in enumerate(seen.group.products) if term.exp > top and not term.sig]
        for lane in above:
            if not seen.group.a[lane].sig:
                hits.add(at[0])
            if not seen.group.b[lane].sig:
                hits.add(at[1])
        if len(above) == most and most:
            hits.add(every)

    out.groups.append(sample)


def _exponents(fmt: object) -> tuple[int, int]:
    return (fmt.emin, fmt.emax) if isinstance(fmt, FloatFormat) else (0, 0)


def _ties(shape: Shape, out: Declared) -> None:
    at = {n: out.bin("G3", f"{n} of {shape.lanes} products at max_exp") for n in shape.landmarks()}
    with_addend = (
        {n: out.bin("G3", f"{n} of {shape.lanes} products and the addend at max_exp") for n in shape.landmarks()}
        if shape.addends
        else {}
    )

    def sample(seen: Seen, hits: Hits) -> None:
        n = len(seen.holders)
        if n in at:
            hits.add(at[n])
            if seen.addend is not None and seen.addend[1].exp == seen.top and n in with_addend:
                hits.add(with_addend[n])

    out.groups.append(sample)


def _lanes(shape: Shape, out: Declared) -> None:
    k = shape.lanes
    alone = [out.bin("G3", f"lane {lane} alone sets max_exp, beside other terms", shape.together) for lane in range(k)]
    by_addend = out.bin("G3", "the addend alone sets max_exp, beside products") if shape.addends else None
    why = _never_straddles(shape)
    pairs = [
        [
            -1 if i == j else out.bin("G3", f"lane {i} sets max_exp, lane {j} straddles the window", why)
            for j in range(k)
        ]
        for i in range(k)
    ]

    def sample(seen: Seen, hits: Hits) -> None:
        if not seen.holders:
            if by_addend is not None and seen.terms:
                hits.add(by_addend)
            return
        addend_level = seen.addend is not None and seen.addend[1].exp == seen.top
        if len(seen.holders) == 1 and not addend_level and len(seen.terms) + (seen.addend is not None) > 1:
            hits.add(alone[seen.holders[0]])
        straddling = [lane for lane, term, below, field in seen.terms if field and term.sig >> below]
        for holder in seen.holders if straddling else ():
            row = pairs[holder]
            hits.update([row[lane] for lane in straddling if lane != holder])

    out.groups.append(sample)


def _never_straddles(shape: Shape) -> str | None:
    """Why no product below another keeps some bits and loses some, or None."""
    if shape.lanes < 2:
        return shape.apart(0)
    for d in shape.distances:
        places = shape.below(d)
        if 0 < places < shape.width and shape.apart(d) is None:
            sigs = shape.sigs(d, False)
            if sigs is None or any(sig & ((1 << places) - 1) and sig >> places for sig in sigs):
                return None
    if shape.below(shape.farthest) <= 0:
        return (
            f"products of {shape.names} are at most {shape.farthest} apart, with {shape.bits} fraction bits, and lose "
            f"none in a window of {shape.window} beside one another"
        )
    return f"no product of {shape.names} keeps bits and loses bits below another: all are enumerated"
