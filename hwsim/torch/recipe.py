"""Recipes: which unit computes each product of a model, and how numbers become what it multiplies. Data, in YAML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field

from hwsim.errors import InputTypeError
from hwsim.formats.catalog import looks_like_path, nearest
from hwsim.formats.yamlfile import Document, Location, SpecError, read, validated
from hwsim.quantize import Rule, get_rule
from hwsim.spec import load_unit
from hwsim.spec.fields import locations
from hwsim.torch.hadamard import check_size
from hwsim.torch.operands import operand_of
from hwsim.torch.products import Output, Products, UnitProduct, Which
from hwsim.words import counted

SHIPPED = Path(__file__).with_name("recipes")
Kind = Literal["linear", "convolution", "depthwise", "attention", "matmul"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class _Keys(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ProductKeys(_Keys):
    """A product, as a file says it."""

    unit: str | dict[str, Any]
    """A unit's name, the path of its file, or its keys."""
    changes: dict[str, Any] = {}
    """Keys of the unit with other values, by their paths."""
    a: Any
    """How the first factor's numbers become codes: a rule, or `{rule: NAME, FIELD: VALUE, history: {...}}`."""
    b: Any
    """The same of the second factor."""
    hadamard: int | None = None
    """The size of a random Hadamard transform of both factors along K."""


class ProductsKeys(_Keys):
    """The three products of a layer, as a file says them."""

    forward: ProductKeys | Literal["none"]
    """Activations @ weights; `none` leaves a product to PyTorch, in float32."""
    input: ProductKeys | Literal["none"]
    """Gradients @ transposed weights: the gradient of the input."""
    weight: ProductKeys | Literal["none"]
    """Transposed gradients @ activations: the gradient of the weight."""


class LayerKeys(_Keys):
    """Layers that another recipe, or none, has."""

    name: str | None = None
    """Modules by the pattern of their name: `head`, `*.attention.*`."""
    type: str | None = None
    """Modules by the name of their class."""
    kind: Kind | None = None
    """Products by what they are of."""
    place: Literal["first", "last"] | None = None
    """The first or the last of the linear layers and convolutions, as the model has them."""
    recipe: str
    """The name or the file of a recipe, whose `products`, `output` and `keep` these have; `none` leaves them to
    PyTorch."""


class RecipeKeys(_Keys):
    """A recipe's file."""

    recipe: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    """Its name."""
    summary: str = ""
    """What it is, in a line."""
    source: tuple[str, ...] = ()
    """Where it is published."""
    products: ProductsKeys
    """The three products of every layer."""
    output: Output = "f32"
    """The format that results are rounded to."""
    keep: Any = None
    """The rule by which activations are kept for the backward pass; nothing keeps them as they are."""
    recompute: tuple[str, ...] = ()
    """Modules, by patterns of their names or by their classes, that keep nothing for the backward pass but what goes
    into them: the rest is computed again there."""
    layers: tuple[LayerKeys, ...] = ()
    """Layers that have another recipe; the first that fits counts."""


@dataclass(frozen=True)
class LayerRule:
    """Layers that have other products. products: None leaves them to PyTorch."""

    keys: LayerKeys
    products: Products | None


@dataclass(frozen=True)
class Recipe:
    """How every product of a model is computed.

    products: of every layer that none of `layers` fits; the first of these that fits counts. recompute: modules, by
    patterns of their names or by their classes, whose activations are computed again for the backward pass.
    """

    name: str
    summary: str
    source: tuple[str, ...]
    products: Products
    layers: tuple[LayerRule, ...] = ()
    recompute: tuple[str, ...] = ()
    written: str = ""

    def __repr__(self) -> str:
        """As what makes it, if it ships with hwsim; else what it is in short."""
        if self.name in recipes() and self == _shipped(self.name):
            return f"load_recipe({self.name!r})"
        three = (self.products.forward, self.products.input, self.products.weight)
        units = ", ".join("PyTorch" if one is None else one.unit.name for one in three)
        rules = counted(len(self.layers), "rule") + " of layers"
        return f"<Recipe {self.name}: {units}; output {self.products.output}; {rules}>"

    def with_products(self, **changes: Any) -> Recipe:
        """This recipe with other products, output or keep."""
        return replace(self, products=replace(self.products, **changes))


