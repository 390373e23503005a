"""The ranges of a unit's integers, from which every width in the RTL follows, and what crosses each step.

Exponents live in the *product domain*: the sum of the factors' exponent fields, before any bias is taken off. It is
never negative, a product's is at least 2 (so that 0 can say "no product"), and the addend's is moved into it. Field
names are the model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from amaranth.hdl import Shape, unsigned
from amaranth.lib.data import ArrayLayout, Layout, StructLayout
from amaranth.utils import bits_for

from hwsim.formats import ExponentFormat, FixedFormat, FloatFormat, Format
from hwsim.spec import LateAdd, ModalUnit, Specified, modes_of
from hwsim.spec.keys import Factor, Number, Overflow, Rounding, Tininess
from hwsim.spec.ranges import exponent_range, span_of

FACTORS: tuple[Literal["a", "b"], ...] = ("a", "b")


def signed_shape(low: int, high: int) -> Shape:
    """The narrowest shape that holds low..high, however far apart."""
    # Not Shape.cast(range(...)), which needs a range of fewer than 2^63 integers.
    signed = low < 0
    width = max(bits_for(low, signed), bits_for(high, signed)) if low or high else 0
    return Shape(width, signed)


def as_float(fmt: Format) -> FloatFormat:
    """A float format. Raises TypeError for one of another kind."""
    if not isinstance(fmt, FloatFormat):
        raise TypeError(f"{fmt.name} must be a float format here")
    return fmt


@dataclass(frozen=True)
class FieldRange:
    """The exponent field of one format, counted so that the least is 1.

    bias: exp = field - bias. most: the largest field of a finite number.
    """

    bias: int
    most: int

    @classmethod
    def of(cls, fmt: Format) -> FieldRange:
        """The exponent field of a format; a fixed format's one exponent, 0, is 1 here."""
        least, most = exponent_range(fmt)
        return cls(1 - least, most - least + 1)


@dataclass(frozen=True)
class FactorShape:
    """The shape of decoded numbers: (-1)^sign * sig * 2^(bexp - field.bias - fraction_bits).

    field: the range of bexp, which counts from 1; bexp_bits: its width. sig_bits, most_sig: of the significand.
    """

    field: FieldRange
    bexp_bits: int
    fraction_bits: int
    sig_bits: int
    most_sig: int

    @classmethod
    def of(cls, fmt: Format) -> FactorShape:
        """The numbers of one format."""
        field = FieldRange.of(fmt)
        bits = fmt.exponent_bits + (not fmt.subnormals) if isinstance(fmt, FloatFormat) else field.most.bit_length()
        return cls(field, bits, fmt.fraction_bits, fmt.sig_bits, span_of(fmt).most)

    @classmethod
    def holding(cls, formats: Sequence[Format]) -> FactorShape:
        """The numbers of several formats, none of which is normalised: zeros stand below, and exponents are moved."""
        shapes = [cls.of(fmt) for fmt in dict.fromkeys(formats)]
        if len(shapes) == 1:
            return shapes[0]
        bias, fraction_bits = max(shape.field.bias for shape in shapes), max(shape.fraction_bits for shape in shapes)
        most = max(shape.field.most + bias - shape.field.bias for shape in shapes)
        most_sig = max(shape.most_sig << fraction_bits - shape.fraction_bits for shape in shapes)
        whole_bits = max(shape.sig_bits - shape.fraction_bits for shape in shapes)
        return cls(FieldRange(bias, most), most.bit_length(), fraction_bits, whole_bits + fraction_bits, most_sig)


