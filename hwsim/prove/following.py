"""The model's steps after groups' sums, as an automaton over the groups of a partial sum: run, not read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hwsim.formats import Format
from hwsim.model.definition import ZERO, Definition, GroupOperands
from hwsim.model.methods import AddendToCome, PromotedRegister, ResultCode
from hwsim.prove.composition import Key, ModelCall, Recorder, StepCall, Token, Unmet, cut, fork, key_of
from hwsim.prove.symbolic import given_function, paths
from hwsim.spec import LateInWindow, Unit

MOST = 4096  # groups of a partial sum that are followed


@dataclass(frozen=True)
class Following:
    """The additions after groups. groups: the number in a partial sum before it is added. calls: the model's, by name.

    zero: whether the first partial sum is added to zero, of no format but the register's. nan: the code that is kept
    where an addition is NaN; None where it is kept as it comes.
    """

    groups: int
    calls: Mapping[str, ModelCall]
    zero: bool
    nan: int | None


class GroupToken:
    """The token of a group's sum, of which only the code may be asked. number: the group's in its partial sum."""

    def __init__(self, number: int):
        self.code = Token("partial", number)
        self.summed = self.special = self.sum_term = Token("of group", number)


class Code(Token):
    """The token of an addition's code, which may be the format's NaN: both cases are followed."""

    def __eq__(self, other: object) -> bool:
        return fork("nan") if type(other) is int else super().__eq__(other)

    __hash__ = None


class Runs:
    """Runs of the model's steps in which groups are tokens, too."""

    def __init__(self, unit: Unit):
        self.unit, self.recorder, self.scaling = unit, Recorder(self.wiring), unit.scaled_promotion
        self.number, self.start = 0, None
        self.nans = set[int]()

    def wiring(self, name: str, of: Sequence[Key]) -> StepCall | None:
        """The counterpart of a call in the RTL, for the register that is kept and the last group's code."""
        last: Key = ("partial", self.number)
        match name, list(of):
            case "positive_zero", [("c",)]:
                return StepCall(("entered",), "positive zero")
            case "add", [((("term of", ("c" | "entered") as source),))]:
                return StepCall(("register",), f"entering {source}")
            case "flushed_code", [(("c" | "entered" | "register") as kept,)]:
                return StepCall(("flushed", kept), f"flush {kept}")
            case "addend_term", []:
                return StepCall(("term",), "kept zero")
            case "addend_term", [key] if key == last:
                return StepCall(("partial term",), "partial")
            case "addend_term", [(("c" | "entered") as kept,)] if self.entering:
                return StepCall(("term of", kept), f"enters {kept}")
            case "addend_term", [(("c" | "entered" | "register") as kept,)]:
                return StepCall(("term",), f"kept {kept}")
            case "addend_term", [("flushed", kept)]:
                return StepCall(("term",), f"kept {kept}")
            case "rounded_product", keys if self.scaling is not None and keys == self._keys(self.scaling.first):
                return StepCall((self.scaling.made,), "first product")
            case "exact_product", keys if self.scaling is not None and keys == self._keys(self.scaling.then):
                return StepCall(("partial term",), "scaled partial")
            case "add", [(("term",), ("partial term",))]:
                return StepCall(("register",), "add")
        return None

    entering = False

    def _keys(self, factors: Sequence[tuple[str, Format]]) -> list[Key]:
        """The keys of factors: scales of the first group's first lane, the last group's code, or what is made first."""
        tokens: dict[str, Key] = {"scale_a": ("scale a", 1, 0), "scale_b": ("scale b", 1, 0)}
        tokens["partial"] = ("partial", self.number)
        return [tokens.get(name, (name,)) for name, _ in factors]

    def called(self, name: str, args: tuple[Any, ...]) -> Any:
        """Answer a call; a late addition's code may be compared to NaN."""
        answer = self.recorder(name, args)
        return Code(*answer.key) if name == "add" and isinstance(answer, Token) else answer

    def group(self, model: Any, lanes: Any, start: Any, addend: Any) -> Any:
        """Return the token of a group, in the place of `Definition._group`."""
        self.number += 1
        self.start = start
        return GroupToken(self.number), ResultCode(Token("partial", self.number))  # type: ignore[arg-type]

    def interval(self, model: Definition, carried: Any) -> tuple[int, Any]:
        """The number of groups after which a partial sum is added, whatever follows; and what is carried then."""
        self.number = 0
        for number in range(1, MOST + 1):
            lanes = self._lanes(number)
            ends = self._step(model, carried, lanes, True, number)
            if ends.addition is None:
                raise Unmet("the last partial sum is not added")
            self._kept(ends.carried)
            goes_on = self._step(model, carried, lanes, False, number)
            if goes_on.addition is not None:
                self._kept(goes_on.carried)
                return number, goes_on.carried
            carried = goes_on.carried
        raise Unmet(f"a partial sum is not added within {MOST} groups")

    def _step(self, model: Definition, carried: Any, lanes: GroupOperands, last: bool, number: int) -> Any:
        self.number = number - 1
        result = model.step(carried, lanes, last)
        begins = (
            self.start == ZERO if number == 1 else key_of(getattr(self.start, "code", None)) == ("partial", number - 1)
        )
        if self.number != number or not begins:
            raise Unmet(f"group {number} of a partial sum starts from {self.start}")
        return result

    def _lanes(self, number: int) -> GroupOperands:
        lanes = range(self.unit.instruction.lanes)
        scales = [tuple(Token(f"scale {side}", number, lane) for lane in lanes) for side in "ab"]
        scale_a, scale_b = scales if self.unit.scale is not None else ((), ())
        zeros = (0,) * len(lanes)
        return GroupOperands(zeros, zeros, scale_a, scale_b, 0, len(lanes))  # type: ignore[arg-type]

    def _kept(self, carried: Any) -> None:
        """Note a constant code that is carried after an addition. Raises Unmet where more than its code is carried."""
        match carried:
            case PromotedRegister(code, start, 0, None) | AddendToCome(code, _, start, 0) if start == ZERO:
                if type(code) is int:
                    self.nans.add(code)
                    return
                if key_of(code) == ("register",):
                    return
        raise Unmet(f"after an addition {carried} is kept")

    def all(self) -> Following:
        """Follow the model from c, and from any register."""
        with (
            cut(self.called), given_function(Definition, "_group", self._grouped()),
            given_function(Definition, "_addend_of", lambda model, start: None),
        ):  # fmt: skip
            model = Definition(self.unit, keep=False)

            def from_c() -> tuple[int, bool]:
                self.entering = model._promoter is not None
                opened: Any = model.open(Token("c"))  # type: ignore[arg-type]
                self.entering = False
                groups, carried = self.interval(model, opened)
                again, _ = self.interval(model, _of_register(carried))
                if again != groups:
                    raise Unmet(f"a first partial sum has {groups} groups, and others {again}")
                return groups, type(getattr(opened, "register", None)) is int

            outcomes = {path.result for path in paths(from_c)}
        if len(outcomes) != 1 or len(self.nans) > 1:
            raise Unmet(f"partial sums have {outcomes}, and NaN is {self.nans}")
        ((groups, zero),) = outcomes
        return Following(groups, self.recorder.calls, zero, next(iter(self.nans), None))

    def _grouped(self) -> Any:
        return lambda model, lanes, start, addend: self.group(model, lanes, start, addend)


def _of_register(carried: Any) -> Any:
    """What is carried, with any code in the register."""
    if isinstance(carried, PromotedRegister):
        return PromotedRegister(Token("register"), carried.partial, carried.groups, carried.scales)  # type: ignore[arg-type]
    return AddendToCome(Token("register"), carried.format, carried.partial, carried.groups)  # type: ignore[arg-type]


def followed(unit: Unit) -> Following | None:
    """The additions that follow a unit's groups; None without any. Raises Unmet for what the RTL does not have."""
    model = Definition(unit, keep=False)
    late = model._late is not None and not isinstance(unit.late, LateInWindow)
    return Runs(unit).all() if late or model._promoter is not None else None
