"""What a dot-product unit returns, bit for bit: the specification and its rules.

It says nothing of registers or cycles: that is `hwsim.spec.implementation.Pipeline`. The arithmetic that these
settings choose is in docs/arithmetic.md.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict, ValidationError, model_validator

from hwsim.formats import FixedFormat
from hwsim.formats.blocks import BlockScale, FormatField
from hwsim.spec.rules import check

Rounding = Literal["rne", "rna", "rz", "ru", "rd", "rto"]
Lost = Literal["truncate", "floor", "jam", "rne", "rna"]
Positive = Annotated[int, Strict(), Field(ge=1)]
Bits = Annotated[int, Strict(), Field(ge=0, le=256)]
Whole = Annotated[int, Strict()]
Flag = Annotated[bool, Strict()]


def _none(value: Any) -> Any:
    """YAML's word for nothing here is `none`."""
    return None if value == "none" else value


NoneWord = BeforeValidator(_none)


class Part(BaseModel):
    """A part of a specification: frozen, with no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Operands(Part):
    """Formats of the factors and of the addend.

    convert: a format that both factors are converted to, exactly, before they are multiplied.
    daz: factors that are subnormal in the format that is multiplied count as zero.
    """

    a: FormatField
    b: FormatField
    addend: Annotated[FormatField | None, NoneWord] = None
    convert: FormatField | None = None
    daz: Flag = False

    @property
    def multiplied(self) -> tuple[Any, Any]:
        """The formats that are multiplied: those of the factors, or what they are converted to."""
        return (self.a, self.b) if self.convert is None else (self.convert, self.convert)


class Scale(Part):
    """Shared scales of both factors. at: where they enter the arithmetic."""

    a: BlockScale
    b: BlockScale
    at: Literal["product", "subgroup", "promotion"] = "product"


class Order(Part):
    """Which products of an instruction form a group: those whose index modulo `modulo` is in the group's list."""

    modulo: Positive
    groups: tuple[tuple[Whole, ...], ...]


def _order(value: Any) -> Any:
    """One message for a union, whichever branch was meant."""
    if value == "sequential":
        return value
    try:
        return Order.model_validate(value)
    except ValidationError:
        raise ValueError("must be sequential or {modulo: M, groups: [[...], ...]}, of integers") from None


class Instruction(Part):
    """What one instruction takes.

    k: its products. lanes: the products of one group. order: which products form a group, and which group comes first.
    start: what the first group's addend is; `zero` goes with an addend that is added late. Any other group's is the
    result of the group before.
    chain: whether a longer K takes one instruction's result as the next one's addend, or is refused.
    """

    k: Positive
    lanes: Positive
    order: Annotated[Literal["sequential"] | Order, BeforeValidator(_order)] = "sequential"
    start: Literal["addend", "zero"] = "addend"
    chain: Annotated[Literal["addend"] | None, NoneWord] = "addend"

    @property
    def groups(self) -> int:
        """Groups of one instruction."""
        return self.k // self.lanes

    @property
    def fill(self) -> int:
        """What K is filled up to a multiple of, with zero terms: whole groups, or instructions where those differ."""
        return self.lanes if self.order == "sequential" and self.start == "addend" else self.k

    def indices(self, group: int) -> tuple[int, ...]:
        """The indices along K of the products of a group, counted through all instructions: a lane each, ascending."""
        if not isinstance(self.order, Order):
            return tuple(range(group * self.lanes, (group + 1) * self.lanes))
        instruction, place = divmod(group, self.groups)
        first, listed = instruction * self.k, self.order.groups[place]
        return tuple(index for index in range(first, first + self.k) if (index - first) % self.order.modulo in listed)


class Combine(Part):
    """How the two sums of `even-odd` become one."""

    fraction_bits: Bits
    lost: Lost


class Subgroup(Part):
    """Sums inside a group that are scaled before they are aligned."""

    lanes: Positive
    method: Literal["exact"]
    exponent: Literal["scales"]


