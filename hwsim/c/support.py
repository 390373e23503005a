"""Which units can be exported to C."""

from __future__ import annotations

from hwsim.c.parts import part_sums
from hwsim.c.sizes import sized
from hwsim.spec import RoundedSum, Support, Unit, WindowSum, implemented, wide_codes

MOST_BITS = 2048  # of an integer
MOST_PART = 62  # of a number that one rounded addition takes
FARTHEST = 1 << 20  # an exponent beyond every one that terms have


def _rounded_part_bits(unit: Unit) -> int:
    """Bits of the largest sum of a part that a rounded addition takes; 0 where none does."""
    sums = part_sums(unit, sized(unit)[1]) if isinstance(unit.sum, RoundedSum) else None
    return 0 if sums is None else sums.most.bit_length()


def supports(unit: Unit) -> Support:
    """What C lacks of a unit: what no implementation has yet, codes of 64 bits, integers too wide to be practical."""
    general = implemented(unit)
    if not general:
        return general
    part = _rounded_part_bits(unit)
    floor, bits = unit.sum.max_exp_floor if isinstance(unit.sum, WindowSum) else None, sized(unit)[1].bits
    refused = {
        f"sum.max_exp_floor: {floor}": floor is not None and abs(floor) > FARTHEST,
        f"exact sums of parts of {part} bits (more than {MOST_PART}) that are rounded": part > MOST_PART,
        f"an integer of {bits:,} bits (more than {MOST_BITS:,})": bits > MOST_BITS,
    }
    lacks = (*wide_codes(unit), *(what for what, lacking in refused.items() if lacking))
    return Support(unit.name, "is in the model, but not in C", lacks)
