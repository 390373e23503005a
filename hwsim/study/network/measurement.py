"""The error of a network on a unit against the same network in binary64: of its output and of every product."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hwsim.outputs import written
from hwsim.sources import identity
from hwsim.spec import Unit, as_yaml, load_unit
from hwsim.spec.fields import vary
from hwsim.study.accuracy.measurable import measurable
from hwsim.study.network.product import Array, Matmul, Where, exact
from hwsim.study.network.unit_products import Accumulated, ProductErrors, UnitProducts
from hwsim.study.plan.scaling import scaling_name

KINDS = ("quantization", "accumulation", "total")
PARTS = ".parts"


@dataclass(frozen=True)
class Entry:
    """A unit, and how the network's numbers become what it multiplies.

    label: for people. unit: a preset or the path of a unit. activations, weights: entries of a study's `scaling`.
    changes: fields of the unit that are to be others, as in a study's `grid`.
    """

    label: str
    unit: str
    activations: Any
    weights: Any
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def specified(self) -> Unit:
        """The unit, with its changes. Raises SpecError for unknown names and for changes that do not go together."""
        unit = vary(load_unit(self.unit), self.changes)
        measurable(unit).demand()
        return unit

    @property
    def scaling(self) -> str:
        """How activations and weights are scaled, in words."""
        both = scaling_name(self.activations), scaling_name(self.weights)
        return both[0] if both[0] == both[1] else " / ".join(both)


@dataclass
class Network:
    """A network with its inputs.

    name: for people. forward: what it returns, (rows, numbers), whatever way it multiplies. judge: what else is said
    of what it returns, by name. digest: of all that the reference depends on.
    """

    name: str
    forward: Callable[[Matmul], Array]
    judge: Callable[[Array], dict[str, float]]
    digest: str

    @cached_property
    def reference(self) -> Array:
        """The network's output in binary64."""
        return self.forward(exact)


@dataclass(frozen=True)
class Measured:
    """The errors of a network on a unit.

    relative: for each kind of error, |error| / |reference| of every row that the network returns (Euclidean lengths).
    cosine: 1 - the cosine between each row and its reference. products: the sums of every product of the network.
    judged: what the network says of what was returned with both kinds of errors.
    """

    relative: Mapping[str, list[float]]
    cosine: Mapping[str, list[float]]
    products: Mapping[Where, ProductErrors]
    judged: Mapping[str, float]


def measure(entry: Entry, network: Network) -> Measured:
    """Run a network three times: quantised with exact sums, exact with the unit's errors of sums, and on the unit.

    Raises as `hwsim.study.plan.scaling.resolve` for a unit that does not take its scaling.
    """
    products = UnitProducts(entry.specified, entry.activations, entry.weights)
    accumulated = Accumulated(products)
    found = {
        "quantization": network.forward(products.quantized),
        "accumulation": network.forward(accumulated),
        "total": network.forward(products.both),
    }
    return Measured(
        {kind: relative(one, network.reference).tolist() for kind, one in found.items()},
        {kind: turned(one, network.reference).tolist() for kind, one in found.items()},
        dict(accumulated.sums),
        network.judge(found["total"]),
    )


def relative(found: Array, reference: Array) -> Array:
    """|found - reference| / |reference| of every row."""
    return np.asarray(np.linalg.norm(found - reference, axis=-1) / np.linalg.norm(reference, axis=-1))


def turned(found: Array, reference: Array) -> Array:
    """1 - cosine of every row with its reference: half the squared distance at length 1, which cancels no digits."""
    unit, expected = (one / np.linalg.norm(one, axis=-1, keepdims=True) for one in (found, reference))
    return np.asarray(np.square(unit - expected).sum(axis=-1) / 2)


def kept(entry: Entry, network: Network, folder: Path) -> Measured:
    """`measure`, or its result kept in the folder by an earlier run with the same unit, scaling and network."""
    path = folder / PARTS / f"{_key(entry, network)}.json"
    try:
        return _read(path.read_text())
    except (OSError, ValueError, KeyError, TypeError):
        pass
    found = measure(entry, network)
    with written(path, aside=True) as file:
        file.write(_written(found).encode())
    return found


def _key(entry: Entry, network: Network) -> str:
    of = [identity(__name__), as_yaml(entry.specified), entry.activations, entry.weights, network.digest]
    return hashlib.sha256(json.dumps(of, sort_keys=True).encode()).hexdigest()


def _written(measured: Measured) -> str:
    products = [[*where, *sums] for where, sums in measured.products.items()]
    rest = {name: getattr(measured, name) for name in ("relative", "cosine", "judged")}
    return json.dumps({**rest, "products": products})


def _read(text: str) -> Measured:
    given = json.loads(text)
    size = len(Where._fields)
    products = {Where(*one[:size]): ProductErrors(*one[size:]) for one in given.pop("products")}
    return Measured(products=products, **given)
