"""The families of bins: what declares and counts the bins of each, and what solves for cases that hit them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hwsim.cases.bench import Bench
from hwsim.cases.bins import accumulation, distances, lostbits, operands, ranges, references, roundings, specials, sums
from hwsim.cases.bins.declare import Declared
from hwsim.cases.bins.facts import UnitFacts
from hwsim.cases.solvers import beats, promotions, scales
from hwsim.cases.solvers import distances as solve_distances
from hwsim.cases.solvers import lostbits as solve_lostbits
from hwsim.cases.solvers import operands as solve_operands
from hwsim.cases.solvers import ranges as solve_ranges
from hwsim.cases.solvers import references as solve_references
from hwsim.cases.solvers import roundings as solve_roundings
from hwsim.cases.solvers import sums as solve_sums

DirectedSolver = Callable[[Bench], None]
BinSolver = Callable[[Bench, UnitFacts], None]


@dataclass(frozen=True)
class Family:
    """Bins of one or two groups.

    groups: their titles, by name. declare: declares the bins, and what counts them. directed: solvers of directed
    cases, all of which are kept. rest: solvers for bins that no directed case hits; their cases are kept where they
    hit something new.
    """

    groups: Mapping[str, str]
    declare: Callable[[UnitFacts, Declared], None]
    directed: tuple[DirectedSolver, ...]
    rest: tuple[BinSolver, ...] = ()


FAMILIES = (
    Family(
        {"G1": "operands"},
        operands.declare,
        (solve_operands.class_pairs,),
        (solve_operands.class_rows, solve_operands.class_specials),
    ),
    Family(
        {"G2": "alignment distance"},
        distances.declare,
        (solve_distances.between_products, solve_distances.to_the_addend, solve_distances.extreme_addends),
    ),
    Family(
        {"G3": "reference exponent"},
        references.declare,
        (solve_references.lanes, solve_references.zero_times, solve_references.subnormals),
        (solve_references.least_subnormals, solve_references.lane_pairs),
    ),
    Family(
        {"G4": "lost bits"},
        lostbits.declare,
        (
            solve_lostbits.of_products,
            solve_lostbits.of_the_addend,
            solve_lostbits.of_many_lanes,
            solve_lostbits.at_the_edge,
        ),
        (solve_lostbits.single_bits, solve_lostbits.under_addend, solve_lostbits.many_alike, solve_lostbits.last_bits),
    ),
    Family(
        {"G5": "cancellation", "G6": "growth"},
        sums.declare,
        (solve_sums.normalize, solve_sums.growth, solve_sums.carry, solve_sums.cancel, solve_sums.residue),
        (solve_sums.largest, solve_sums.cancelled, solve_sums.hidden, solve_sums.highest),
    ),
    Family(
        {"G7": "rounding", "G8": "near misses"},
        roundings.declare,
        (solve_roundings.ties,),
        (solve_roundings.cut, solve_roundings.sticky, solve_roundings.bits_apart, solve_roundings.near),
    ),
    Family(
        {"G9": "range"},
        ranges.declare,
        (solve_ranges.ends, scales.codes, scales.nan, scales.far, scales.blocks, scales.beats),
        (solve_ranges.pushed,),
    ),
    Family(
        {"G10": "specials"},
        specials.declare,
        (solve_operands.zeros_alone, solve_operands.nan, solve_operands.infinity),
        (solve_operands.nan_beside_infinity,),
    ),
    Family(
        {"G11": "accumulation"},
        accumulation.declare,
        (
            beats.chain,
            beats.special,
            promotions.interval,
            promotions.register,
            promotions.cancel,
            promotions.tie,
            promotions.apart,
            promotions.overflow,
        ),
        (beats.chains,),
    ),
)
