"""Plans of whole matrix products: how a library cuts K, adds partial sums, scales them and rounds the result, as data.

A unit says what an instruction returns; a plan says what is made of the results. `hwsim.gemm(unit, A, B, plan=plan)`
returns the bits of both.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias, assert_never, cast

import yaml
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from hwsim.formats import FixedFormat, FloatFormat, Format, get_format
from hwsim.formats.yamlfile import RuleError, SpecError
from hwsim.spec.fields import checked, loaded
from hwsim.spec.keys import (
    ROUNDINGS,
    EvidenceWord,
    Flag,
    FloatOverflow,
    Positive,
    RegisterFormat,
    Rounding,
    SpecPart,
    Values,
)
from hwsim.spec.sums import own_keys
from hwsim.spec.unit import Unit

# What steps of a plan take beside the sum. Scales are numbers of float32, of the whole factor or of its rows: scales
# of blocks along K are keys of a unit.
Number = Literal["scale_a", "scale_b", "alpha", "beta", "c", "bias"]
ACTIVATIONS = ("relu", "gelu", "silu", "swish", "sigmoid", "tanh", "softmax")


def _names(value: Any) -> Any:
    """One name, or two, as a tuple."""
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


Factor = Annotated[
    tuple[Number] | tuple[Number, Number],
    BeforeValidator(_names),
    Values("scale_a, scale_b, alpha, beta, c or bias, or a list of two of them"),
]
BINARY32 = cast(FloatFormat, get_format("f32"))
# Of what a plan rounds to. Sums of such numbers, rounded to odd in 53 bits, can be rounded once more.
MOST_FRACTION = BINARY32.fraction_bits


def _short(fmt: FloatFormat) -> FloatFormat:
    if fmt.fraction_bits > MOST_FRACTION:
        raise RuleError("", f"must have at most {MOST_FRACTION} fraction bits, not {fmt.fraction_bits}")
    return fmt


PlanFormat = Annotated[RegisterFormat, AfterValidator(_short)]


PartOrder = Literal["contiguous", "interleaved"]
PartSum = Literal["sequential", "pairwise", "halves"]


class Split(SpecPart):
    """K is cut into parts; each is summed by itself, from zero, and the partial sums are added."""

    parts: Positive
    """How many, at most."""
    step: Positive
    """Products between two places where K may be cut."""
    order: PartOrder = "contiguous"
    """Neighbouring steps make a part, as many in each as are needed; or steps are dealt to the parts in turn."""
    sum: PartSum = "sequential"
    """Partial sums are added one after another from the first; in a tree, neighbours first; or in halves: the second
    half of all but the last to the first half, place by place, and these one after another to the last.
    """
    format: PlanFormat = BINARY32
    """What partial sums are rounded to, and every addition of them."""
    rounding: Rounding = "rne"
    """How."""

    def slices(self, k: int) -> list[list[slice]]:
        """The products of each part, of a sum of k; parts without any are left out."""
        steps = [slice(start, min(start + self.step, k)) for start in range(0, max(k, 1), self.step)]
        if self.order == "interleaved":
            return [part for first in range(self.parts) if (part := steps[first :: self.parts])]
        length = -(-len(steps) // self.parts)
        chunks = (steps[first : first + length] for first in range(0, len(steps), length))
        return [[slice(chunk[0].start, chunk[-1].stop)] for chunk in chunks]


class MultiplyBy(SpecPart):
    """The sum times a number, or times the rounded product of two."""

    operation: Literal["multiply"]
    by: Factor
    """What it is multiplied by."""
    rounding: Rounding = "rne"
    """How the product is rounded."""
    zero: Literal["signed", "positive"] = "signed"
    """The sign of a product that is exactly zero: its own, or plus, as where +0 is added in one rounding."""


class AddNumber(SpecPart):
    """The sum and a number, or the product of two."""

    operation: Literal["add"]
    of: Factor
    """What is added."""
    fused: Flag = False
    """Whether a product of two is added exactly, and not rounded first."""
    rounding: Rounding = "rne"
    """How the sum is rounded."""

    @model_validator(mode="after")
    def _rules(self) -> Self:
        if self.fused and len(self.of) == 1:
            raise RuleError("fused", "must be false, because `of` names one number")
        return self


class MultiplyAndAdd(SpecPart):
    """The sum times a number, exactly, and another number, rounded once."""

    operation: Literal["multiply-add"]
    by: Factor
    """What it is multiplied by; the product of two is rounded first."""
    of: Factor
    """What is added; the product of two is rounded first."""
    rounding: Rounding = "rne"
    """How the sum is rounded."""


class RoundTo(SpecPart):
    """The sum in another format."""

    operation: Literal["round"]
    format: PlanFormat
    """What it is rounded to."""
    rounding: Rounding = "rne"
    """How."""
    overflow: FloatOverflow = "infinity"
    """In the place of what is then too large."""

    @model_validator(mode="after")
    def _rules(self) -> Self:
        if self.overflow == "infinity" and not self.format.infinities:
            raise RuleError("overflow", f"must be given: {self.format.name} has no infinity")
        return self


STEPS: tuple[type[SpecPart], ...] = (MultiplyBy, AddNumber, MultiplyAndAdd, RoundTo)


def _step(value: Any) -> Any:
    if isinstance(value, Mapping) and value.get("operation") in ACTIVATIONS:
        raise RuleError("operation", f"must not be {value['operation']}: activations are no part of a plan; apply "
                        "them to the result")  # fmt: skip
    return own_keys(STEPS, "operation", value)


Step = Annotated[
    Annotated[MultiplyBy | AddNumber | MultiplyAndAdd | RoundTo, Field(discriminator="operation")],
    BeforeValidator(_step),
]


class ProductPlan(SpecPart):
    """The steps from a unit's results to a matrix product: a split of K, then steps on the whole sum, in order."""

    plan: Annotated[str, Values("letters, digits, `_`, `.`, `-`")] = Field(
        "plan", pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"
    )
    """The plan's name."""
    summary: Annotated[str, Values("text")] = ""
    """The plan in a line."""
    evidence: EvidenceWord = "designed"
    """Why to believe it, as of units."""
    source: Annotated[tuple[str, ...], Values("a list of texts")] = ()
    """Where that is."""
    split: Split | None = None
    """The parts of K; without it one sum."""
    format: PlanFormat = BINARY32
    """What each step but `round` rounds to."""
    epilogue: tuple[Step, ...] = ()
    """The steps."""

    @property
    def name(self) -> str:
        """The plan's name."""
        return self.plan

    @property
    def numbers(self) -> tuple[Number, ...]:
        """The numbers that the steps take beside the sum, in the order of steps."""
        factors = itertools.chain.from_iterable(_factors(step) for step in self.epilogue)
        return tuple(dict.fromkeys(itertools.chain.from_iterable(factors)))

    def output(self, unit: Unit) -> Format:
        """The format of results."""
        if self.epilogue:
            last = self.epilogue[-1]
            return last.format if isinstance(last, RoundTo) else self.format
        return unit.output if self.split is None else self.split.format

    def slices(self, k: int) -> list[list[slice]]:
        """The products of each part of a sum of k."""
        return [[slice(0, k)]] if self.split is None else self.split.slices(k)

    def replace(self, **keys: Any) -> Self:
        """This plan with other keys, checked as a file's are."""
        return checked(type(self), {**self.model_dump(mode="json", exclude_unset=True), **keys})


