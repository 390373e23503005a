"""The rules of sums, a class for each method, and of late addends, a class for each operation.

A key of another method is an error, unless it states the default, as `lost: truncate` does beside rounded sums.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from hwsim.formats.yamlfile import RuleError
from hwsim.spec.keys import (
    AlignedLost,
    Bits,
    CutBits,
    Flag,
    FloatOverflow,
    Lost,
    NoneWord,
    Positive,
    RegisterFormat,
    Rounding,
    SpecPart,
    Tininess,
    Whole,
    term_lost,
)

AddendRule = Annotated[Literal["aligned", "late"] | None, NoneWord]
ProductLimit = Annotated[Whole | None, NoneWord]
ZeroSign = Literal["positive", "ieee"]


class Combine(SpecPart):
    """The addition of the two sums of `even-odd`."""

    fraction_bits: Bits
    """Bits that both sums keep below the larger exponent."""
    lost: Lost
    """What happens to the bits below."""


Cancelled = Literal["skip", "count"]


class ExactSubgroup(SpecPart):
    """Products are summed exactly, and their sum is scaled."""

    lanes: Positive
    """Products of one subgroup."""
    method: Literal["exact"]
    exponent: Literal["scales"] = "scales"
    """The exponent at which a subgroup's sum is aligned: that of its scales alone."""
    cancelled: Cancelled = "skip"
    """Whether products other than zero whose sum is zero take part in max_exp, at the exponent that their sum has."""
    low_addend: Cancelled = "count"
    """Whether an addend takes part in max_exp whose exponent is below the largest product's, its scales' counted."""
    low_lanes: Annotated[Positive | None, NoneWord] = None
    """Products of one subgroup in a group whose addend is so low, or zero; `lanes` unless said."""

    @property
    def asks_addend(self) -> bool:
        """True if the addend's exponent has a say in how products are summed."""
        return self.low_lanes is not None or self.low_addend == "skip"

    @property
    def least_lanes(self) -> int:
        """Products of the smallest subgroup that any group has."""
        return self.low_lanes or self.lanes


class WindowSubgroup(SpecPart):
    """Products are aligned and summed in a window of their own, and their sum goes on at that window's max_exp."""

    lanes: Positive
    """Products of one subgroup."""
    method: Literal["aligned"]
    fraction_bits: Bits
    """Bits of that window below its max_exp."""
    lost: Lost = "truncate"
    """What happens, to each product, to its bits below that window."""
    cancelled: Cancelled = "skip"
    """Whether products other than zero whose sum is zero take part in max_exp, at the exponent that their sum has."""


def _chosen(classes: Sequence[type[SpecPart]], tag: str, value: Any) -> type[SpecPart] | None:
    """The class that a mapping's tag names; None for an unknown tag, and for a value that is no mapping."""
    if not isinstance(value, dict):
        return None
    return next((cls for cls in classes if value.get(tag) in _tags(cls, tag)), None)


def _tags(chosen: type[SpecPart], tag: str) -> tuple[str, ...]:
    return getattr(chosen.model_fields[tag].annotation, "__args__", ())


# Values that a file may give for keys of other methods.
SAYS_NOTHING = {
    "lost": "truncate", "zero_terms": "skip", "zero": "positive", "flush": False, "tininess": "result",
    "overflow": "ieee", "low_addend": "count",
}  # fmt: skip


def _says_nothing(name: str, value: Any) -> bool:
    return value is None or value == "none" or (name in SAYS_NOTHING and value == SAYS_NOTHING[name])


def own_keys(classes: Sequence[type[SpecPart]], tag: str, value: Any) -> Any:
    """The mapping with only the keys of its class. Raises RuleError for a key of another class, or a missing key."""
    chosen = _chosen(classes, tag, value)
    if chosen is None:
        return value
    keys = dict(value)
    for name in {name: None for cls in classes for name in cls.model_fields}:
        if name not in keys or name == tag:
            continue
        info = chosen.model_fields.get(name)
        if info is None and not _says_nothing(name, keys[name]):
            raise RuleError(name, f"has no meaning for {tag} {value[tag]}")
        if info is None or (keys[name] is None and info.default is not None):
            del keys[name]
    for name, field in chosen.model_fields.items():
        if field.is_required() and name not in keys:
            raise RuleError(name, f"is missing: {tag} {value[tag]} needs it")
    return keys