class _Mapping(Document):
    """A recipe that stands in no file."""

    def where(self, location: Location) -> str:
        """What it is called."""
        return str(self.path)


RecipeLike: TypeAlias = Recipe | str | Path | Mapping[str, Any]


@cache
def recipes() -> tuple[str, ...]:
    """The names of the recipes that ship with hwsim."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.yaml")))


def load_recipe(recipe: RecipeLike) -> Recipe:
    """A recipe by name, from a YAML file, or from a mapping of its keys.

    Raises SpecError (a ValueError) for what breaks a rule, naming file, line, key, rule and value, and for an unknown
    name, naming the nearest; TypeError for anything else.
    """
    if isinstance(recipe, Recipe):
        return recipe
    if isinstance(recipe, Mapping):
        return _read(_Mapping(Path("recipe"), dict(recipe), dict.fromkeys(locations(recipe), 0)))
    if not isinstance(recipe, (str, Path)):
        raise InputTypeError(f"recipe must be a name, a path, a mapping or a Recipe, not {type(recipe).__name__}")
    if isinstance(recipe, str) and not looks_like_path(recipe):
        if recipe not in recipes():
            raise SpecError(nearest("recipe", recipe, recipes()))
        return _shipped(recipe)
    return _read(read(Path(recipe)))


@cache
def _shipped(name: str) -> Recipe:
    return _read(read(SHIPPED / f"{name}.yaml"))


def _read(document: Document) -> Recipe:
    keys = validated(RecipeKeys, document)
    products = _products(keys, document)
    layers = []
    for at, layer in enumerate(keys.layers):
        where: Location = ("layers", at)
        if not (layer.name or layer.type or layer.kind or layer.place):
            raise SpecError(f"{document.where(where)}: layers.{at} must have a name, type, kind or place")
        layers.append(LayerRule(layer, _others(layer.recipe, document, (*where, "recipe"))))
    written = json.dumps(document.data, sort_keys=True, default=str)
    return Recipe(keys.recipe, keys.summary, keys.source, products, tuple(layers), keys.recompute, written)


def _others(name: str, document: Document, at: Location) -> Products | None:
    if name == "none":
        return None
    path = document.path.parent / name if looks_like_path(name) and not Path(name).is_absolute() else name
    try:
        return load_recipe(path).products
    except SpecError as error:
        raise _wrong(document, at, error) from None


def _products(keys: RecipeKeys, document: Document) -> Products:
    def product(which: Which) -> UnitProduct | None:
        given = getattr(keys.products, which)
        return None if given == "none" else _product(given, document, ("products", which))

    return Products(
        product("forward"), product("input"), product("weight"), keys.output, _rule(keys.keep, document, ("keep",))
    )


def _product(keys: ProductKeys, document: Document, at: Location) -> UnitProduct:
    part = "unit"
    try:
        named = keys.unit
        beside = isinstance(named, str) and looks_like_path(named)
        unit = load_unit(document.path.parent / str(named) if beside else named)
        part = "changes"
        unit = unit.replace(keys.changes) if keys.changes else unit
        part = "a"
        a = operand_of(keys.a, unit, "a")
        part = "b"
        b = operand_of(keys.b, unit, "b")
        part = "hadamard"
        check_size(keys.hadamard)
    except (ValueError, TypeError) as error:
        raise _wrong(document, (*at, part), error) from None
    return UnitProduct(unit, a, b, keys.hadamard)


def _rule(given: Any, document: Document, at: Location) -> Rule | None:
    """A rule for activations that are kept: its name, or {rule: NAME, FIELD: VALUE}."""
    if given in (None, "none"):
        return None
    keys = dict(given) if isinstance(given, dict) else {"rule": given}
    try:
        name = keys.pop("rule")
        if isinstance(keys.get("block"), (list, tuple)):
            keys["block"] = tuple(None if size == "none" else size for size in keys["block"])
        return get_rule(name).replace(**keys)
    except KeyError:
        raise _wrong(document, at, "must be the name of a rule, or {rule: NAME, FIELD: VALUE}") from None
    except (ValueError, TypeError) as error:
        raise _wrong(document, at, error) from None


def _wrong(document: Document, at: Location, message: object) -> SpecError:
    return SpecError(f"{document.where(at)}: {'.'.join(map(str, at))}: {message}")