class Sum(Part):
    """How the terms of a group are summed.

    fraction_bits: bits of the window below 2^max_exp. lost: what happens to the bits below it, per term.
    addend: aligned with the terms, or added after an instruction's last group, as the key `late` says.
    zero_terms: `skip`: a zero term has no part in max_exp. max_exp_floor: the least max_exp, or none.
    zero: the sign of a sum that is exactly zero: positive, or that of IEEE 754.
    product_limit: a product whose magnitude is 2^product_limit or more is infinite; or none.
    combine: of `even-odd`. subgroup: of `aligned`. rounded: of `exact`: at the end, or after each group.
    product, format, rounding, flush: of `sequential` and `pairwise`, whose additions are all rounded to `format`:
    products too, or fused into an addition; subnormals of that format are kept, or flushed.
    """

    method: Literal["aligned", "sequential", "pairwise", "even-odd", "exact"]
    fraction_bits: Bits | None = None
    lost: Lost = "truncate"
    addend: Annotated[Literal["aligned", "late"] | None, NoneWord] = "aligned"
    zero_terms: Literal["skip", "count"] = "skip"
    max_exp_floor: Annotated[Whole | None, NoneWord] = None
    zero: Literal["positive", "ieee"] = "positive"
    product_limit: Annotated[Whole | None, NoneWord] = None
    combine: Combine | None = None
    rounded: Literal["end", "group"] | None = None
    subgroup: Subgroup | None = None
    product: Literal["rounded", "fused"] | None = None
    format: FormatField | None = None
    rounding: Rounding | None = None
    flush: Flag = False


class Late(Part):
    """How an addend that is not aligned with the terms is added, after an instruction's last group.

    operation: `add`: one addition, addend + partial sum, rounded to `format` as `rounding` says; that is the result.
    flush: a subnormal addend counts as zero, and a subnormal result becomes zero.
    `window`: the group's sum, not rounded yet, and the addend are aligned to the larger of their exponents, keep
    sum_bits and addend_bits below it, lose the rest as `lost` says, and are added; `result` rounds that. An addend
    more than `drop_below` below that exponent is dropped.
    """

    operation: Literal["add", "window"]
    format: FormatField | None = None
    rounding: Rounding | None = None
    sum_bits: Bits | None = None
    addend_bits: Bits | None = None
    lost: Lost | None = None
    drop_below: Annotated[Whole | None, NoneWord] = None
    flush: Flag = False


class Result(Part):
    """The format that a group's sum is rounded to, once.

    The other rules are of that rounding, and not of a late addition or a promotion, which are additions of IEEE 754.

    overflow: judged after rounding with unbounded exponent; a fixed format saturates or wraps.
    nan: the code of NaN, `canonical` for the format's own;
    `any`: no bit of it is promised.
    tiny: the sign of a sum other than zero that rounds to zero. subnormals: kept, or flushed to zero.
    """

    format: FormatField
    rounding: Rounding
    overflow: Literal["infinity", "nan", "saturate", "wrap"] = "infinity"
    nan: Literal["canonical", "any"] | Whole = "canonical"
    tiny: Literal["signed", "positive"] = "signed"
    subnormals: Literal["keep", "flush"] = "keep"


class Promotion(Part):
    """A register that the partial sum is added to every `interval` products, and at the end of K.

    operation: `fma` multiplies the partial sum by the product of both scales, which goes with scales at `promotion`.
    """

    interval: Positive
    format: FormatField
    operation: Literal["add", "fma"] = "add"
    rounding: Rounding = "rne"


class Unit(Part):
    """A dot-product unit. `hwsim units NAME` prints one as YAML."""

    unit: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    summary: str = ""
    evidence: Literal["captured", "published", "documented", "designed"] = "designed"
    source: tuple[str, ...] = ()
    operands: Operands
    scale: Annotated[Scale | None, NoneWord] = None
    instruction: Instruction
    sum: Sum
    late: Late | None = None
    result: Result
    promotion: Annotated[Promotion | None, NoneWord] = None

    @model_validator(mode="after")
    def _rules(self) -> Unit:
        check(self)
        return self

    @property
    def name(self) -> str:
        """The unit's name."""
        return self.unit

    @property
    def output(self) -> Any:
        """The format of what the unit returns: the promotion register's or the late addition's, where there is one."""
        if self.promotion is not None:
            return self.promotion.format
        return self.result.format if self.late is None or self.late.format is None else self.late.format

    @property
    def nan(self) -> int:
        """The container's code of the NaN that the unit returns."""
        if self.promotion is None and isinstance(self.result.nan, int):
            return self.result.nan
        code = None if isinstance(self.output, FixedFormat) else self.output.canonical_nan
        return code if code is not None else 0

    @property
    def promotion_beats(self) -> int | None:
        """Groups between promotions."""
        return self.promotion.interval // self.instruction.lanes if self.promotion else None

    @property
    def restart(self) -> int | None:
        """Groups after which the partial sum starts again at +0, as it did at first; None where it never does."""
        if self.promotion is not None:
            return self.promotion_beats
        return self.instruction.groups if self.instruction.start == "zero" else None
