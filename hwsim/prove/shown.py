"""Claims by which the model's run and the claims of steps meet: it was composed, no call is left, the ports fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hwsim.base.text import counted
from hwsim.prove.accumulation import AccumulationClaims, PromotionClaims
from hwsim.prove.claims import DatapathClaims
from hwsim.prove.composition import Calls
from hwsim.prove.following import followed
from hwsim.prove.methods import ModalClaims
from hwsim.prove.terms import Decided
from hwsim.spec import Specified, modes_of


@dataclass(frozen=True)
class NotShown:
    """The answer of `decide` for a claim of which nothing is shown."""

    word: Literal["not proved"] = "not proved"
    seconds: float = 0.0
    model: None = None


@dataclass(frozen=True)
class Noted:
    """A claim that comparing has decided. holds: whether it is so."""

    name: str
    words: str
    over: str
    holds: bool

    solver = "comparison"

    def decide(self, seconds: float) -> Decided | NotShown:
        """Return proved or not proved: a case that shows it may be found by other means."""
        return Decided("proved", 0.0) if self.holds else NotShown()


COMPOSED = "composition: model"


def not_composed(why: Exception) -> Noted:
    """The claim about composition, not proved: the model does what no claim is about."""
    return Noted(COMPOSED, f"not composed: {why}", "every group", False)


def composition(
    unit: Specified, datapath: DatapathClaims, after: PromotionClaims | AccumulationClaims | None
) -> Iterator[Noted]:
    """Yield the claims about composition.

    The model's open, step and close call what the claims are about; partial sums are added where the model adds them.
    """
    count = sum(len(calls.every) for calls in _calls(datapath, after).values())
    words = "the model's open, step and close, run on tokens, call functions that claims are about, of what steps take"
    yield Noted(COMPOSED, words, f"any number of groups, {counted(count, 'call')}", True)
    mode = modes_of(unit)[0]
    following = followed(mode)
    if (following is None) != (after is None):
        yield Noted("composition: addition", "an addition follows groups in the RTL, or in the model, alone", "", False)
    if following is not None and after is not None:
        interval = f"after {counted(following.groups, 'group')}, and after the last"
        same = after.what.groups == following.groups and following.nan in (None, mode.nan)
        yield Noted("composition: interval", "partial sums are added where the model adds them", interval, same)


def closure(
    datapath: DatapathClaims, after: PromotionClaims | AccumulationClaims | None, but: Sequence[str] = ()
) -> Noted:
    """The claim that each call of the model has been claimed of a step; it is asked for after all others.

    but: calls that are of other beats than the claims.
    """
    every = _calls(datapath, after)
    first = next(iter(every.values()))
    modal = isinstance(datapath, ModalClaims)
    left = [
        f"{name}{call}" for name, calls in every.items() for call in calls.open
        if call not in but and not (modal and _is_of_first(first, calls, call))
    ]  # fmt: skip
    words = (
        "each call of the model is claimed of a step of the RTL"
        if not left
        else f"no step is claimed: {', '.join(left)}"
    )
    return Noted(
        "composition: calls", words, counted(sum(len(of_mode.every) for of_mode in every.values()), "call"), not left
    )


def _is_of_first(first: Calls, calls: Calls, call: str) -> bool:
    """True if a mode's call is the first mode's, of which it is claimed: steps behind decoding are one circuit."""
    return call in first.shown and first.every[call].same(calls.every[call])


def _calls(datapath: DatapathClaims, after: PromotionClaims | AccumulationClaims | None) -> Mapping[str, Calls]:
    """The calls of every mode, and those after groups, by the beginnings of their names."""
    modes = datapath.modes if isinstance(datapath, ModalClaims) else {"": datapath}
    by_name = {f"{name}: " if name else "": mode.calls for name, mode in modes.items()}
    return by_name if after is None else {**by_name, "after: ": after.calls}


def ports(unit: Specified, fields: Mapping[str, Sequence[tuple[int, int]]]) -> Noted:
    """The claim that a file's ports have the elements, and the bits, of the specification.

    fields: as of a `ReadBack`.
    """
    modes, lanes = modes_of(unit), unit.instruction.lanes
    wanted = {f"i.{side}": (lanes, max(getattr(mode.operands, side).container_bits for mode in modes)) for side in "ab"}
    addend = unit.operands.addend
    if addend is not None:
        wanted["i.c"] = (1, addend.container_bits)
    scaled = next((mode for mode in modes if mode.scale is not None), None)
    if scaled is not None and scaled.scale is not None:
        formats = {"a": scaled.scale.a.format, "b": scaled.scale.b.format}
        for side in formats:
            blocks = lanes // scaled.lanes_of_scale(side)  # type: ignore[arg-type]
            wanted[f"i.scale_{side}"] = (blocks, formats[side].container_bits)
    wanted["o.result"] = (1, modes[0].output.container_bits)
    sizes = {name: (len(fields[name]), fields[name][0][1]) for name in wanted if fields.get(name)}
    return Noted(
        "ports", "operands and the result have the elements and the bits of the specification", f"{len(wanted)} ports",
        sizes == wanted,
    )  # fmt: skip
