"""G4: what is cut off below the window."""

from __future__ import annotations

from fractions import Fraction

from hwsim.cases.bins.declare import Declared, Hits
from hwsim.cases.bins.seen import Seen, SignedTerm
from hwsim.cases.bins.shape import Shape

SIGNS = ("+", "-")
MOST_DEPTH = 40  # places below the window that have a bin each
KINDS = ("zero", "one last bit", "below half", "half", "above half", "all ones")


def kind(field: int, places: int) -> str:
    """The one kind of a field of so many lost bits. places: at least 1."""
    half = 1 << places - 1
    if field in (0, half):
        return "half" if field else "zero"
    if field == 2 * half - 1:
        return "all ones"
    if field == 1:
        return "one last bit"
    return "below half" if field < half else "above half"


def kinds(places: int) -> list[str]:
    """The kinds that there are of fields of so many bits."""
    if places > 3:
        return list(KINDS)
    there = {kind(field, places) for field in range(1 << places)}
    return [word for word in KINDS if word in there]


def declare(shape: Shape, out: Declared) -> None:
    """Fields of lost bits of straddling products; single lost bits; how many lanes lose; how much is lost together."""
    _fields(shape, out)
    _single(shape, out)
    _count(shape, out)
    _together(shape, out)


def _fields(shape: Shape, out: Declared) -> None:
    at: dict[tuple[int, str, int], int] = {}
    for places in range(max(1, shape.bits - shape.window), shape.width):
        d = places + shape.window - shape.bits
        sigs = shape.sigs(d, True)
        for word in kinds(places):
            why = shape.lowered(d)
            if why is None and sigs is not None and not any(_is(sig, places, word) for sig in sigs):
                why = (
                    f"no product of {shape.names} that can be {d} below ends in such {places} bits: all are enumerated"
                )
            if why is None and shape.never_ends(places, word):
                why = f"no significands of {shape.names} make a product that ends in such {places} bits: all enumerated"
            for sign in (0, 1):
                name = f"d={d}, {places} bits of a {SIGNS[sign]} product lost: {word}"
                at[places, word, sign] = out.bin("G4", name, why)
    addend = {
        (word, sign): out.bin("G4", f"bits of a {SIGNS[sign]} addend lost: {word}")
        for word in kinds(shape.bench.addend_bits - 1 if shape.bench.addend_bits > 1 else 1)
        for sign in ((0, 1) if shape.addends else ())
    }
    width = shape.width

    def sample(seen: Seen, hits: Hits) -> None:
        for _, term, below, field in seen.terms:
            if 0 < below < width:
                hits.add(at[below, kind(field, below), term.sign])
        if seen.addend is not None:
            _, term, below, field = seen.addend
            # Past that it has no bits in the window, and the field is not one of its straddling.
            if 0 < below <= term.fraction_bits:
                hits.add(addend[kind(field, below), term.sign])

    out.groups.append(sample)


def _is(sig: int, places: int, word: str) -> bool:
    return kind(sig & ((1 << places) - 1), places) == word


def _single(shape: Shape, out: Declared) -> None:
    """A single lost bit in the whole group, by its depth below the window's last place.

    Where lost bits change what is kept, the bit must show in the result: without it that would be another.
    """
    shows = "" if shape.unit.sum.lost == "truncate" else ", and it shows"
    last = max(shape.width, min(shape.below(shape.farthest), MOST_DEPTH))
    at = {}
    for depth in range(1, last + 1):
        name = f"a product's bit {depth} below the window lost, and nothing else{shows}"
        at[depth] = out.bin("G4", name, _never_single(shape, depth))
    deepest = shape.deepest()
    flat = None
    if deepest is not None and shape.below(deepest[0]) <= last:
        flat = f"{deepest[1]}, so that it loses no bit deeper than {max(0, shape.below(deepest[0]))}"
    name = f"a product's bit more than {last} below the window lost, and nothing else{shows}"
    deeper = out.bin("G4", name, shape.loses or flat)
    bits = shape.bench.addend_bits
    addend = {
        depth: out.bin("G4", f"the addend's bit {depth} below the window lost, and nothing else{shows}")
        for depth in range(1, bits)
    }

    def sample(seen: Seen, hits: Hits) -> None:
        losing = [one for one in seen.terms if one[3]]
        if seen.addend is not None and seen.addend[3]:
            losing.append(seen.addend)
        if len(losing) != 1:
            return
        lane, _, below, field = losing[0]
        if field & (field - 1) or (shows and not _shows(seen, losing[0], shape)):
            return
        depth = below - field.bit_length() + 1
        if lane >= 0:
            hits.add(at.get(depth, deeper))
        elif depth in addend:
            hits.add(addend[depth])

    out.groups.append(sample)


