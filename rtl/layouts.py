"""What crosses each step of a datapath with a window. Field names are the model's."""

from __future__ import annotations

from amaranth.hdl import Shape, signed, unsigned
from amaranth.lib.data import ArrayLayout, Layout, StructLayout

from hwsim.formats import Format
from hwsim.spec.keys import Number

from .numbers import FactorShape, PairRanges, ProductRanges, WindowRanges, signed_shape

SPECIAL = StructLayout({"nan": 1, "positive": 1, "negative": 1})


def factor_layout(of: Format | FactorShape) -> StructLayout:
    """A decoded number of a format, or of such a shape."""
    shape = of if isinstance(of, FactorShape) else FactorShape.of(of)
    return StructLayout({"sign": 1, "bexp": unsigned(shape.bexp_bits), "sig": shape.sig_bits, "nan": 1, "inf": 1})


def factors_layout(n: ProductRanges) -> StructLayout:
    """Codes of the factors and of their scales, lane 0 and block 0 in the low bits; the mode of a unit of several."""
    fields: dict[str, object] = {
        name: ArrayLayout(unsigned(side.container_bits), n.lanes) for name, side in n.sides.items()
    }
    for name, fmt, blocks in zip(("scale_a", "scale_b"), n.scale_formats, n.scale_blocks, strict=False):
        fields[name] = ArrayLayout(unsigned(fmt.container_bits), blocks)
    mode = {"mode": unsigned(n.mode_bits)} if n.mode_bits else {}
    return StructLayout({**fields, **mode})


def operands_layout(n: WindowRanges, carried: StructLayout) -> StructLayout:
    """A group's operands; `chain`: the addend is the partial sum in `carried`, not `c`."""
    c = {} if n.window_addend is None else {"c": unsigned(n.window_addend.container_bits)}
    return StructLayout({**factors_layout(n).members, **c, "carried": carried, "chain": 1})


def addend_layout(n: WindowRanges) -> StructLayout:
    """The addend as a term of the window; exp is in the product domain."""
    return StructLayout({"sign": 1, "exp": signed_shape(*n.addend_exp), "sig": unsigned(n.addend_fraction_bits + 1)})


def decoded_layout(n: WindowRanges) -> StructLayout:
    """After decode. scale_exp: the sum of both scales' codes, for each lane."""
    fields: dict[str, Layout] = {
        "a": ArrayLayout(factor_layout(n.multiplied[0]), n.lanes),
        "b": ArrayLayout(factor_layout(n.multiplied[1]), n.lanes),
        "addend": addend_layout(n),
        "special": SPECIAL,
    }
    if n.scales:
        fields["scale_exp"] = ArrayLayout(unsigned(n.scale_most.bit_length()), n.lanes)
    return StructLayout(fields)


def term_layout(n: PairRanges) -> StructLayout:
    """A product. exp is 0 for a zero product, else at least 1."""
    return StructLayout({"sign": 1, "exp": unsigned(n.product_most.bit_length()), "sig": unsigned(n.sig_bits)})


def products_layout(n: WindowRanges, maxima: int = 0) -> StructLayout:
    """After multiply, and inside the tree that finds the maximum, of which `maxima` candidates are left."""
    fields: dict[str, Layout] = {
        "terms": ArrayLayout(term_layout(n), n.lanes),
        "addend": addend_layout(n),
        "special": SPECIAL,
    }
    if maxima:
        fields["maxima"] = ArrayLayout(unsigned(n.product_most.bit_length()), maxima)
    return StructLayout(fields)


def max_exp_layout(n: WindowRanges) -> StructLayout:
    """After maximum."""
    members = products_layout(n).members
    return StructLayout({**members, "max_exp": signed_shape(*n.max_exp)})


def near_bits(n: WindowRanges) -> int:
    """Bits of max_exp as products see it."""
    return min(n.product_exp_bits, n.max_exp[1].bit_length())


def near_layout(n: WindowRanges) -> StructLayout:
    """After maximum, with max_exp as products see it."""
    return StructLayout({**max_exp_layout(n).members, "near": unsigned(near_bits(n))})


def shifts_layout(n: WindowRanges) -> StructLayout:
    """After distance. shift: how far below max_exp a term is, clamped; the addend's is the last."""
    term = StructLayout({"sign": 1, "sig": unsigned(n.sig_bits)})
    addend = StructLayout({"sign": 1, "sig": unsigned(n.addend_fraction_bits + 1)})
    return StructLayout(
        {
            "terms": ArrayLayout(term, n.lanes),
            "addend": addend,
            "shifts": ArrayLayout(unsigned(n.distance_bits), n.lanes + 1),
            "max_exp": signed_shape(*n.max_exp),
            "special": SPECIAL,
        }
    )


def aligned_layout(n: WindowRanges) -> StructLayout:
    """A term in the window, `ones + carry`, in units of 2^(max_exp - fraction_bits).

    `ones` is the ones' complement of a negative magnitude: the +1 that completes it is left to the sum.
    """
    return StructLayout({"ones": signed(n.term_bits), "carry": 1})


def beside_terms(n: WindowRanges) -> dict[str, Layout | Shape]:
    """What goes with terms, and with their sum, from align on. lost: whether each term, the addend last, lost a 1."""
    lost = {"lost": ArrayLayout(unsigned(1), n.lanes + 1)} if n.sticky else {}
    return {"max_exp": signed_shape(*n.max_exp), "special": SPECIAL, **lost}


def window_layout(n: WindowRanges) -> StructLayout:
    """After align. The addend is the last of the terms."""
    return StructLayout({"aligned": ArrayLayout(aligned_layout(n), n.lanes + 1), **beside_terms(n)})


def halves_layout(n: WindowRanges) -> StructLayout:
    """Inside the first row of full adders: of three words a, b and c, `a ^ b`, a and c; and the terms that are left.

    A term is three words: the bits below its sign, its sign, and its carry.
    """
    word = {name: StructLayout({"low": n.term_bits - 1, "sign": 1, "carry": 1}) for name in ("half", "first", "third")}
    terms = n.lanes + 1
    left = {"aligned": ArrayLayout(aligned_layout(n), terms % 3)} if terms % 3 else {}
    fields: dict[str, Layout] = {"halves": ArrayLayout(StructLayout(word), terms // 3), **left}
    return StructLayout({**fields, **beside_terms(n)})


def sums_layout(n: WindowRanges, sums: int, terms: int) -> StructLayout:
    """Inside the tree that sums, of which `sums` partial sums of up to `terms` terms are left; the last is `total`."""
    last = {"total": n.total} if sums == 1 else {"sums": ArrayLayout(n.sum_of(terms), sums)}
    return StructLayout({**last, **beside_terms(n)})


def result_layout(fmt: Number) -> StructLayout:
    """After round: a code without its padding, and whether it is NaN (whose padding is ones)."""
    return StructLayout({"code": unsigned(fmt.bits), "nan": 1})
