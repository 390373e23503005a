"""Types for the values of a specification's keys."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, PlainValidator, Strict

from hwsim.formats import FixedFormat, FloatFormat, TableFormat
from hwsim.formats.blocks import as_written, reference
from hwsim.formats.yamlfile import RuleError

Rounding = Literal["rne", "rna", "rz", "ru", "rd", "rto"]
# `hwsim.formats.Overflow`, and what a fixed format alone does: wrap.
Overflow = Literal["infinity", "ieee", "nan", "propagate", "saturate", "wrap"]
# Of a rounded addition, in a format that is never fixed.
FloatOverflow = Literal["infinity", "ieee", "nan", "propagate", "saturate"]
Lost = Literal["truncate", "floor", "ceil", "jam", "rne", "rna", "ones-complement"]
LOST: tuple[Lost, ...] = get_args(Lost)
# Of the terms of one window, whose lost bits may also be told to the rounding of their sum.
AlignedLost = Literal[Lost, "sticky"]
ALIGNED_LOST: tuple[AlignedLost, ...] = get_args(AlignedLost)
ZeroSigns = Literal["signed", "positive"]
# What is judged where subnormal results are flushed: the result, among the format's subnormals; or the number, after a
# rounding with an unbounded exponent or before any (IEEE 754-2019, section 7.5).
Tininess = Literal["result", "after", "before"]
# Why to believe a specification, the strongest first: hardware's outputs were compared, or another team's emulator's.
EvidenceWord = Literal["captured", "emulated", "published", "documented", "designed"]
# Far more than any unit has, and few enough for every vector set, study and export.
Positive = Annotated[int, Strict(), Field(ge=1, le=1 << 16)]
Bits = Annotated[int, Strict(), Field(ge=0, le=256)]
CutBits = Annotated[int, Strict(), Field(ge=1, le=256)]
Whole = Annotated[int, Strict()]
Flag = Annotated[bool, Strict()]


def _none(value: Any) -> Any:
    """None for the word `none`, with which files leave a setting out."""
    return None if value == "none" else value


NoneWord = BeforeValidator(_none)


class RoundingRule(NamedTuple):
    """Words for a rounding, and what IEEE 754-2019, section 7.4, takes a finite number to that is too large.

    after: words that follow `rounded`. sentence: follows `results are rounded`.
    inward: of which signs it becomes the largest number and not infinity; `odd` takes the one whose code is odd.
    """

    after: str
    sentence: str
    inward: Literal["neither", "both", "negative", "positive", "odd"] = "neither"


ROUNDINGS: dict[Rounding, RoundingRule] = {
    "rne": RoundingRule("ties to even", "to nearest, ties to even"),
    "rna": RoundingRule("ties away from zero", "to nearest, ties away from zero"),
    "rz": RoundingRule("truncated", "towards zero", "both"),
    "rto": RoundingRule("to odd", "to odd: a lost 1 sets the last place", "odd"),
    "ru": RoundingRule("up", "towards plus infinity", "negative"),
    "rd": RoundingRule("down", "towards minus infinity", "positive"),
}


class LostRule(NamedTuple):
    """A rule for the bits of a term below its window, with its words.

    rounding: of the term to the window. complemented: then the magnitude of a negative term is one more, exact or not.
    sentence: about terms. after: a word that follows `lost bits`.
    """

    rounding: Rounding
    sentence: str
    after: str
    complemented: bool = False


LOST_RULES: dict[AlignedLost, LostRule] = {
    "truncate": LostRule("rz", "bits below are cut off each term's magnitude", "truncated"),
    "floor": LostRule("rd", "terms are rounded down to it", "floored"),
    "ceil": LostRule("ru", "terms are rounded up to it", "rounded up"),
    "jam": LostRule("rto", "lost ones are OR-ed into each term's last bit", "jammed"),
    "rne": LostRule("rne", "terms are rounded to it, ties to even", "to nearest even"),
    "rna": LostRule("rna", "terms are rounded to it, ties away from zero", "to away"),
    "ones-complement": LostRule(
        "rz", "bits below are cut off each term's magnitude, and negative terms are one's complements",
        "ones-complemented", complemented=True,
    ),
    "sticky": LostRule(
        "rz", "bits below are cut off each term's magnitude, and OR-ed into one bit below the sum's magnitude",
        "OR-ed into one sticky bit",
    ),
}  # fmt: skip


def lost_words(lost: AlignedLost) -> LostRule:
    """A rule for the bits of a term below its window, with its words."""
    return LOST_RULES[lost]


def term_lost(lost: AlignedLost) -> Lost:
    """The rule for each term by itself: `sticky` cuts off its magnitude, as `truncate` does."""
    return "truncate" if lost == "sticky" else lost


class Values:
    """The values of a key in words, where its type does not give them."""

    def __init__(self, *words: str):
        self.words = words


class SpecPart(BaseModel):
    """A part of a specification: frozen, with no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _accepted(kinds: tuple[type, ...], rule: str) -> PlainValidator:
    """A validator for formats of these kinds. rule: the error for others; `{}` stands for the format's name."""

    def check(value: Any) -> Any:
        fmt = reference(value)
        if not isinstance(fmt, kinds):
            raise RuleError("", rule.format(fmt.name))
        return fmt

    return PlainValidator(check)


def _register(value: Any) -> FloatFormat:
    fmt = reference(value)
    if not isinstance(fmt, FloatFormat) or not (fmt.has_nan and fmt.signed):
        raise RuleError("", f"must be a signed float format with a NaN, not {fmt.name}")
    return fmt


Number = FloatFormat | FixedFormat
NUMBER = (FloatFormat, FixedFormat)
Written = PlainSerializer(as_written)
# What codes of factors can have; decoded they are numbers.
Factor = Number | TableFormat
FACTOR = (*NUMBER, TableFormat)
FactorFormat = Annotated[
    Factor,
    _accepted(FACTOR, "must be a float or fixed format or a table, not a power of two"),
    Written,
    Values("a float or fixed format, or a table"),
]
AddendFormat = Annotated[
    Number,
    _accepted(NUMBER, "must be a float format or none, not {}"),
    Written,
    Values("a float format, or a fixed one where the result is"),
]
ConvertedFormat = Annotated[
    FloatFormat,
    _accepted((FloatFormat,), "must be a float format, not {}"),
    Written,
    Values("a float format"),
]
ResultFormat = Annotated[
    Number,
    _accepted(NUMBER, "must be a signed float format, not {}"),
    Written,
    Values("a signed float format, or a fixed one"),
]
# What a register can have: sums need signs and a NaN.
RegisterFormat = Annotated[FloatFormat, PlainValidator(_register), Written, Values("a signed float format with a NaN")]