def _shows(seen: Seen, one: SignedTerm, shape: Shape) -> bool:
    """Whether the case's last sum would be another one if a term had no bits below the window."""
    if (seen.place + 1) * shape.lanes != len(seen.case.a):
        return False
    lane, term, below, _ = one
    kept = -(term.sig >> below) if term.sign else term.sig >> below
    total = seen.group.total - seen.group.aligned[lane] + kept
    return shape.bench.definition.round(total, seen.top).code != seen.group.code


def _never_single(shape: Shape, depth: int) -> str | None:
    if shape.loses is not None or shape.addends or not shape.exact_products:
        return shape.loses
    for d in shape.distances:
        places = shape.below(d)
        if places >= depth and shape.lowered(d) is None:
            want, mask = 1 << places - depth, (1 << places) - 1
            if any(sig & mask == want for sig in shape.sigs(d, False) or ()):
                return None
    if shape.farthest > shape.distances[-1]:
        return None
    return f"no product of {shape.names} loses that bit alone, at any distance: all are enumerated"


def _count(shape: Shape, out: Declared) -> None:
    k = shape.lanes
    counts = sorted({1, 2, k - 1} & set(range(1, k))) + ([k] if shape.addends else [])
    nothing = out.bin("G4", "several products, and none loses bits", "a group has one product only" if k == 1 else None)
    why = shape.loses if k > 1 or shape.addends else shape.together
    below = None if shape.addends else why
    at = {n: out.bin("G4", f"{n} of {k} products lose bits", below) for n in counts}

    def sample(seen: Seen, hits: Hits) -> None:
        losing = sum([1 for _, _, _, field in seen.terms if field])
        if losing:
            if losing in at:
                hits.add(at[losing])
        elif len(seen.terms) > 1 and not (seen.addend and seen.addend[3]):
            hits.add(nothing)

    out.groups.append(sample)


def _together(shape: Shape, out: Declared) -> None:
    """The sum of what products lose, in places of the window's last."""
    half = Fraction(shape.lanes, 2)
    most = None if shape.most_lost is None else shape.most_lost * (shape.lanes - 1)
    zones = ["0", "above 0, below 1", "1", "above 1, below 2", f"2 or more, below {half}", f"{half} or more"]
    if half <= 2:
        zones = [*zones[:4], "2 or more"]
    at = []
    for zone in zones:
        why = shape.together or (None if zone == "0" else shape.loses or _too_little(shape, zone, half))
        at.append(out.bin("G4", f"products lose together {zone} of the last place", why))
    full = None
    if most:
        name = f"products lose together {most} of the last place or more, the most beside a product"
        full = out.bin("G4", name)
    index_of = dict(zip(zones, at, strict=True))
    above, top = index_of.get(f"2 or more, below {half}"), at[-1]

    def sample(seen: Seen, hits: Hits) -> None:
        if len(seen.terms) + (seen.addend is not None) < 2:
            return
        losing = [(below, field) for _, _, below, field in seen.terms if field]
        if not losing:
            hits.add(at[0])
            return
        deep = max([below for below, _ in losing])
        total, one = sum([field << deep - below for below, field in losing]), 1 << deep
        if total < one:
            hits.add(at[1])
        elif total < 2 * one:
            hits.add(at[2] if total == one else at[3])
        elif above is None or total >= half * one:
            hits.add(top)
        else:
            hits.add(above)
        if full is not None and most is not None and total >= most * one:
            hits.add(full)

    out.groups.append(sample)


def _too_little(shape: Shape, zone: str, half: Fraction) -> str | None:
    """Why products never lose so much together, or None."""
    most, attained = shape.most_together
    least = {"above 0, below 1": Fraction(0), "1": Fraction(1), "above 1, below 2": Fraction(1)}.get(zone, Fraction(2))
    if zone == f"{half} or more":
        least = half
    beyond = zone.startswith("above")
    if most > least or (most == least and attained and not beyond):
        return None
    return f"all that can lose bits lose {'' if attained else 'less than '}{most} of the last place together at most"
