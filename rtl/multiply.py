"""Multiply: two decoded factors to an exact product, not normalised."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .layouts import SPECIAL, decoded_layout, factor_layout, products_layout, term_layout
from .numbers import PairRanges, WindowRanges, signed_shape
from .step import DatapathStep, assign


class LaneProduct(wiring.Component):
    """The product of one lane, and what is special about it."""

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

    def elaborate(self, platform: object) -> Module:
        """The multiplier's logic."""
        m = Module()
        a, b, term, special = self.a, self.b, self.term, self.special
        zero_a, zero_b = ~a.sig.any(), ~b.sig.any()
        exp = Signal(term.exp.shape())
        inf = Signal()
        m.d.comb += [
            term.sign.eq(a.sign ^ b.sign),
            term.sig.eq(a.sig * b.sig),
            exp.eq(a.bexp + b.bexp + self.scale_exp if self.n.scales else a.bexp + b.bexp),
            # A zero product has exponent 0, below every other, so that it never sets the maximum.
            term.exp.eq(exp & (~(zero_a | zero_b)).replicate(len(exp))),
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
        return (self.term.sig << places)[bits:].any()


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
