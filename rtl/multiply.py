"""Multiply: two decoded factors to an exact product, not normalised."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .layouts import SPECIAL, decoded_layout, factor_layout, products_layout, term_layout
from .numbers import PairRanges, WindowRanges, signed_shape
from .step import DatapathStep, assign
from .zeros import carry_save

SMALL = 4  # bits of significands up to which rows of full adders are smaller than what synthesis makes of `*`


def product_in_rows(m: Module, a: Value, b: Value) -> Value:
    """a * b as rows of full adders, and one addition of the high bits."""
    bits = len(a) + len(b)
    partial = [Signal(len(a), name=f"partial{at}") for at in range(len(b))]
    m.d.comb += [to.eq(a & bit.replicate(len(a))) for to, bit in zip(partial, b, strict=True)]
    rows = [Cat(Const(0, at), row, Const(0, bits - at - len(a))) for at, row in enumerate(partial)]
    total, carries = rows[0], rows[1]
    for at, row in enumerate(rows[2:]):
        differ, row_sum = Signal(bits, name=f"differ{at}"), Signal(bits, name=f"row_sum{at}")
        row_carry = Signal(bits - 1, name=f"row_carry{at}")
        values = carry_save(total, carries, row, differ)
        m.d.comb += [differ.eq(total ^ carries), row_sum.eq(values[0]), row_carry.eq(values[1][1:])]
        total, carries = row_sum, Cat(Const(0, 1), row_carry)
    return (total + carries)[:bits]


class LaneProduct(wiring.Component):
    """The exact product of one lane, and whether it is NaN or infinite."""

    def __init__(self, n: PairRanges):
        self.n = n
        scale = {"scale_exp": In(n.scale_most.bit_length())} if n.scales else {}
        super().__init__(
            {
                "a": In(factor_layout(n.multiplied[0])),
                "b": In(factor_layout(n.multiplied[1])),
                **scale,
                "term": Out(term_layout(n)),
                "special": Out(SPECIAL),
            }
        )

    @property
    def purpose(self) -> str:
        """What the module computes."""
        how = " Rows of full adders sum partial products, and the last addition their carries." if self.in_rows else ""
        return f"The exact product of one lane, and whether it is NaN or infinite.{how}"

    @property
    def in_rows(self) -> bool:
        """Whether significands are so small that rows of full adders multiply them."""
        sizes = sorted(shape.sig_bits for shape in self.n.multiplied)
        return sizes[0] > 1 and 2 < sizes[1] <= SMALL

    def elaborate(self, platform: object) -> Module:
        """The multiplier's logic."""
        m = Module()
        a, b, term, special = self.a, self.b, self.term, self.special
        zero_a, zero_b = Signal(name="a_zero"), Signal(name="b_zero")
        exp = Signal(term.exp.shape())
        inf = Signal()
        m.d.comb += [
            zero_a.eq(~a.sig.any()),
            zero_b.eq(~b.sig.any()),
            term.sign.eq(a.sign ^ b.sign),
            term.sig.eq(product_in_rows(m, a.sig, b.sig) if self.in_rows else a.sig * b.sig),
            exp.eq(a.bexp + b.bexp + self.scale_exp if self.n.scales else a.bexp + b.bexp),
            # A zero product has exponent 0, below every other, so that it never sets the maximum.
            term.exp.eq(Mux(zero_a | zero_b, 0, exp)),
            inf.eq(a.inf | b.inf | self._exceeds(m)),
            special.nan.eq(a.nan | b.nan | (a.inf & zero_b) | (b.inf & zero_a)),
            special.positive.eq(inf & ~term.sign),
            special.negative.eq(inf & term.sign),
        ]
        return m

    def _exceeds(self, m: Module) -> Value:
        """Whether a finite product's magnitude is beyond the unit's limit for it: 2^product_limit or more."""
        n, limit = self.n, self.n.limit
        if limit is None:
            return Const(0)
        bits = n.sig_bits
        # So far up that the significand's leading one leaves it where the product is too large.
        move = bits - n.product_fraction_bits - limit - n.product_bias
        up = Signal(signed_shape(min(move, 0), max(n.product_most + move, bits)), name="up")
        places = Signal(range(bits + 1), name="places")
        m.d.comb += [up.eq(self.term.exp + move), places.eq(Mux(up < 0, 0, Mux(up > bits, bits, up)))]
        moved = Signal(2 * bits, name="moved")
        m.d.comb += moved.eq(self.term.sig << places)
        return moved[bits:].any()


class Multiply(DatapathStep):
    """The product of every lane; special values of all lanes and the addend are gathered."""

    def __init__(self, n: WindowRanges):
        self.n = n
        super().__init__("multiply", decoded_layout(n), products_layout(n), {"terms", "special"})

    def compute(self, m: Module) -> None:
        """Drive the terms and the special values."""
        products = [LaneProduct(self.n) for _ in range(self.n.lanes)]
        for lane, product in enumerate(products):
            m.submodules[f"lane{lane}"] = product
            m.d.comb += [
                *assign(product.a, self.i.a[lane]),
                *assign(product.b, self.i.b[lane]),
                *assign(self.o.terms[lane], product.term),
            ]
            if self.n.scales:
                m.d.comb += product.scale_exp.eq(self.i.scale_exp[lane])
        gathered = {
            field: Cat(getattr(self.i.special, field), *(product.special[field] for product in products)).any()
            for field in SPECIAL.members
        }
        m.d.comb += [
            self.o.special.nan.eq(gathered["nan"]),
            self.o.special.positive.eq(gathered["positive"]),
            self.o.special.negative.eq(gathered["negative"]),
        ]