class PairRanges:
    """The ranges of the products of two factors.

    multiplied: what both factors are when they are multiplied. scales: powers of two that multiply products too.
    limit: a product whose magnitude is 2^limit or more is infinite; None for no limit.
    """

    def __init__(self, a: FactorShape, b: FactorShape, scales: Sequence[ExponentFormat] = (), limit: int | None = None):
        self.multiplied, self.scales, self.limit = (a, b), list(scales), limit
        self.product_fraction_bits = a.fraction_bits + b.fraction_bits
        fields = [shape.field for shape in self.multiplied]
        self.product_bias = sum(field.bias for field in fields) + sum(fmt.bias for fmt in self.scales)
        self.scale_most = sum(fmt.max_code for fmt in self.scales)
        self.product_most = sum(field.most for field in fields) + self.scale_most
        self.product_least = len(fields) + sum(fmt.min_code for fmt in self.scales)

    @property
    def sig_bits(self) -> int:
        """Bits of a product's significand."""
        return sum(shape.sig_bits for shape in self.multiplied)

    @property
    def most_product(self) -> int:
        """The largest significand of a product."""
        a, b = self.multiplied
        return a.most_sig * b.most_sig

    @property
    def product_top(self) -> int:
        """A product is less than 2^product_top times the power of two that its exponent stands for."""
        return self.most_product.bit_length() - self.product_fraction_bits


@dataclass(frozen=True)
class FactorSide:
    """One factor in every mode of a unit, the mode's number in order.

    codes: the formats in which it enters. formats: those in which it is multiplied.
    """

    codes: tuple[Factor, ...]
    formats: tuple[Number, ...]

    @property
    def container_bits(self) -> int:
        """Bits of a code at the port: those of the widest mode; a narrower code stands in the low ones."""
        return max(fmt.container_bits for fmt in self.codes)

    @property
    def choices(self) -> list[tuple[Factor, Number]]:
        """The formats of codes, each with the one that is multiplied, as far as they differ."""
        return list(dict.fromkeys(zip(self.codes, self.formats, strict=True)))


class ProductRanges(PairRanges):
    """The formats of one unit's factors and scales, and the ranges of the products, those of all its modes.

    a_side, b_side: the formats of both factors, by mode. scale_formats: those of the scales that a beat brings, of
    which `scales` are those that multiply products. apart: whether factors and scales are decoded elsewhere, as where
    several units share a decoder.
    Raises TypeError for scales of products that are not powers of two.
    """

    def __init__(self, unit: Specified, apart: bool = False):
        self.unit, self.apart = unit, apart
        self.lanes = unit.instruction.lanes
        modes = [mode.operands for mode in modes_of(unit)]
        self.a_side, self.b_side = (
            FactorSide(
                tuple(operands.factor(side) for operands in modes),
                tuple(operands.multiplied[side == "b"] for operands in modes),
            )
            for side in FACTORS
        )
        a, b = FactorShape.holding(self.a_side.formats), FactorShape.holding(self.b_side.formats)
        super().__init__(a, b, self._scales(), unit.sum.product_limit)

    @property
    def sides(self) -> dict[str, FactorSide]:
        """Both factors, by name."""
        return {"a": self.a_side, "b": self.b_side}

    @property
    def mode_bits(self) -> int:
        """Bits of a beat's mode; 0 of a unit that has none."""
        return self.unit.mode_bits if isinstance(self.unit, ModalUnit) else 0

    @property
    def unscaled(self) -> tuple[int, ...]:
        """The modes whose beats have no scales, of a unit that has any."""
        modes = modes_of(self.unit) if self.scale_formats else ()
        return tuple(number for number, mode in enumerate(modes) if mode.scale is None)

    @property
    def a(self) -> FloatFormat:
        """The format in which a is multiplied. Raises TypeError for one that is not a float, and for several."""
        return as_float(self.formats[0])

    @property
    def b(self) -> FloatFormat:
        """The format in which b is multiplied. Raises TypeError for one that is not a float, and for several."""
        return as_float(self.formats[1])

    @property
    def formats(self) -> tuple[Number, Number]:
        """The formats in which both factors are multiplied. Raises TypeError for a unit of several modes."""
        if self.mode_bits:
            raise TypeError(f"{self.unit.name} must have one mode here")
        return self.a_side.formats[0], self.b_side.formats[0]

    @property
    def group_addend(self) -> Number | None:
        """The format of c where it is a term of a group's sum; None where there is none, or it is added after."""
        unit = self.unit
        added_after = unit.promotion is not None or isinstance(unit.late, LateAdd)
        return None if added_after else unit.operands.addend

    @property
    def nan(self) -> int:
        """The container's code of a group's NaN."""
        rule, fmt = self.unit.result.nan, self.unit.result.format
        if isinstance(rule, int):
            return rule
        return 0 if isinstance(fmt, FixedFormat) else fmt.canonical_nan or 0

    @property
    def scale_formats(self) -> list[Format]:
        """The formats of the scales that a beat brings."""
        scale = self.unit.scale
        return [] if scale is None else [scale.a.format, scale.b.format]

    @property
    def part_scales(self) -> list[Format]:
        """The formats of scales that multiply sums of parts."""
        scale = self.unit.scale
        return self.scale_formats if scale is not None and scale.at == "subgroup" else []

    def _scales(self) -> list[ExponentFormat]:
        """The formats of scales that multiply products."""
        scale = self.unit.scale
        scales = self.scale_formats if scale is not None and scale.at == "product" else []
        powers = [fmt for fmt in scales if isinstance(fmt, ExponentFormat)]
        if powers != scales:
            raise TypeError("scales must be powers of two here")
        return powers

    @property
    def scale_blocks(self) -> tuple[int, int]:
        """Scales of a and of b that one beat carries."""
        if self.unit.scale is None:
            return 0, 0
        return self.lanes // self.unit.lanes_of_scale("a"), self.lanes // self.unit.lanes_of_scale("b")