SUBGROUPS: tuple[type[SpecPart], ...] = (ExactSubgroup, WindowSubgroup)
SubgroupRule = ExactSubgroup | WindowSubgroup
Subgroups = Annotated[
    Annotated[SubgroupRule, Field(discriminator="method")],
    BeforeValidator(lambda value: own_keys(SUBGROUPS, "method", value)),
]


class SumCut(SpecPart):
    """Places of a window's sum that are lost before it is rounded."""

    bits: CutBits
    """How many of the window's lowest places the sum loses before it is rounded, or goes on to a late addend."""
    lost: Lost = "truncate"
    """What becomes of them: truncate, for one, of the sum's magnitude, and floor of its two's complement."""


class WindowSum(SpecPart):
    """Terms are aligned to the largest exponent and summed in a window."""

    method: str
    fraction_bits: Bits
    """Bits of the window below 2^max_exp."""
    lost: AlignedLost = "truncate"
    """What happens, to each term, to its bits below the window; sticky, of aligned: the rounding knows of them."""
    addend: AddendRule = "aligned"
    """The addend is aligned with the terms, or added after an instruction's last group as `late` says, or none."""
    zero_terms: Literal["skip", "count"] = "skip"
    """Whether a zero term takes part in max_exp."""
    max_exp_floor: Annotated[Whole | None, NoneWord] = None
    """The least max_exp."""
    zero: ZeroSign = "positive"
    """The sign of a sum that is exactly zero: positive, or that of IEEE 754."""
    product_limit: ProductLimit = None
    """A product whose magnitude is 2^product_limit or more is infinite."""

    @property
    def term_lost(self) -> Lost:
        """The rule for each term's bits below the window, as far as the term alone is concerned."""
        return term_lost(self.lost)

    @property
    def sticky(self) -> bool:
        """True if the rounding of the sum knows that a term lost a 1."""
        return self.lost == "sticky"


class AlignedSum(WindowSum):
    """One window for all terms."""

    method: Literal["aligned"]
    subgroup: Subgroups | None = None
    """Sums of parts of the group are aligned in the place of products."""
    cut: Annotated[SumCut | None, NoneWord] = None
    """Places of the sum that are lost before it is rounded."""


class AlignedReadingSum(AlignedSum):
    """A reading of a specification of this method.

    No file can say it: `SUMS` has no such class. The model and the kernels compute it, and nothing else does.
    """

    lost: Lost = "truncate"
    leading: Flag = False
    """Products stand at the exponents of their leading ones, not at those of their factors."""
    lossless: Flag = False
    """The window has no end: no bits of a term are lost."""
    significant: Flag = False
    """The sum is cut to 1 + fraction_bits significant bits, as `lost` says, before it is rounded."""
    starts_late: Flag = False
    """What a group starts from is added to the sum of its products, and is not aligned with them."""
    unrounded: Flag = False
    """What is added late is added to the exact sum, and `result` rounds once. Otherwise the sum is rounded before."""


class EvenOddSum(WindowSum):
    """A window for the even lanes and one for the odd lanes; `combine` adds the two."""

    method: Literal["even-odd"]
    lost: Lost = "truncate"
    combine: Combine
    """The window of both sums."""


class ExactSum(SpecPart):
    """Terms are summed exactly."""

    method: Literal["exact"]
    addend: AddendRule = "aligned"
    """The addend is summed with the terms, or added after an instruction's last group as `late` says, or none."""
    zero: ZeroSign = "positive"
    """The sign of a sum that is exactly zero: positive, or that of IEEE 754."""
    product_limit: ProductLimit = None
    """A product whose magnitude is 2^product_limit or more is infinite."""
    subgroup: ExactSubgroup | None = None
    """Exact sums of parts of the group, each times its scales, are summed in the place of products."""
    rounded: Literal["end", "group"] = "end"
    """Where the sum is rounded: only where it leaves its register, or after each group."""


