"""What the claims of every method have in common, and what finds operands that refute them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence

from hwsim.model.definition import Definition
from hwsim.prove.btor import Circuit
from hwsim.prove.claims import AnyClaim
from hwsim.prove.logic import Term
from hwsim.spec import Unit


class DatapathClaims(ABC):
    """All claims about the datapath of a unit.

    cuts: as of a pipeline, where they divide what a claim is about.
    """

    def __init__(self, unit: Unit, cuts: Sequence[str] = ()):
        self.unit, self.model = unit, Definition(unit, keep=False)

    @abstractmethod
    def claims(self) -> Iterator[AnyClaim]:
        """In the order of the steps; then of the cases and of the whole."""

    def of_mode(self) -> Iterator[AnyClaim]:
        """Those that depend on which mode of several the unit is: of decoding, and of what decoding begins."""
        yield from self.claims()

    @property
    @abstractmethod
    def chain(self) -> Sequence[Circuit]:
        """The datapath, one circuit after another: claims are about the inputs and outputs of these."""

    @property
    @abstractmethod
    def neutral(self) -> Mapping[str, Term]:
        """Inputs of the first of these that are +0, with scales of 1, by their names."""
