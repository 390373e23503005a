"""What of a model goes through units, and what does not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hwsim.torch.products import Products
from hwsim.words import counted


@dataclass(frozen=True)
class CallPlace:
    """A function that a module calls. units: of the three products; empty where PyTorch computes it."""

    module: str
    cls: str
    function: str
    units: tuple[str, ...]

    @property
    def words(self) -> str:
        """The function, and who calls it."""
        return f"{self.function} of {self.module or 'the model'} ({self.cls})"


@dataclass
class Report:
    """What of a model goes through units. It grows while the model runs: what was not called yet is not in it.

    converted: calls that units compute. left: calls that were left to PyTorch as asked for. not_converted: calls of
    functions that multiply in code of their own. calls: how often each place was called.
    """

    recipe: str
    places: dict[tuple[str, str], CallPlace] = field(default_factory=dict)
    others: dict[tuple[str, str], CallPlace] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)

    def found(self, name: str, cls: str, function: str, products: Products | None) -> None:
        """Note a call."""
        units: tuple[str, ...] = ()
        if products is not None:
            every = (products.forward, products.input, products.weight)
            units = tuple("float32" if one is None else one.unit.name for one in every)
        self.places[name, function] = CallPlace(name, cls, function, units)

    def not_converted(self, name: str, cls: str, function: str) -> CallPlace | None:
        """Note a call of a function that multiplies and that no unit computes. Returns the place if it is new."""
        if (name, function) in self.others:
            return None
        self.others[name, function] = place = CallPlace(name, cls, function, ())
        return place

    @property
    def converted(self) -> list[CallPlace]:
        """Calls that units compute."""
        return [place for place in self.places.values() if place.units]

    @property
    def left(self) -> list[CallPlace]:
        """Calls that PyTorch computes: as asked for, and of functions that multiply in code of their own."""
        return [place for place in self.places.values() if not place.units] + list(self.others.values())

    def __str__(self) -> str:
        through = counted(len(self.converted), "call")
        lines = [f"recipe {self.recipe}: {through} through units, {len(self.left)} by PyTorch"]
        for place in self.converted:
            names = list(dict.fromkeys(place.units))
            units = names[0] if len(names) == 1 else " | ".join(place.units)
            lines.append(f"  {place.module or '(model)'} ({place.cls}) {place.function}: {units}")
        for places, why in ((self.places, "as asked for"), (self.others, "no unit computes it")):
            lines += [
                f"  {place.module or '(model)'} ({place.cls}) {place.function}: PyTorch, {why}"
                for place in places.values()
                if not place.units
            ]
        return "\n".join(lines)