class RoundedSum(SpecPart):
    """Every addition is rounded."""

    method: str
    addend: AddendRule = "aligned"
    """The addend is added with the terms, or after an instruction's last group as `late` says, or none."""
    product_limit: ProductLimit = None
    """A product whose magnitude is 2^product_limit or more is infinite."""
    product: Literal["rounded", "fused"]
    """Products are rounded too, or enter an addition exactly."""
    format: RegisterFormat
    """What every addition is rounded to."""
    rounding: Rounding
    """How."""
    overflow: FloatOverflow = "ieee"
    """In the place of a rounded sum, product or addend that is too large for `format`, or infinite."""
    flush: Flag = False
    """Whether subnormals of `format` become zeros."""
    tininess: Tininess = "result"
    """What is subnormal there: the rounded result, or what is rounded, `after` or `before` a rounding."""
    subgroup: ExactSubgroup | None = None
    """Exact sums of parts of the group, scaled or not, are added in the place of products."""

    @property
    def flushes(self) -> Tininess | None:
        """The result by which subnormals are recognised, where they become zeros; None where they are kept."""
        return self.tininess if self.flush else None

    @abstractmethod
    def depth(self, parts: int) -> int:
        """The number of rounded additions on the longest way from a part of a group to its result."""


class SequentialSum(RoundedSum):
    """One addition after the other, from the addend or +0."""

    method: Literal["sequential"]

    def depth(self, parts: int) -> int:
        """One addition for each part."""
        return parts


class PairwiseSum(RoundedSum):
    """A balanced tree of additions, neighbours first; the addend last."""

    method: Literal["pairwise"]
    chains: Annotated[Positive | None, NoneWord] = None
    """How many sums the tree adds in the place of products: dealt in turn, added one after the other from +0."""

    def depth(self, parts: int) -> int:
        """The levels of the tree, and the addend's; before them those of chains."""
        if self.chains is not None:
            return parts // self.chains + (self.chains - 1).bit_length() + 1
        return (parts - 1).bit_length() + 1


class LateAdd(SpecPart):
    """One addition, addend + partial sum, rounded once; that is the result."""

    operation: Literal["add"]
    format: RegisterFormat
    """What the sum is rounded to."""
    rounding: Rounding
    """How."""
    flush: Flag = False
    """Whether a subnormal addend counts as zero, and a subnormal result becomes zero."""
    tininess: Tininess = "result"
    """What is subnormal where a result becomes zero: that, rounded, or the sum, `after` or `before` a rounding."""

    @property
    def flushes(self) -> Tininess | None:
        """The result by which subnormals are recognised, where they become zeros; None where they are kept."""
        return self.tininess if self.flush else None


class LateInWindow(SpecPart):
    """The group's sum, not rounded yet, and the addend are aligned to the larger of their exponents and added.

    `result` rounds their sum.
    """

    operation: Literal["window"]
    sum_bits: Bits
    """Bits that the sum keeps below that exponent."""
    addend_bits: Bits
    """Bits that the addend keeps below it."""
    lost: Lost
    """What happens to the bits below."""
    drop_below: Annotated[Whole | None, NoneWord] = None
    """An addend more than so much below that exponent is dropped."""
    zero_addend: Literal["skip", "count"] = "skip"
    """Whether an addend of zero counts for that exponent, at the least one of its format."""
    total_bits: Annotated[Bits | None, NoneWord] = None
    """Bits that their sum keeps below its leading one, or below the result's least exponent, before it is rounded."""


SUMS: tuple[type[SpecPart], ...] = (AlignedSum, SequentialSum, PairwiseSum, EvenOddSum, ExactSum)
LATE: tuple[type[SpecPart], ...] = (LateAdd, LateInWindow)


def methods_of(kind: type[SpecPart]) -> tuple[str, ...]:
    """The methods of a kind, as files name them: of windows, of rounded additions, exact."""
    return tuple(name for cls in SUMS if issubclass(cls, kind) for name in _tags(cls, "method"))


Sum = Annotated[
    Annotated[AlignedSum | SequentialSum | PairwiseSum | EvenOddSum | ExactSum, Field(discriminator="method")],
    BeforeValidator(lambda value: own_keys(SUMS, "method", value)),
]
Late = Annotated[
    Annotated[LateAdd | LateInWindow, Field(discriminator="operation")],
    BeforeValidator(lambda value: own_keys(LATE, "operation", value)),
]