SPECIAL = StructLayout({"nan": 1, "positive": 1, "negative": 1})


def factor_layout(of: Format | FactorShape) -> StructLayout:
    """A decoded number of a format, or of such a shape."""
    shape = of if isinstance(of, FactorShape) else FactorShape.of(of)
    return StructLayout({"sign": 1, "bexp": unsigned(shape.bexp_bits), "sig": shape.sig_bits, "nan": 1, "inf": 1})


def factors_layout(n: ProductRanges) -> StructLayout:
    """Codes of the factors and of their scales, lane 0 and block 0 in the low bits; the mode of a unit of several.

    Of what is decoded apart, whether a scale is NaN.
    """
    if n.apart:
        return StructLayout({"scale_nan": 1} if n.scales else {})
    fields: dict[str, object] = {
        name: ArrayLayout(unsigned(side.container_bits), n.lanes) for name, side in n.sides.items()
    }
    for name, fmt, blocks in zip(("scale_a", "scale_b"), n.scale_formats, n.scale_blocks, strict=False):
        fields[name] = ArrayLayout(unsigned(fmt.container_bits), blocks)
    mode = {"mode": unsigned(n.mode_bits)} if n.mode_bits else {}
    return StructLayout({**fields, **mode})


def decoded_factors(n: ProductRanges) -> dict[str, Layout]:
    """Both factors of every lane, and their scales: `scale_exp`, the sum of both codes, for each lane; or as numbers,
    where they multiply sums of parts.
    """
    fields: dict[str, Layout] = {
        side: ArrayLayout(factor_layout(shape), n.lanes) for side, shape in zip("ab", n.multiplied, strict=True)
    }
    if n.scales:
        fields["scale_exp"] = ArrayLayout(unsigned(n.scale_most.bit_length()), n.lanes)
    for side, fmt, blocks in zip("ab", n.part_scales, n.scale_blocks, strict=False):
        fields[f"scale_{side}"] = ArrayLayout(factor_layout(fmt), blocks)
    return fields


def made_by_decode(n: ProductRanges) -> dict[str, Layout]:
    """What a unit's own `decode` makes of factors and scales."""
    return {} if n.apart else decoded_factors(n)


def joining(n: ProductRanges) -> dict[str, Layout]:
    """What joins a datapath after `decode`, decoded elsewhere."""
    return decoded_factors(n) if n.apart else {}


