"""Stimuli of a unit, as a testbench sends them: the cases that `hwsim cosim` plays, a beat a transfer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from hwsim.base.errors import InputError
from hwsim.cases.bins.covering import covering as covering_cases
from hwsim.cases.bins.covering import directed as directed_cases
from hwsim.cases.case import Case, beats, fill, in_beats
from hwsim.cases.drawing import Stream
from hwsim.cases.random_cases import pair_cases, random_cases
from hwsim.spec import Unit
from hwsim.tb.pins import Value


@dataclass(frozen=True)
class Stimulus:
    """One dot product in the form in which a testbench sends it. products: those of one beat."""

    unit: Unit
    case: Case
    products: int

    @cached_property
    def beats(self) -> dict[str, list[Value]]:
        """The arguments of `send`: for each field its value in each beat.

        Fields: a and b, a tuple of a code for each product; c, scale_a and scale_b, where the unit has them; first
        and last, 0 or 1. Only the first beat's c counts; the others carry other bits, which must not count.
        """
        unit = self.unit
        rows = list(beats(in_beats(unit, self.products), self.case))
        scaled = unit.scale is not None
        has = {"c": unit.operands.addend is not None, "scale_a": scaled, "scale_b": scaled}
        names = [name for name in ("a", "b", "c", "scale_a", "scale_b") if has.get(name, True)]
        fields: dict[str, list[Value]] = {name: [getattr(beat, name) for beat in rows] for name in names}
        return fields | {name: [int(getattr(beat, name)) for beat in rows] for name in ("first", "last")}


class Stimuli:
    """A sequence of stimuli; `for` and `async for` yield them, and `len` counts them."""

    def __init__(self, unit: Unit, cases: Iterable[Case], products: int):
        whole = (fill(unit, products, case) for case in cases)
        self._every = [Stimulus(unit, case, products) for case in whole]

    def __iter__(self) -> Iterator[Stimulus]:
        return iter(self._every)

    async def __aiter__(self) -> AsyncIterator[Stimulus]:
        for stimulus in self._every:
            yield stimulus

    def __len__(self) -> int:
        return len(self._every)


def sometimes(chance: float, seed: int = 1, name: str = "") -> Iterator[bool]:
    """Yield True with that chance, independently and without an end: when a source offers, or a sink takes.

    name: of what draws; another name gives other numbers from the same seed.
    """
    stream = Stream(seed, name, "sometimes")
    while True:
        yield from (stream.uniforms(1024) < chance).tolist()


def stimulus(
    unit: Unit,
    *,
    directed: bool = True,
    covering: bool = False,
    pairs: bool = False,
    random: int = 0,
    cases: Iterable[Case] = (),
    seed: int = 1,
    products: int | None = None,
) -> Stimuli:
    """Stimuli of a unit; the same for the same arguments.

    directed: cases solved for, for every boundary of the unit's arithmetic. covering: also those for every bin of
    coverage that the directed ones miss, which takes up to some ten seconds. pairs: every pair of codes. random: so
    many random cases of several kinds. cases: a test's own. products: those of one beat of the design; a group of the
    unit's unless given.
    Raises NotImplementedYet for a unit that the model does not have, and InputError where nothing is asked for.
    """
    solved = covering_cases(unit, seed) if covering else directed_cases(unit, seed) if directed else []
    every = chain(solved, pair_cases(unit) if pairs else (), random_cases(unit, random, seed), cases)
    stimuli = Stimuli(unit, every, products or unit.instruction.lanes)
    if not len(stimuli):
        raise InputError("stimulus must be asked for something: directed, covering, pairs, random or cases")
    return stimuli
