"""Directed cases of the sum: cancellation, normalisation shifts, growth and carries."""

from __future__ import annotations

from itertools import product as cross

from hwsim.cases.bench import Bench
from hwsim.cases.directed_align import SIGNS
from hwsim.cases.palette import Product
from hwsim.cases.solver import Addend, Found

MOST_TOPS = 96  # exponents tried for one case


def opposite(bench: Bench, one: Product) -> Product | None:
    """The product of the other sign, or None (MXINT8's -2 times -2 has none)."""
    return bench.palette.find(1 - one.sign, one.exp, one.sig)


def against(bench: Bench, one: Product) -> Addend | None:
    """The addend that cancels a product."""
    return bench.addend(1 - one.sign, one.sig, one.exp - bench.palette.fraction_bits)


def large(bench: Bench, exp: int, sign: int = 0) -> Product | None:
    """A product of an exponent that has an opposite."""
    products = bench.palette.of(sign, exp)
    first = bench.rng.randrange(len(products)) if products else 0
    return next((one for one in (*products[first:], *products[:first]) if opposite(bench, one)), None)


def normalize(bench: Bench) -> None:
    """Every left shift: large terms cancel, and what remains has its leading one at each place."""
    for place, sign, lost in cross(range(bench.window + 1), SIGNS, (False, True)):
        name = f"normalize/left{place:02}-{'lost' if lost else 'exact'}-{'neg' if sign else 'pos'}"
        _remaining_product(bench, name, place, sign, lost)
        _remaining_addend(bench, f"{name}-addend", place, sign, lost)
        if not lost:
            total = (-1) ** sign << bench.window - place
            tops = bench.tops(-place)
            bench.found(f"{name}-solved", bench.total(total, tops))
            bench.found(f"{name}-solved-addend", bench.total(total, tops, addend=True))
            _nearly_equal(bench, f"{name}-nearly", place, sign)


def _remaining_product(bench: Bench, name: str, place: int, sign: int, lost: bool) -> None:
    """X - X + a product whose leading one is `place` places below X's exponent."""
    bits = bench.palette.fraction_bits
    for exp in bench.tries:
        high = large(bench, exp)
        for d in range(place, place + bits + 1) if high else ():
            low = [
                one
                for one in bench.palette.of(sign, exp - d)
                if one.sig.bit_length() - 1 - bits - d == -place and lost == bool(one.sig & bench.lost_bits(d))
            ]
            back = high and opposite(bench, high)
            if high and back and low and bench.one(name, (high, back, bench.rng.choice(low))):
                return


def _remaining_addend(bench: Bench, name: str, place: int, sign: int, lost: bool) -> None:
    """X - X + an addend `place` places below X's exponent."""
    below = bench.addend_bits - 1 - (bench.window - place)
    if not bench.addend_bits or (lost and below < 1):
        return
    sig = (1 << bench.window - place + 1) + 1 if lost else 1
    for exp in bench.tries:
        high = large(bench, exp)
        back = high and opposite(bench, high)
        added = bench.addend(sign, sig, exp - bench.window - 1 if lost else exp - place) if back else None
        if high and back and added and bench.one(name, (high, back), added):
            return


def _nearly_equal(bench: Bench, name: str, place: int, sign: int) -> None:
    """A product, and an addend of the other sign that differs from it in one place."""
    bits = bench.palette.fraction_bits
    for exp in bench.tries:
        for one in reversed(bench.palette.of(sign, exp)):
            unit = min(exp - bits, exp - place)
            size = (one.sig << exp - bits - unit) - (1 << exp - place - unit)
            added = bench.addend(1 - sign, size, unit) if size > 0 else None
            if added and added.term.exp <= exp and bench.one(name, (one,), added):
                return


def growth(bench: Bench) -> None:
    """1, 2, 3 and so on to all lanes of one large product, in both signs, with and without an addend as large."""
    fits = [exp for exp in bench.inside if exp + bench.growths <= bench.result_exps[1]]
    top = fits[-1] if fits else bench.palette.exps[-1]
    for sign in SIGNS:
        products = bench.palette.of(sign, top)
        kinds = {"max": products[-1], "one": bench.palette.find(sign, top, 1 << bench.palette.fraction_bits)}
        word = "neg" if sign else "pos"
        for (kind, one), n in cross(kinds.items(), range(1, bench.lanes + 1)):
            if one is None:
                continue
            bench.one(f"growth/{kind}{n:02}-{word}", (one,) * n)
            if n in {1, 2, 3, bench.lanes} or n & (n - 1) == 0 or n & (n + 1) == 0:
                _grown_with_addend(bench, f"growth/{kind}{n:02}-addend-{word}", (one,) * n)


def _grown_with_addend(bench: Bench, name: str, products: tuple[Product, ...]) -> None:
    bits = bench.addend_bits
    if bits:
        one = products[0]
        added = bench.addend(one.sign, (1 << bits) - 1, one.exp - bits + 1) or bench.addend(one.sign, 1, one.exp)
        if added:
            bench.one(name, products, added)


