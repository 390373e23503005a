"""Cases: one dot product each, with a name that stays; several as arrays; and which units have directed ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import cycle, groupby, islice
from typing import assert_never

import numpy as np

from hwsim.base.errors import InputError
from hwsim.compute.products import dot_codes
from hwsim.formats import FixedFormat, Format, container_dtype
from hwsim.formats.blocks import one_code
from hwsim.formats.codes import Codes
from hwsim.model.clock import Beat
from hwsim.model.definition import Definition, dot_in_modes, selected
from hwsim.model.record import Explanation
from hwsim.spec import (
    AlignedSum,
    AnyUnit,
    ExactSum,
    ModalUnit,
    NotImplementedYet,
    RoundedSum,
    SparseUnit,
    Specified,
    Support,
    Unit,
    WindowSum,
    implemented,
    wide_codes,
)


@dataclass(frozen=True, slots=True)
class Case:
    """One dot product.

    id: its name, unique in its suite. a, b: codes, a multiple of `instruction.fill` of them. c: the addend's code.
    scale_a, scale_b: a code for each block along K; empty for an unscaled unit.
    modes: of a unit of several, the number of the mode of each group; empty for a unit of one.
    metadata: of a sparse unit, the indices of what a keeps; b then has all factors, also those that are not selected.
    """

    id: str
    a: tuple[int, ...]
    b: tuple[int, ...]
    c: int = 0
    scale_a: tuple[int, ...] = ()
    scale_b: tuple[int, ...] = ()
    modes: tuple[int, ...] = ()
    metadata: tuple[int, ...] = ()


def beats(unit: AnyUnit, case: Case, context: int = 0) -> Iterator[Beat]:
    """A case as the beats that bring it into a unit, in order."""
    if isinstance(unit, SparseUnit):
        rule, lanes = unit.sparsity, unit.dense.instruction.lanes
        for index, beat in enumerate(beats(unit.dense, case, context)):
            whole, runs = rule.whole_of(lanes), lanes // rule.run
            b, metadata = (side[index * n : (index + 1) * n] for side, n in ((case.b, whole), (case.metadata, runs)))
            yield replace(beat, b=b, metadata=metadata)
        return
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


def multiplied(unit: SparseUnit | Unit, case: Case) -> Case:
    """A case as the unit that multiplies has it: of a sparse unit, what is selected."""
    if not isinstance(unit, SparseUnit):
        return case
    return replace(case, b=tuple(selected(unit.sparsity, case.b, case.metadata)), metadata=())


def addend_mask(unit: Specified) -> int:
    """All ones, as wide as an addend."""
    return (1 << unit.operands.addend.container_bits) - 1 if unit.operands.addend else 0


def block_lengths(unit: Specified) -> tuple[int, int]:
    """Terms of a dot product that share one scale, of a and of b."""
    if unit.scale is None:
        raise InputError(f"{unit.name} has no scales")
    return unit.scale.a.block[1], unit.scale.b.block[0]


def operand_formats(unit: Unit | SparseUnit) -> dict[str, Format]:
    """The format of each operand that a unit has, in this order: a, b, metadata, scale_a, scale_b, c."""
    dense = unit.dense if isinstance(unit, SparseUnit) else unit
    formats: dict[str, Format] = {"a": dense.operands.a, "b": dense.operands.b}
    if isinstance(unit, SparseUnit):
        bits = unit.sparsity.index_bits
        formats["metadata"] = FixedFormat(name=f"index{bits}", integer_bits=bits, fraction_bits=0, signed=False)
    if dense.scale is not None:
        formats |= {"scale_a": dense.scale.a.format, "scale_b": dense.scale.b.format}
    return formats if dense.operands.addend is None else formats | {"c": dense.operands.addend}


def operand_counts(unit: Unit | SparseUnit, products: int) -> dict[str, int]:
    """The number of codes of each of a unit's operands for so many products; parts of blocks have a scale too."""
    if isinstance(unit, SparseUnit):
        rule = unit.sparsity
        whole = {"b": rule.whole_of(products), "metadata": products // rule.run}
        return {name: whole.get(name, 1 if name == "c" else products) for name in operand_formats(unit)}
    lengths = dict(zip(("scale_a", "scale_b"), block_lengths(unit), strict=True)) if unit.scale is not None else {}
    return {name: 1 if name == "c" else -(-products // lengths.get(name, 1)) for name in operand_formats(unit)}


def term_scales(unit: Specified, case: Case) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A case's scale codes of a and of b, one for each term, as `Definition.dot` takes them; empty where unscaled."""
    if unit.scale is None:
        return (), ()
    (length_a, length_b), terms = block_lengths(unit), range(len(case.a))
    return tuple(case.scale_a[i // length_a] for i in terms), tuple(case.scale_b[i // length_b] for i in terms)


def dot(definition: Definition, case: Case) -> Explanation:
    """Compute a case by the definition of a unit of one mode."""
    return definition.dot(case.a, case.b, case.c, *term_scales(definition.unit, case))


def modal_dot(unit: ModalUnit, modes: Sequence[Definition], case: Case) -> Explanation:
    """Compute a case of a unit of several modes. modes: the definitions of all its modes, in order."""
    chosen = [modes[number] for number in case.modes]
    return dot_in_modes(chosen, case.a, case.b, case.c, *term_scales(unit, case))


def beat_scales(unit: Specified, side: int, scales: tuple[int, ...], index: int) -> tuple[int, ...]:
    """The scales that one beat of a case carries, each of as many lanes as share one in every beat."""
    if unit.scale is None:
        return ()
    length, shared = block_lengths(unit)[side], unit.lanes_of_scale("b" if side else "a")
    return tuple(scales[place // length] for place in unit.instruction.indices(index)[::shared])


def fill(unit: Unit, products: int, case: Case) -> Case:
    """The case with zero terms up to whole beats of so many products, under scales of 1."""
    rest = -len(case.a) % products
    if not rest:
        return case
    zeros, scale = (0,) * rest, unit.scale
    longer = replace(case, a=(*case.a, *zeros), b=(*case.b, *zeros))
    if scale is None:
        return longer
    blocks = [-(-len(longer.a) // length) for length in block_lengths(unit)]
    more_a = (one_code(scale.a.format),) * (blocks[0] - len(case.scale_a))
    more_b = (one_code(scale.b.format),) * (blocks[1] - len(case.scale_b))
    return replace(longer, scale_a=(*case.scale_a, *more_a), scale_b=(*case.scale_b, *more_b))


def in_beats(unit: Unit, products: int) -> Unit:
    """The unit with a design's beats for its groups, by which cases are cut into beats; for nothing else.

    A beat of the design has its products in the order of K, whatever order their groups take them in.
    """
    instruction = unit.instruction.model_copy(update={"lanes": products, "order": "sequential"})
    return unit.model_copy(update={"instruction": instruction})


@dataclass(frozen=True, eq=False)
class Batch:
    """n cases of K terms each.

    ids: their names. a, b: codes (n, K), K a multiple of `instruction.fill`. c: codes (n,) of the addend's format, 0
    for a unit without one. scale_a, scale_b: codes (n, blocks) of an element for each block along K, or None for an
    unscaled unit. metadata: of a sparse unit, whose b are all factors; else None. All in their containers' dtypes.
    """

    ids: Sequence[str]
    a: Codes
    b: Codes
    c: Codes
    scale_a: Codes | None = None
    scale_b: Codes | None = None
    metadata: Codes | None = None

    def __len__(self) -> int:
        return len(self.a)

    def cut(self, count: int) -> Batch:
        """The first cases."""
        sides = (None if side is None else side[:count] for side in (self.scale_a, self.scale_b, self.metadata))
        return Batch(self.ids[:count], self.a[:count], self.b[:count], self.c[:count], *sides)

    def case(self, index: int) -> Case:
        """Return one of the cases."""
        sides = (self.a, self.b, self.scale_a, self.scale_b, self.metadata)
        a, b, x, y, places = (() if side is None else tuple(side[index].tolist()) for side in sides)
        return Case(self.ids[index], a, b, int(self.c[index]), x, y, metadata=places)

    def cases(self) -> Iterator[Case]:
        """Iterate over all cases."""
        none: list[list[int]] = [[]] * len(self)
        sides = (none if side is None else side.tolist() for side in (self.scale_a, self.scale_b, self.metadata))
        for name, a, b, c, x, y, places in zip(
            self.ids, self.a.tolist(), self.b.tolist(), self.c.tolist(), *sides, strict=True
        ):
            yield Case(name, tuple(a), tuple(b), c, tuple(x), tuple(y), metadata=tuple(places))


def expected(unit: Unit, batch: Batch) -> Codes:
    """A unit's results: codes (n,) in the output's container."""
    scales = None if batch.scale_a is None or batch.scale_b is None else (batch.scale_a, batch.scale_b)
    return dot_codes(unit, batch.a, batch.b, batch.c, scales)


def batches(unit: Unit, cases: Iterable[Case], most: int = 4096) -> Iterator[Batch]:
    """Cases in batches, in their order: neighbours of one length together, at most so many."""
    for _, same in groupby(cases, key=lambda case: len(case.a)):
        held: list[Case] = []
        for case in same:
            held.append(case)
            if len(held) == most:
                yield _batch(unit, held)
                held = []
        if held:
            yield _batch(unit, held)


def _batch(unit: Unit, cases: Sequence[Case]) -> Batch:
    operands, scale = unit.operands, unit.scale
    c = np.array([case.c for case in cases], container_dtype(operands.addend) if operands.addend else np.uint8)
    return Batch(
        [case.id for case in cases],
        np.array([case.a for case in cases], container_dtype(operands.a)),
        np.array([case.b for case in cases], container_dtype(operands.b)),
        c,
        None if scale is None else np.array([case.scale_a for case in cases], container_dtype(scale.a.format)),
        None if scale is None else np.array([case.scale_b for case in cases], container_dtype(scale.b.format)),
        np.array([case.metadata for case in cases], np.uint8) if cases[0].metadata else None,
    )


Pair = tuple[int, int]
Scales = tuple[tuple[int, ...], tuple[int, ...]]


class Rows:
    """Collects cases of one unit.

    lanes: of a beat. most: beats of the longest sum that the unit takes, None where there is no end.
    """

    def __init__(self, unit: Unit):
        self.unit = unit
        self.lanes = unit.instruction.lanes
        self.most = None if unit.instruction.chain else unit.instruction.groups
        self.cases: dict[str, Case] = {}

    def add(
        self, name: str, beats: Sequence[Sequence[Pair]], c: int = 0, lane: int = 0, scales: Scales | None = None
    ) -> bool:
        """A case of these beats, from `lane` on; the lanes that are left hold zeros. False where it is too long.

        c: the addend's code; left out of a unit without one. scales: the codes of a and of b, each of the blocks in
        turn, or 1.
        """
        instruction = self.unit.instruction
        terms = -(-max(1, len(beats)) * self.lanes // instruction.fill) * instruction.fill
        if self.most is not None and terms > self.most * self.lanes:
            return False
        a, b = [0] * terms, [0] * terms
        for index, pairs in enumerate(beats):
            here = instruction.indices(index)
            for offset, (x, y) in enumerate(pairs):
                place = here[(lane + offset) % self.lanes]
                a[place], b[place] = x, y
        addend = c if self.unit.operands.addend is not None else 0
        self.cases.setdefault(name, Case(name, tuple(a), tuple(b), addend, *self._scales(terms, scales)))
        return True

    def _scales(self, terms: int, scales: Scales | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
        scale = self.unit.scale
        if scale is None:
            return (), ()
        sides = ((one_code(scale.a.format),), (one_code(scale.b.format),)) if scales is None else scales
        a, b = (
            tuple(islice(cycle(codes), -(-terms // length)))
            for codes, length in zip(sides, block_lengths(self.unit), strict=True)
        )
        return a, b


def draws(unit: Unit) -> Support:
    """Support of a unit by the drawers of random cases: they lack what no implementation has."""
    return implemented(unit)


def supports(unit: Unit) -> Support:
    """Support of a unit by bins and directed cases: they lack what drawers of cases lack."""
    return draws(unit)


def windows(unit: Unit) -> Support:
    """Support of a unit by the bins of windows and their solvers: they lack all but one window.

    Of codes of 64 bits they lack products, which do not fit their integers.
    """
    general = implemented(unit)
    if not general:
        return general
    lacks = (*_of_sum(unit), *_of_others(unit), *wide_codes(unit))
    return Support(unit.name, "is in the model, but has no window bins", lacks)


@lru_cache(maxsize=256)
def one_window(unit: Unit) -> bool:
    """True if a unit has one plain window, which bins and solvers of their own are for."""
    return bool(windows(unit))


def window_of(unit: Unit) -> AlignedSum:
    """The one window of a unit that has window bins. Raises NotImplementedYet for others."""
    windows(unit).demand()
    if not isinstance(unit.sum, AlignedSum):
        raise NotImplementedYet(f"unit {unit.name}: sum.method: {unit.sum.method} has no window bins")
    return unit.sum


def _of_sum(unit: Unit) -> Iterator[str]:
    match unit.sum:
        case AlignedSum() as rule:
            if rule.subgroup is not None:
                yield "sum.subgroup"
            if rule.cut is not None:
                yield "sum.cut"
            if rule.zero_terms != "skip":
                yield f"sum.zero_terms: {rule.zero_terms}"
            if rule.max_exp_floor is not None and not _adds(unit):
                yield "sum.max_exp_floor without an addend"
            if rule.zero != "positive":
                yield f"sum.zero: {rule.zero}"
        case WindowSum() | RoundedSum() | ExactSum():
            yield f"sum.method: {unit.sum.method}"
        case _:
            assert_never(unit.sum)
    if unit.sum.product_limit is not None:
        yield "sum.product_limit"


def _adds(unit: Unit) -> bool:
    """True if a group may have an addend, c or a partial sum. Where it may, proofs allow for any max_exp."""
    several = unit.instruction.chain is not None or unit.instruction.k > unit.instruction.lanes
    return (unit.operands.addend is not None and unit.promotion is None) or (several and unit.promotion_beats != 1)


def _of_others(unit: Unit) -> Iterator[str]:
    scale, promotion, result = unit.scale, unit.promotion, unit.result
    refused = {
        f"scale.at: {scale and scale.at}": scale is not None and scale.at != "product",
        "result formats without subnormals": not (result.format.subnormals or result.format.without_exponent),
        "promotion formats without subnormals": promotion is not None and not promotion.format.subnormals,
        "promotion formats without infinities": promotion is not None and not promotion.format.infinities,
        "operands.convert": unit.operands.convert is not None,
        "operands.daz: true": unit.operands.daz,
        "instruction.order other than sequential": unit.instruction.order != "sequential",
        "instruction.start: zero": unit.instruction.start == "zero",
        "result.nan: any": result.nan == "any",
        "result.subnormals: flush": result.subnormals == "flush",
        "sum.addend: late": unit.sum.addend == "late",
    }
    return (setting for setting, lacks in refused.items() if lacks)
