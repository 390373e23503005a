"""The parts of a specification: operands, scales, what an instruction takes, the result and its promotion."""

from __future__ import annotations

from functools import lru_cache
from math import gcd
from typing import Annotated, Any, Literal, NamedTuple, assert_never

from pydantic import BeforeValidator, Field, SerializeAsAny, ValidationError

from hwsim.base.errors import InputError
from hwsim.formats import FieldFormat, FixedFormat
from hwsim.formats.blocks import BlockScale
from hwsim.spec.keys import (
    AddendFormat,
    ConvertedFormat,
    EvidenceWord,
    Factor,
    FactorFormat,
    Flag,
    NoneWord,
    Number,
    Overflow,
    Positive,
    RegisterFormat,
    ResultFormat,
    Rounding,
    SpecPart,
    Tininess,
    Values,
    Whole,
    ZeroSigns,
)
from hwsim.spec.sums import AlignedSum, ExactSum, Late, LateAdd, RoundedSum, SubgroupRule, Sum


class Factors(SpecPart):
    """Formats of the factors."""

    a: FactorFormat
    """The format of the factors a."""
    b: FactorFormat
    """The format of the factors b."""


class OperandRules(SpecPart):
    """The format of the addend, and what becomes of operands before they are multiplied."""

    addend: Annotated[AddendFormat | None, NoneWord] = None
    """The format of c."""
    convert: ConvertedFormat | None = None
    """A format that holds every factor, which both are converted to, exactly, before they are multiplied."""
    daz: Flag = False
    """Whether factors that are subnormal in the format that is multiplied count as zero."""
    zeros: ZeroSigns = "signed"
    """Whether factors and addends that are zero, or count as zero, keep their signs, or are +0."""


class Operands(OperandRules, Factors):
    """Formats of the factors and of the addend."""

    def factor(self, side: Literal["a", "b"]) -> Factor:
        """The format of one factor."""
        return self.a if side == "a" else self.b

    @property
    def multiplied(self) -> tuple[Number, Number]:
        """The formats that are multiplied: those of decoded factors, or the format that both are converted to."""
        return (self.a.decoded, self.b.decoded) if self.convert is None else (self.convert, self.convert)


class Scale(SpecPart):
    """Shared scales of both factors."""

    a: BlockScale
    """Scales of A: their `format`, and the `block: [rows, columns]` of the matrix that shares one."""
    b: BlockScale
    """Scales of B."""
    at: Literal["product", "subgroup", "promotion"] = "product"
    """Where they enter the arithmetic."""

    def of(self, side: Literal["a", "b"]) -> BlockScale:
        """The shared scales of one factor."""
        return self.a if side == "a" else self.b

    def length(self, side: Literal["a", "b"]) -> int:
        """The number of products along K that share a scale of the factor."""
        return self.a.block[1] if side == "a" else self.b.block[0]


class Order(SpecPart):
    """The products of an instruction that form a group: those whose index modulo `modulo` is in the group's list."""

    modulo: Positive
    groups: tuple[tuple[Whole, ...], ...]


def _order(value: Any) -> Any:
    """Check an order, with a single message instead of one for each branch of the union."""
    if value == "sequential":
        return value
    try:
        return Order.model_validate(value)
    except ValidationError:
        raise InputError("must be sequential or {modulo: M, groups: [[...], ...]}, of integers") from None


class Instruction(SpecPart):
    """The products of one instruction, their groups, and the addends of groups."""

    k: Positive
    """Products of one instruction."""
    lanes: Positive
    """Products of one group, that is, of one fused sum; divides k."""
    order: Annotated[Literal["sequential"] | Order, BeforeValidator(_order)] = "sequential"
    """Which products form a group, and which group comes first."""
    start: Literal["addend", "zero"] = "addend"
    """What the first group adds to: c, or zero, with c added late. Any other adds to the result of the one before."""
    chain: Annotated[Literal["addend"] | None, NoneWord] = "addend"
    """A longer K takes one instruction's result as the next one's addend, or is refused."""

    @property
    def groups(self) -> int:
        """The number of groups in an instruction."""
        return self.k // self.lanes

    @property
    def fill(self) -> int:
        """The number of terms that K is filled up to a multiple of, with zeros: a group's, or an instruction's."""
        return self.lanes if self.order == "sequential" and self.start == "addend" else self.k

    def indices(self, group: int) -> tuple[int, ...]:
        """The indices along K of a group's products, in the order of lanes. group: counted through all instructions."""
        if not isinstance(self.order, Order):
            return tuple(range(group * self.lanes, (group + 1) * self.lanes))
        instruction, place = divmod(group, self.groups)
        first, listed = instruction * self.k, self.order.groups[place]
        return tuple(index for index in range(first, first + self.k) if (index - first) % self.order.modulo in listed)