def carry(bench: Bench) -> None:
    """Ones from each place up to the top of the window, and one more in the last of them; the same backwards."""
    for place, sign in cross(range(bench.window + 1), SIGNS):
        word = f"{place:02}-{'neg' if sign else 'pos'}"
        ones = (1 << bench.window + 1) - (1 << place)
        _one_more(bench, f"carry/product{word}", -ones if sign else ones, sign, place, False)
        _one_more(bench, f"carry/addend{word}", -ones if sign else ones, sign, place, True)
        whole = 1 << bench.window
        _one_more(bench, f"carry/borrow{word}", -whole if sign else whole, 1 - sign, place, False)
        _one_more(bench, f"carry/borrow-addend{word}", -whole if sign else whole, 1 - sign, place, True)


def _one_more(bench: Bench, name: str, total: int, sign: int, place: int, with_addend: bool) -> None:
    """Terms of that sum, and a product of one unit in a place of the window."""
    exps = bench.inside
    lowest = exps[0] - bench.palette.fraction_bits
    tops = [top for top in range(exps[0], exps[-1] + bench.window + 3) if top - bench.window + place >= lowest]
    for top in sorted(tops, key=lambda top: (top not in exps, abs(top - exps[-1])))[:MOST_TOPS]:
        unit = [one for one in bench.palette.powers(sign, top - bench.window + place) if one.exp <= top]
        if not unit:
            continue
        whole = bench.addend(int(total < 0), abs(total), top - bench.window) if with_addend else None
        found = Found((), whole) if whole else None if with_addend else bench.total(total, [top])
        if found and found.shift == 0 and bench.one(name, (*found.products, unit[0]), found.addend):
            return


def cancel(bench: Bench) -> None:
    """Exact cancellation between each lane and the next, and between each lane and the addend."""
    exps = bench.inside
    for i in range(bench.lanes):
        for sign in SIGNS:
            word = "neg" if sign else "pos"
            one = large(bench, exps[(7 * i) % len(exps)], sign) or large(bench, exps[-1], sign)
            back = one and opposite(bench, one)
            if one and back:
                bench.one(f"cancel/lane{i:02}-next-{word}", (one, back), lane=i)
            _cancel_addend(bench, f"cancel/lane{i:02}-addend-{word}", i, sign)
    whole = large(bench, exps[-1])
    if whole and (back := opposite(bench, whole)):
        half = bench.lanes // 2
        bench.one("cancel/all-halves", (*[whole] * half, *[back] * half))
        bench.one("cancel/all-alternating", (whole, back) * half)


def _cancel_addend(bench: Bench, name: str, i: int, sign: int) -> None:
    exps = bench.inside
    for k in range(len(exps)):
        products = bench.palette.of(sign, exps[(5 * i + k) % len(exps)])
        for one in bench.rng.sample(products, min(4, len(products))):
            added = against(bench, one)
            if added and bench.one(name, (one,), added, lane=i):
                return


def residue(bench: Bench) -> None:
    """What the window keeps cancels, and what it lost does not: the sum is zero, or one last place, and not exact."""
    for sign in SIGNS:
        word = "neg" if sign else "pos"
        _same_kept(bench, word, sign)
        _hidden_in_addend(bench, word, sign)
        for exp in bench.tries:
            one, low = large(bench, exp), bench.palette.of(sign, exp - bench.window - 2)
            back = one and opposite(bench, one)
            if one and back and low and bench.one(f"residue/all-lost-{word}", (one, back, low[-1])):
                break


def _same_kept(bench: Bench, word: str, sign: int) -> None:
    """X - X + t - u, where t and u straddle the window's end and differ in what is lost, for each number of places."""
    bits = bench.palette.fraction_bits
    for places in range(1, bits + 2):
        d, below = bench.window - bits + places, (1 << places) - 1
        for exp in bench.tries if d >= 0 else ():
            high = large(bench, exp)
            back = high and opposite(bench, high)
            lows, others = bench.palette.of(sign, exp - d), bench.palette.of(1 - sign, exp - d)
            pairs = [(t, u) for t in lows for u in others if t.sig >> places == u.sig >> places and t.sig != u.sig]
            if high and back and pairs:
                for name, able in (
                    ("zero", [pair for pair in pairs if not pair[1].sig & below]),
                    ("both", [pair for pair in pairs if pair[0].sig & below and pair[1].sig & below]),
                ):
                    if able:
                        bench.one(f"residue/{name}{places:02}-{word}", (high, back, *bench.rng.choice(able)))
                break


def _hidden_in_addend(bench: Bench, word: str, sign: int) -> None:
    """A product against an addend that is the same in the window, and has bits below it."""
    bits = bench.palette.fraction_bits
    for places in range(1, bench.addend_bits - bench.window):
        for one in bench.sign_of(sign):
            unit = one.exp - bench.window - places
            lead = one.exp - bits - unit
            if lead < places or one.sig >> bits != 1:
                continue
            added = bench.addend(1 - sign, (one.sig << lead) + 1, unit)
            if added and bench.one(f"residue/addend{places:02}-{word}", (one,), added):
                break
