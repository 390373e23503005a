"""Implementation of a unit in hardware: where its registers are, and how many sums it interleaves.

Every pipeline of one unit returns the same bits; only the cycles differ.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hwsim.base.errors import InputError
from hwsim.formats import FixedFormat
from hwsim.spec.modes import Specified
from hwsim.spec.sparse import AnyUnit, dense_of
from hwsim.spec.sums import (
    AlignedSum,
    EvenOddSum,
    ExactSubgroup,
    ExactSum,
    LateAdd,
    LateInWindow,
    RoundedSum,
)


def _levels(name: str, count: int) -> list[str]:
    depth = max(1, (count - 1).bit_length())
    return [*(f"{name}.{level}" for level in range(1, depth)), name]


def additions(unit: Specified) -> int:
    """The number of rounded additions on the longest way from a product to a group's result; 0 for other methods."""
    count = parts_of_group(unit)
    return unit.sum.depth(count) if isinstance(unit.sum, RoundedSum) else 0


def one_plain_window(unit: Specified) -> bool:
    """True if all terms of a group are products and an addend, c among them, in one window where zeros do not count.

    All of their sum must be rounded, too.
    """
    rule = unit.sum
    if not isinstance(rule, AlignedSum) or isinstance(unit.late, LateInWindow):
        return False
    return rule.subgroup is None and rule.cut is None and rule.zero_terms == "skip" and rule.zero == "positive"


def terms(unit: Specified) -> int:
    """The number of terms in a fused sum: a term for each lane, and the addend."""
    return unit.instruction.lanes + 1


def steps(unit: Specified) -> tuple[str, ...]:
    """The places where a register can cut a unit's datapath, in order.

    `maximum.1` and `sum.1` are inside the trees that find the maximum and the sum; `add.0.align` to `add.0` are the
    first rounded addition of a chain, or the first level of a tree of them.
    """
    after = "promote" if unit.promotion is not None else "late" if isinstance(unit.late, LateAdd) else None
    scaled = ["promote.scale"] if unit.scale is not None and unit.scale.at == "promotion" else []
    added = [] if after is None else [*scaled, f"{after}.decode", *(f"{after}.{step}" for step in ADDITION), after]
    return (*_arithmetic(unit), *added)


# Inside a rounded addition: behind the distance of its numbers, in the middle of a shift, and in that of an adder.
ADDITION = "distance", "align.1", "align", "sum.1", "sum", "magnitude", "normalize.1", "normalize"
NORMALIZE = "normalize.1", "normalize"


def _window_terms(unit: Specified) -> int:
    """The most terms of one of a unit's windows, its addend among them."""
    lanes = unit.instruction.lanes
    if isinstance(unit.sum, EvenOddSum):
        return -(-lanes // 2)
    return parts_of_group(unit) + 1


def parts_of_group(unit: Specified) -> int:
    """The terms of a group beside its addend: its products, or the sums of its parts, of which there may be fewer."""
    lanes, part = unit.instruction.lanes, unit.subgroup
    return lanes if part is None else lanes // (part.least_lanes if isinstance(part, ExactSubgroup) else part.lanes)


def _arithmetic(unit: Specified) -> list[str]:
    if levels := additions(unit):
        steps = [f"add.{level}{step}" for level in range(levels) for step in (*(f".{part}" for part in ADDITION), "")]
        return ["decode", "multiply", *steps, "round"]
    if isinstance(unit.sum, ExactSum):
        rounds = [] if isinstance(unit.result.format, FixedFormat) else ["magnitude", *NORMALIZE]
        return ["decode", "multiply", "align", *_levels("sum", parts_of_group(unit)), *rounds, "round"]
    if not one_plain_window(unit):
        combine = ["combine"] if isinstance(unit.sum, EvenOddSum) else []
        cut = ["cut"] if isinstance(unit.sum, AlignedSum) and unit.sum.cut is not None else []
        late = ["late"] if isinstance(unit.late, LateInWindow) else []
        maxima, sums = (_levels(name, _window_terms(unit)) for name in ("maximum", "sum"))
        window = ["decode", "multiply", *maxima, "distance", "align.1", "align", *sums]
        return [*window, *combine, *cut, *late, "magnitude", *NORMALIZE, "round"]
    return [
        "decode",
        "multiply",
        *_levels("maximum", terms(unit)),
        "distance.0",
        "distance",
        "align",
        *(["sum.0"] if unit.instruction.lanes > 1 else []),
        *_levels("sum", terms(unit)),
        "magnitude",
        *NORMALIZE,
        "round",
    ]


MAX_CONTEXTS = 256


class Pipeline(BaseModel):
    """Registers and contexts of one implementation.

    cuts: the steps (`steps(unit)`) after which there is a register; the last step always has one.
    contexts: sums that can be open at once. As many contexts as cuts keep the unit busy in every cycle.
    register_ready: whether `i.ready` is a register: a buffer for one beat at the input, so that no path leads from
    `o.ready`, or from what is offered, to it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    cuts: tuple[str, ...]
    contexts: int = Field(ge=1, le=MAX_CONTEXTS)
    register_ready: bool = False

    @property
    def latency(self) -> int:
        """Cycles from accepting a beat to its result."""
        return len(self.cuts)

    @property
    def context_bits(self) -> int:
        """Width of a context's number; at least one bit, so that the port exists for a single context too."""
        return max(1, (self.contexts - 1).bit_length())

    @model_validator(mode="after")
    def _has_an_output_register(self) -> Pipeline:
        if not self.cuts:
            raise InputError("cuts must hold the last step: the output is registered")
        return self


DEFAULT_CUTS = ("multiply", "align", "sum")


def _default_cuts(unit: Specified) -> tuple[str, ...]:
    """The cuts unless others are asked for; the last step's, and a promotion's, apart."""
    levels = additions(unit)
    return ("multiply", *(f"add.{level}.sum" for level in range(levels))) if levels else DEFAULT_CUTS


def pipeline(
    unit: AnyUnit, cuts: tuple[str, ...] | None = None, contexts: int | None = None, *, register_ready: bool = False
) -> Pipeline:
    """A pipeline for a unit; without `cuts` it has four register stages, or five with promotion.

    A sparse unit's steps are those of its dense one: its selector stands before the first, without a register.
    cuts: in any order; the last step is added. contexts: as many as there are cuts, unless given.
    register_ready: with a buffer for one beat at the input, which makes `i.ready` a register.
    Raises ValueError for a cut that the unit does not have, and for a number of contexts out of range.
    """
    dense = dense_of(unit)
    every = steps(dense)
    chosen = {*(_default_cuts(dense) if cuts is None else cuts), every[-1]}
    if cuts is None and every[-1] != "round":
        chosen.add("round")
    if unknown := sorted(chosen - set(every)):
        raise InputError(f"cuts must be steps of {unit.name} ({', '.join(every)}), not {', '.join(unknown)}")
    if contexts is not None and not 1 <= contexts <= MAX_CONTEXTS:
        raise InputError(f"contexts must be 1 to {MAX_CONTEXTS}, not {contexts}")
    ordered = tuple(step for step in every if step in chosen)
    sums = min(len(ordered), MAX_CONTEXTS) if contexts is None else contexts
    return Pipeline(cuts=ordered, contexts=sums, register_ready=register_ready)
