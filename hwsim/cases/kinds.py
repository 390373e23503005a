"""Kinds of random cases: general ones, and directed ones, which are data: what a case of each looks like."""

from __future__ import annotations

from typing import NamedTuple

# Any numbers, near one another, spread over the window, cancelling, few, straddling the window's end, beside a large
# addend, or with zeros, NaNs and infinities.
KINDS = ("any", "near", "spread", "cancel", "sparse", "straddle", "addend", "special")

# Significands of leading products: any, powers of two, the largest of their binades, the smallest of subnormal factors.
ANY, POWER, LARGEST, SMALLEST = range(4)
# Addends by exponent: anywhere or zero, near the products, above them, at either end of the range, zero.
ANYWHERE, NEAR, ABOVE, LEAST, MOST, ZERO = range(6)


class CaseKind(NamedTuple):
    """Directed cases of one kind. Shares are probabilities; distances are in binades, from the leading products down.

    Each group has some leading products of one exponent, and further ones below them in other lanes.
    least, most, end: shares of cases whose leading products are near the least, or the largest exponent that products
    have, or near the least of the result's format; the others are around the middle.
    leads: how few and how many leading products there are. crowd: of groups that are half full of them, or so.
    one_sign: whether they all have one sign. shape: their significands. cancel: of cases whose first lead cancels.
    half: of groups with a power of two at half an ulp of the result; with `floor` of its least numbers.
    rest: how few and how many further products there are. full: of groups in which they take all lanes.
    near, edge: of further products at most 2 below, and at the window's end; the others are anywhere down to 2, to 6,
    to the window's end or below it. reach: how far above that end the edge begins, in lengths of a product's fraction.
    floor: whether that end is of a max_exp 1 or 2 above the leading products, which are just below where the result's
    normal numbers begin, or its subnormal ones.
    deep: of further products whose exponent is among the eight least that products have.
    subnormal: of products with a subnormal factor where there can be one.
    zeros: of the lanes that are left, those of zero times a number of any exponent. empty: of cases of zeros alone.
    special: of cases with NaN or infinity in them.
    addend: where the addend is, by its exponent.
    """

    least: float = 0.1
    most: float = 0.1
    end: float = 0.0
    leads: tuple[int, int] = (1, 2)
    crowd: float = 0.0
    one_sign: bool = False
    shape: int = ANY
    cancel: float = 0.0
    half: float = 0.0
    rest: tuple[int, int] = (1, 4)
    full: float = 0.0
    near: float = 0.0
    edge: float = 0.0
    reach: int = 1
    floor: bool = False
    deep: float = 0.0
    subnormal: float = 0.05
    zeros: float = 0.0
    empty: float = 0.0
    special: float = 0.0
    addend: int = ANYWHERE


DIRECTED: dict[str, CaseKind] = {
    # A power of two, perhaps half an ulp of the result, and a little at the window's end: a borrow, a tie.
    "rounding": CaseKind(one_sign=True, shape=POWER, half=0.75, edge=1.0, reach=0),
    "tie": CaseKind(one_sign=True, shape=POWER, half=0.8, rest=(1, 1), edge=1.0, reach=0, addend=ZERO),
    "edge": CaseKind(edge=1.0),
    "ladder": CaseKind(leads=(1, 1), full=1.0),
    "opposite": CaseKind(leads=(1, 2), cancel=1.0, edge=0.5),
    "below": CaseKind(leads=(0, 2), addend=ABOVE),
    "few": CaseKind(least=0.3, leads=(0, 1), rest=(0, 1), subnormal=0.3, addend=LEAST),
    "subnormal": CaseKind(shape=SMALLEST, edge=1.0, reach=2, subnormal=0.5),
    "growth": CaseKind(crowd=1.0, one_sign=True, edge=1.0),
    # Zeros of any exponent beside small numbers; zeros alone.
    "zeros": CaseKind(least=0.9, leads=(1, 1), near=0.5, zeros=0.7),
    "empty": CaseKind(empty=1.0, addend=ZERO),
    # Where the result's format ends below, and above.
    "floor": CaseKind(
        end=1.0, floor=True, leads=(2, 2), one_sign=True, shape=POWER, rest=(1, 1), edge=1.0, reach=0, addend=ZERO
    ),
    # Half an ulp of the result's least numbers and, far below, the least products: lost where max_exp has a floor.
    "halfway": CaseKind(end=1.0, floor=True, leads=(0, 0), half=1.0, rest=(1, 1), deep=1.0, subnormal=0.7, addend=ZERO),
    "tiny": CaseKind(end=1.0, rest=(0, 4), empty=0.3, addend=LEAST),
    "vanishing": CaseKind(end=1.0, rest=(0, 4), addend=ZERO),
    "overflow": CaseKind(most=0.9, crowd=0.5, one_sign=True, near=0.5, addend=MOST),
    "specials": CaseKind(rest=(1, 8), special=1.0),
}