@lru_cache(maxsize=256)
def _alike(instruction: Instruction, block: int) -> int:
    """The largest divisor of the lanes so that so many neighbouring ones are in one block of K, in every group."""
    lanes = instruction.lanes
    if instruction.order == "sequential":
        return min(lanes, block)
    # Where blocks span instructions, they end at every multiple of this, in one instruction or another.
    ends = gcd(instruction.k, block)
    every = [[index // ends for index in instruction.indices(group)] for group in range(instruction.groups)]
    return next(
        length
        for length in range(lanes, 0, -1)
        if lanes % length == 0
        and all(blocks[lane] == blocks[lane - lane % length] for blocks in every for lane in range(lanes))
    )


class ResultRule(SpecPart):
    """The format that a group's sum is rounded to, once, and the rules of that rounding.

    A late addition and a promotion have rules of their own: they are additions of IEEE 754.
    """

    format: ResultFormat
    """What a group's sum is rounded to, once."""
    rounding: Rounding
    """How."""
    overflow: Overflow = "infinity"
    """In the place of a result that, rounded with an unbounded exponent, is too large; a fixed format may wrap."""
    nan: Annotated[Literal["canonical", "any"] | Whole, Values("canonical", "any", "a NaN code")] = "canonical"
    """The NaN that is returned: the format's own, one without a promised bit, or this one."""
    tiny: Literal["signed", "positive"] = "signed"
    """The sign of a sum other than zero that rounds to zero."""
    subnormals: Literal["keep", "flush"] = "keep"
    """Whether subnormal results are kept or become zero."""
    tininess: Tininess = "result"
    """What is subnormal where they become zero: the rounded result, or the sum, `after` or `before` a rounding."""
    zero_sign: Literal["promised", "any"] = "promised"
    """Whether the signs of what the unit returns as zero are promised, as other keys have them, or none is."""

    @property
    def flushes(self) -> Tininess | None:
        """The result by which subnormals are recognised, where they become zero; None where they are kept."""
        return self.tininess if self.subnormals == "flush" else None


First = Literal["scales", "a", "b"]


class Promotion(SpecPart):
    """A register that the partial sum is added to every `interval` products, and at the end of K."""

    interval: Positive
    """Products between promotions; a multiple of the lanes."""
    format: RegisterFormat
    """The register's; it holds every result and addend."""
    operation: Literal["add", "fma"] = "add"
    """`fma` adds the product of the partial sum and both scales, and goes with `scale.at: promotion`."""
    first: First = "scales"
    """What `fma` multiplies first, rounded to the register's format: both scales, or the partial sum by a's, or b's."""
    rounding: Rounding = "rne"
    """How the register's sum is rounded, and with `fma` the product that is made first."""


class ScaledPromotion(NamedTuple):
    """The factors that a promotion with scales multiplies: formats, by the names `partial`, `scale_a` and `scale_b`.

    first: the product of these two is rounded to the register's format, and called `made`. then: these two are
    multiplied exactly, `made` among them, and their product is added to the register.
    """

    first: tuple[tuple[str, FieldFormat], tuple[str, FieldFormat]]
    made: Literal["scale", "scaled"]
    then: tuple[tuple[str, FieldFormat], tuple[str, FieldFormat]]

    @property
    def words(self) -> str:
        """The product that is made first, in words."""
        if self.made == "scale":
            return "The product of both scales"
        return f"The partial sum times the scale of {self.first[1][0].removeprefix('scale_')}"


class SharedKeys(SpecPart):
    """The keys that every specification has, be it of one mode or of several, and properties that follow from them."""

    unit: Annotated[str, Values("letters, digits, `_`, `.`, `-`")] = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    """The unit's name."""
    summary: Annotated[str, Values("text")] = ""
    """The unit in a line."""
    evidence: EvidenceWord = "designed"
    """Why to believe it: hardware's outputs, or an emulator's; a publication; a vendor's document; own choice."""
    source: Annotated[tuple[str, ...], Values("a list of texts")] = ()
    """Where that is."""
    operands: OperandRules
    scale: Annotated[Scale | None, NoneWord] = None
    instruction: Instruction
    sum: SerializeAsAny[Sum]
    late: Late | None = None
    result: ResultRule
    promotion: Annotated[Promotion | None, NoneWord] = None

    @property
    def name(self) -> str:
        """The unit's name."""
        return self.unit

    @property
    def output(self) -> Number:
        """The format that the unit returns: the promotion register's, the late addition's, or else `result.format`."""
        if self.promotion is not None:
            return self.promotion.format
        return self.late.format if isinstance(self.late, LateAdd) else self.result.format

    def lanes_of_scale(self, side: Literal["a", "b"]) -> int:
        """The number of neighbouring lanes of which a beat carries one scale of a factor.

        As many as share a scale in every group: where products come in an order of their own, perhaps a lane each.
        Raises ValueError for a unit without scales.
        """
        if self.scale is None:
            raise InputError(f"{self.unit} has no scales")
        return _alike(self.instruction, self.scale.length(side))

    @property
    def subgroup(self) -> SubgroupRule | None:
        """The rule of sums inside a group; None for a unit without them."""
        return self.sum.subgroup if isinstance(self.sum, AlignedSum | ExactSum | RoundedSum) else None

    @property
    def flushes_addends(self) -> bool:
        """True if an addend that is subnormal counts as zero."""
        rule, late = self.sum, self.late
        # A late addend, and one that a register begins with, is none of the sum's.
        summed = isinstance(rule, RoundedSum) and rule.flush and rule.addend != "late" and self.promotion is None
        return summed or (isinstance(late, LateAdd) and late.flush)

    @property
    def nan(self) -> int:
        """The container's code of the NaN that the unit returns."""
        if self.promotion is None and isinstance(self.result.nan, int):
            return self.result.nan
        code = None if isinstance(self.output, FixedFormat) else self.output.canonical_nan
        return code if code is not None else 0

    @property
    def promotion_beats(self) -> int | None:
        """The number of groups between promotions."""
        return self.promotion.interval // self.instruction.lanes if self.promotion else None

    @property
    def scaled_promotion(self) -> ScaledPromotion | None:
        """The factors that a promotion multiplies, in order; None of a unit whose promotion, if any, has no scales."""
        return None if self.promotion is None else self.scaled_first(self.promotion.first)

    def scaled_first(self, first: First) -> ScaledPromotion | None:
        """The factors that a promotion multiplies, if this product is first."""
        if self.promotion is None or self.scale is None or self.scale.at != "promotion":
            return None
        register, partial = self.promotion.format, ("partial", self.result.format)
        a, b = ("scale_a", self.scale.a.format), ("scale_b", self.scale.b.format)
        match first:
            case "scales":
                return ScaledPromotion((a, b), "scale", (partial, ("scale", register)))
            case "a":
                return ScaledPromotion((partial, a), "scaled", (("scaled", register), b))
            case "b":
                return ScaledPromotion((partial, b), "scaled", (("scaled", register), a))
            case _:
                assert_never(first)

    @property
    def restart(self) -> int | None:
        """The number of groups after which the partial sum restarts at +0; None where it never does."""
        if self.promotion is not None:
            return self.promotion_beats
        return self.instruction.groups if self.instruction.start == "zero" else None


class UnitKeys(SharedKeys):
    """The keys of a unit. `Unit` checks the rules between keys."""

    operands: Operands
