"""The families of bins, in order: which units each is for, its bins, and what makes cases that hit them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice

from hwsim.cases.aimed import aimed
from hwsim.cases.bins import boundaries as rows
from hwsim.cases.bins import outcomes
from hwsim.cases.bins.accumulation import ACCUMULATION, PROMOTIONS, declare_lengths
from hwsim.cases.bins.adder_rows import smaller_rows
from hwsim.cases.bins.adders import declare_smaller
from hwsim.cases.bins.declare import Family, Subject, declare_interface, every_unit, laid, not_one_window
from hwsim.cases.bins.exponents import DISTANCES, FLOORS, REFERENCES
from hwsim.cases.bins.fewterms import few_rows
from hwsim.cases.bins.lostbits import LOST_BITS, STICKY
from hwsim.cases.bins.lowaddends import low_addend_rows, of_scaled_sums
from hwsim.cases.bins.nearties import near_rows
from hwsim.cases.bins.operands import OPERANDS, SPECIALS, declare_pairs
from hwsim.cases.bins.roundings import RANGES, ROUNDINGS
from hwsim.cases.bins.scales import SCALES
from hwsim.cases.bins.sums import SUMS
from hwsim.cases.bins.windowedges import edge_rows
from hwsim.cases.case import Case, one_window
from hwsim.cases.drawing import key_of
from hwsim.cases.random_cases import draw, run_beats, runs
from hwsim.spec import AlignedSum, EvenOddSum, LateInWindow, Unit, WindowSum

AIMED, BESIDE_SOLVED = 512, 224  # cases that are aimed at places of roundings; of one window, which has solved ones
SEARCHED = 4096  # random cases that are looked through for bins that no directed case hits


def _other_windows(unit: Unit) -> bool:
    return isinstance(unit.sum, WindowSum) and not_one_window(unit)


def _aimed(most: int, subject: Subject) -> Iterator[Case]:
    return islice(aimed(subject.unit, 1), most)


def _drawn(first: int, size: int, subject: Subject) -> Iterator[Case]:
    unit = subject.unit
    terms = run_beats(unit, first) * unit.instruction.lanes
    return draw(unit, key_of(subject.seed, unit.name, "covering"), first, size, terms, label="covering").cases()


RANDOM = tuple(partial(_drawn, first, size) for first, size in runs(SEARCHED))
MODELLED = tuple(f"G{number}" for number in range(1, 12))  # groups whose bins are sampled from the model's records
OF_ONE_WINDOW = (  # whose cases are solved for
    OPERANDS, DISTANCES, REFERENCES, FLOORS, LOST_BITS, SUMS, ROUNDINGS, STICKY, RANGES, SCALES, SPECIALS, ACCUMULATION,
    PROMOTIONS,
)  # fmt: skip
OF_OTHERS = (
    Family(not_one_window, outcomes.declare_lanes, laid(rows.pair_rows, rows.lane_rows)),
    Family(
        not_one_window,
        outcomes.declare_specials,
        laid(rows.zero_rows, rows.addend_end_rows, rows.special_rows, rows.distance_rows),
    ),
    Family(not_one_window, declare_lengths, laid(rows.chain_rows)),
    Family(not_one_window, outcomes.declare_results, laid(rows.scale_rows, rows.cancelled_rows)),
    Family(_other_windows, directed=laid(rows.half_rows)),
    Family(lambda unit: isinstance(unit.sum, EvenOddSum), outcomes.declare_halves),
    Family(lambda unit: isinstance(unit.late, LateInWindow), outcomes.declare_late_window),
    Family(lambda unit: isinstance(unit.sum, AlignedSum) and unit.sum.cut is not None, outcomes.declare_cut),
    Family(not_one_window, outcomes.declare_outcomes, laid(rows.first_product_rows, rows.sticky_rows, rows.flush_rows)),
)
# In this order cases are made, and bins of one group declared.
FAMILIES = (
    Family(every_unit, declare_pairs),
    *OF_ONE_WINDOW,
    *OF_OTHERS,
    Family(every_unit, declare_smaller, laid(smaller_rows)),
    Family(every_unit, directed=laid(near_rows, few_rows)),
    Family(_other_windows, directed=laid(edge_rows)),
    Family(of_scaled_sums, directed=laid(low_addend_rows)),
    Family(one_window, directed=(partial(_aimed, BESIDE_SOLVED),)),
    Family(not_one_window, directed=(partial(_aimed, AIMED),), rest=RANDOM, groups=MODELLED),
    Family(every_unit, declare_interface),
)


def families_of(unit: Unit) -> tuple[Family, ...]:
    """The families that a unit has."""
    return tuple(family for family in FAMILIES if family.units(unit))