def _factors(step: MultiplyBy | AddNumber | MultiplyAndAdd | RoundTo) -> Iterator[tuple[Number, ...]]:
    if isinstance(step, MultiplyBy | MultiplyAndAdd):
        yield step.by
    if isinstance(step, AddNumber | MultiplyAndAdd):
        yield step.of


# What names a plan, for `load_plan`.
ProductPlanLike: TypeAlias = ProductPlan | str | Path | Mapping[str, Any]


def load_plan(given: ProductPlanLike) -> ProductPlan:
    """The plan of a YAML file, of keys as a file has them, or a plan as it is.

    Raises SpecError (a ValueError) for keys that break a rule, naming file, line, key, rule and value; TypeError for
    what is none of these.
    """
    return loaded(ProductPlan, given, "plan")


def plan_yaml(plan: ProductPlan) -> str:
    """A plan as a YAML file that `load_plan` reads back."""
    data = plan.model_dump(mode="json", exclude_unset=True)
    return yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=110, allow_unicode=True)


def check(plan: ProductPlan, unit: Unit) -> None:
    """Raise SpecError where a plan does not go with a unit."""
    changed = plan.split is not None or plan.epilogue
    if changed and isinstance(unit.output, FloatFormat) and unit.output.fraction_bits > MOST_FRACTION:
        raise SpecError(f"plan {plan.name}: {unit.name} must return at most {MOST_FRACTION} fraction bits, not "
                        f"{unit.output.fraction_bits}, those of {unit.output.name}")  # fmt: skip
    if plan.split is not None and isinstance(unit.output, FixedFormat):
        raise SpecError(f"plan {plan.name}: split must be left out, because {unit.name} returns integers, which any "
                        "split adds exactly")  # fmt: skip
    rule = unit.scale
    if rule is not None and (named := {"scale_a", "scale_b"} & {*plan.numbers}):
        raise SpecError(f"plan {plan.name}: the epilogue must not name {' and '.join(sorted(named))}, because "
                        f"{unit.name} has scales of its own")  # fmt: skip
    if rule is not None and plan.split is not None:
        for side in ("a", "b"):
            if plan.split.step % rule.length(side):
                raise SpecError(f"plan {plan.name}: split.step must be a multiple of scale.{side}.block along K "
                                f"({rule.length(side)}), not {plan.split.step}")  # fmt: skip


def sentences(plan: ProductPlan) -> Iterator[str]:
    """A plan in words, a sentence for each thing that is done."""
    split = plan.split
    if split is None:
        yield "one sum over all of K"
    else:
        parts = {"contiguous": "neighbouring", "interleaved": "interleaved"}[split.order]
        added = ADDED[split.sum]
        yield (f"K in up to {split.parts} parts of {parts} steps of {split.step} products; partial sums added {added}, "
               f"in {_in(split.format, split.rounding)}")  # fmt: skip
    for step in plan.epilogue:
        match step:
            case MultiplyBy():
                yield f"times {' * '.join(step.by)}, in {_in(plan.format, step.rounding)}"
            case AddNumber():
                fused = " without a rounding of its own" if step.fused else ""
                yield f"plus {' * '.join(step.of)}{fused}, in {_in(plan.format, step.rounding)}"
            case MultiplyAndAdd():
                by, of = " * ".join(step.by), " * ".join(step.of)
                yield f"times {by} plus {of}, rounded once, in {_in(plan.format, step.rounding)}"
            case RoundTo():
                yield f"rounded to {_in(step.format, step.rounding)}"
            case _:
                assert_never(step)


ADDED: dict[PartSum, str] = {
    "sequential": "one after another from the first",
    "pairwise": "in a tree, neighbours first",
    "halves": "in halves, which are added to the last",
}


def _in(fmt: Format, rounding: Rounding) -> str:
    """A format, and a rounding that is not the usual one."""
    return fmt.name if rounding == "rne" else f"{fmt.name}, {ROUNDINGS[rounding].sentence}"
