"""Cases: one dot product each, with a name that stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hwsim.errors import InputError
from hwsim.model.clock import Beat
from hwsim.model.definition import Definition, dot_in_modes
from hwsim.model.record import Explanation
from hwsim.spec import ModalUnit, Specified


@dataclass(frozen=True, slots=True)
class Case:
    """One dot product.

    id: its name, unique in its suite. a, b: codes, a multiple of `instruction.fill` of them. c: the addend's code.
    scale_a, scale_b: a code for each block along K; empty for an unscaled unit.
    modes: of a unit of several, the number of the mode of each group; empty for a unit of one.
    """

    id: str
    a: tuple[int, ...]
    b: tuple[int, ...]
    c: int = 0
    scale_a: tuple[int, ...] = ()
    scale_b: tuple[int, ...] = ()
    modes: tuple[int, ...] = ()


def beats(unit: Specified, case: Case, context: int = 0) -> Iterator[Beat]:
    """A case as the beats that bring it into a unit, in order."""
    lanes = unit.instruction.lanes
    count = len(case.a) // lanes
    for index in range(count):
        here = unit.instruction.indices(index)
        yield Beat(
            a=tuple(case.a[i] for i in here),
            b=tuple(case.b[i] for i in here),
            # Only the first beat's addend counts; the others carry its complement, which must not.
            c=case.c if index == 0 else ~case.c & addend_mask(unit),
            scale_a=beat_scales(unit, 0, case.scale_a, index),
            scale_b=beat_scales(unit, 1, case.scale_b, index),
            first=index == 0,
            last=index == count - 1,
            context=context,
            mode=case.modes[index] if case.modes else 0,
        )


def addend_mask(unit: Specified) -> int:
    """All ones, as wide as an addend."""
    return (1 << unit.operands.addend.container_bits) - 1 if unit.operands.addend else 0


def block_lengths(unit: Specified) -> tuple[int, int]:
    """Terms of a dot product that share one scale, of a and of b."""
    if unit.scale is None:
        raise InputError(f"{unit.name} has no scales")
    return unit.scale.a.block[1], unit.scale.b.block[0]


def term_scales(unit: Specified, case: Case) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A case's scale codes of a and of b, one for each term, as `Definition.dot` takes them; empty where unscaled."""
    if unit.scale is None:
        return (), ()
    (length_a, length_b), terms = block_lengths(unit), range(len(case.a))
    return tuple(case.scale_a[i // length_a] for i in terms), tuple(case.scale_b[i // length_b] for i in terms)


def dot(definition: Definition, case: Case) -> Explanation:
    """What the definition makes of a case of a unit of one mode."""
    return definition.dot(case.a, case.b, case.c, *term_scales(definition.unit, case))


def modal_dot(unit: ModalUnit, modes: Sequence[Definition], case: Case) -> Explanation:
    """What a unit of several modes makes of a case. modes: the definitions of all its modes, in order."""
    chosen = [modes[number] for number in case.modes]
    return dot_in_modes(chosen, case.a, case.b, case.c, *term_scales(unit, case))


def beat_scales(unit: Specified, side: int, scales: tuple[int, ...], index: int) -> tuple[int, ...]:
    """The scales that one beat of a case carries, each of as many lanes as share one in every beat."""
    if unit.scale is None:
        return ()
    length, shared = block_lengths(unit)[side], unit.lanes_of_scale("b" if side else "a")
    return tuple(scales[at // length] for at in unit.instruction.indices(index)[::shared])