def term_layout(n: PairRanges) -> StructLayout:
    """A product. exp is 0 for a zero product, else at least 1."""
    return StructLayout({"sign": 1, "exp": unsigned(n.product_most.bit_length()), "sig": unsigned(n.sig_bits)})


def result_layout(fmt: Number) -> StructLayout:
    """After round: a code without its padding, and whether it is NaN (whose padding is ones)."""
    return StructLayout({"code": unsigned(fmt.bits), "nan": 1})


@dataclass(frozen=True, kw_only=True)
class SumTarget:
    """The format in which a sum is encoded, and the ranges of the sum.

    total: the sum's shape. offset: what, added to max_exp, is the biased exponent that the total's top bit would have.
    max_exp: least and largest max_exp. zero_sign: the sum brings the sign of an exact zero with it.
    subnormals, overflows, vanishes: whether sums can be subnormal, be too large, and round to zero (not being zero).
    leads: whether every sum that is not zero, and above the least exponent, has its leading one on top.
    flush: what makes a result zero by being subnormal; None where nothing does.
    lost: terms of the sum of which its rounding knows whether they lost a 1; 0 where it knows of none.
    """

    fmt: FloatFormat
    overflow: Overflow
    total: Shape
    max_exp: tuple[int, int]
    offset: int
    tiny: Literal["signed", "positive"] = "signed"
    nan: int = 0
    zero_sign: bool = False
    subnormals: bool = True
    overflows: bool = True
    vanishes: bool = True
    leads: bool = False
    flush: Tininess | None = None
    lost: int = 0

    @property
    def bare(self) -> bool:
        """True if numbers below the least one are left as they are, for a format that has nothing between it and 0."""
        return False

    @property
    def magnitude_bits(self) -> int:
        """Bits of the sum's magnitude."""
        return self.total.width - 1

    @property
    def bits(self) -> int:
        """Bits of the normalised magnitude: no fewer than a significand has, and one to round with.

        One more where a subnormal number is rounded at its own binade, too.
        """
        return max(self.magnitude_bits, self.fmt.precision + 1 + (self.flush == "after"))

    @property
    def top_bexp(self) -> tuple[int, int]:
        """Least and largest biased exponent of the total's top bit."""
        return self.max_exp[0] + self.offset, self.max_exp[1] + self.offset

    @property
    def bexp(self) -> Shape:
        """Biased exponents of results, those that overflow included; of a bare format, those that vanish too."""
        if self.bare:
            return signed_shape(min(self.top_bexp[0] - self.bits, 0), max(self.top_bexp[1], 1))
        most = self.top_bexp[1] if self.overflows else self.fmt.max_magnitude >> self.fmt.fraction_bits
        return unsigned(max(most, 1).bit_length())

    def before(self) -> StructLayout:
        """The layout of the sum."""
        zero = {"zero_sign": 1} if self.zero_sign else {}
        lost = {"lost": ArrayLayout(unsigned(1), self.lost)} if self.lost else {}
        span = signed_shape(*self.max_exp)
        return StructLayout({"total": self.total, "max_exp": span, "special": SPECIAL, **zero, **lost})

    def magnitude(self) -> StructLayout:
        """The layout after magnitude. more: the number is more than the magnitude, by less than its last place."""
        return StructLayout(
            {
                "sign": 1,
                "magnitude": unsigned(self.magnitude_bits),
                "top_bexp": signed_shape(*self.top_bexp),
                "special": SPECIAL,
                **({"more": 1} if self.lost else {}),
            }
        )

    def normalized(self) -> StructLayout:
        """The layout after normalize. sig: the leading one on top unless subnormal; bexp: 0 if subnormal or zero."""
        return StructLayout({"sign": 1, "sig": unsigned(self.bits), "sticky": 1, "bexp": self.bexp, "special": SPECIAL})


@dataclass(frozen=True, kw_only=True)
class ResultTarget(SumTarget):
    """A target that a rule of the specification rounds to."""

    rounding: Rounding

    @property
    def bare(self) -> bool:
        """True if the format has no subnormals."""
        return not self.fmt.subnormals
