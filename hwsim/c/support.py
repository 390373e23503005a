"""Which units can be exported to C."""

from __future__ import annotations

from hwsim.c.sizes import sized
from hwsim.spec import RoundedSum, Support, Unit, WindowSum, implemented, wide_codes
from hwsim.spec.support import WORD_BITS

MOST_BITS = 2048  # of an integer
FARTHEST = 1 << 20  # an exponent beyond every one that terms have


def supports(unit: Unit) -> Support:
    """What C lacks of a unit: what no implementation has yet, codes of 64 bits, integers too wide to be practical."""
    general = implemented(unit)
    if not general:
        return general
    floor, bits = unit.sum.max_exp_floor if isinstance(unit.sum, WindowSum) else None, sized(unit)[1].bits
    refused = {
        f"sum.max_exp_floor: {floor}": floor is not None and abs(floor) > FARTHEST,
        f"an integer of {bits:,} bits (more than {MOST_BITS:,})": bits > MOST_BITS,
    }
    if isinstance(unit.sum, RoundedSum):
        refused[f"sum.format: {unit.sum.format.name}"] = unit.sum.format.container_bits > WORD_BITS
    lacks = (*wide_codes(unit), *(what for what, lacking in refused.items() if lacking))
    return Support(unit.name, "is in the model, but not in C", lacks)
