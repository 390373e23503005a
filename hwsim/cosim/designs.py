"""Our RTL of any unit as a design."""

from __future__ import annotations

from hwsim.cosim.modaldesign import modal_design
from hwsim.cosim.unitdesign import UnitDesign, unit_design
from hwsim.spec import ModalUnit, Pipeline, Specified


def design_of(unit: Specified, built: Pipeline, called: str) -> UnitDesign:
    """Our RTL of a unit, of one mode or of several. called: what a command line calls it.

    Raises NotImplementedYet for a unit that the RTL cannot build.
    """
    return modal_design(unit, built, called) if isinstance(unit, ModalUnit) else unit_design(unit, built, called)
