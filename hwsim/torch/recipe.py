"""Recipes: which unit computes each product of a model, and how numbers become what it multiplies. Data, in YAML."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field

from hwsim.base.errors import InputError, InputTypeError
from hwsim.base.text import counted
from hwsim.formats.catalog import looks_like_path, nearest
from hwsim.formats.yamlfile import Document, Location, MappingDocument, SpecError, read, validated
from hwsim.quantize import Rule, get_rule
from hwsim.spec import load_unit
from hwsim.spec.profile import ProfileLike, load_profile
from hwsim.torch.products import (
    FactorRule,
    Library,
    Output,
    Products,
    Side,
    UnitProduct,
    Unknown,
    Which,
    check_size,
    operand_of,
)

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


class LibraryKeys(_Keys):
    """A GPU's library in whose way products are made."""

    name: str
    """A profile's name, or the path of its file."""
    unknown: Unknown = "refuse"
    """What becomes of a product that it does not know: an error, or one sum of all of K, with a warning."""


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
    profile: str | LibraryKeys | None = None
    """The profile of a GPU and its library, whose splits, order of scales, biases and roundings the three products
    have; recipes of `layers` have their own."""
    layers: tuple[LayerKeys, ...] = ()
    """Layers that have another recipe; the first that fits counts."""


@dataclass(frozen=True)
class LayerRule:
    """Layers that have other products. products: None leaves them to PyTorch."""

    keys: LayerKeys
    products: Products | None


@dataclass(frozen=True)
class Recipe:
    """The units, rules and formats by which every product of a model is computed.

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
        """The call that loads it, if it ships with hwsim; else a short description."""
        if self.name in recipes() and self == _shipped(self.name):
            return f"load_recipe({self.name!r})"
        three = (self.products.forward, self.products.input, self.products.weight)
        units = ", ".join("PyTorch" if product is None else product.unit.name for product in three)
        rules = counted(len(self.layers), "rule") + " of layers"
        return f"<Recipe {self.name}: {units}; output {self.products.output}; {rules}>"

    def with_products(self, **changes: Any) -> Recipe:
        """This recipe with other products, output, keep or library."""
        return replace(self, products=replace(self.products, **changes))

    def with_profile(self, profile: ProfileLike, unknown: Unknown = "refuse") -> Recipe:
        """This recipe, its three products made as a GPU's library makes them; layers with recipes of their own stay.

        profile: a name that `hwsim plan profiles` lists, a file, or a Profile. unknown: what becomes of a product that
        it does not know: `refuse` raises NotCaptured, `one-sum` sums all of K in one unit, with a warning.
        Raises as `hwsim.spec.profile.load_profile`, and ValueError for another word.
        """
        if unknown not in get_args(Unknown):
            raise InputError(f"unknown must be refuse or one-sum, not {unknown!r}")
        return self.with_products(library=Library(load_profile(profile), unknown))


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
        return _read(MappingDocument("recipe", recipe))
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
    for index, layer in enumerate(keys.layers):
        where: Location = ("layers", index)
        if not (layer.name or layer.type or layer.kind or layer.place):
            raise SpecError(f"{document.where(where)}: layers.{index} must have a name, type, kind or place")
        layers.append(LayerRule(layer, _others(layer.recipe, document, (*where, "recipe"))))
    written = json.dumps(document.data, sort_keys=True, default=str)
    return Recipe(keys.recipe, keys.summary, keys.source, products, tuple(layers), keys.recompute, written)


def _others(name: str, document: Document, location: Location) -> Products | None:
    if name == "none":
        return None
    path = document.path.parent / name if looks_like_path(name) and not Path(name).is_absolute() else name
    try:
        return load_recipe(path).products
    except SpecError as error:
        raise _wrong(document, location, error) from None


def _products(keys: RecipeKeys, document: Document) -> Products:
    def product(which: Which) -> UnitProduct | None:
        entry = getattr(keys.products, which)
        return None if entry == "none" else _product(entry, document, ("products", which))

    kept = _rule(keys.keep, document, ("keep",))
    return Products(
        product("forward"), product("input"), product("weight"), keys.output, kept, _library(keys.profile, document)
    )


def _library(entry: str | LibraryKeys | None, document: Document) -> Library | None:
    if entry is None:
        return None
    name, unknown = (entry.name, entry.unknown) if isinstance(entry, LibraryKeys) else (entry, "refuse")
    try:
        return Library(load_profile(document.path.parent / name if looks_like_path(name) else name), unknown)
    except (ValueError, OSError) as error:
        raise _wrong(document, ("profile",), error) from None


def _product(keys: ProductKeys, document: Document, location: Location) -> UnitProduct:
    part = "unit"
    try:
        named = keys.unit
        is_path = isinstance(named, str) and looks_like_path(named)
        unit = load_unit(document.path.parent / str(named) if is_path else named)
        part = "changes"
        unit = unit.replace(keys.changes) if keys.changes else unit
        part = "a"
        a = operand_of(keys.a, unit, "a")
        part = "b"
        b = operand_of(keys.b, unit, "b")
        part = "hadamard"
        check_size(keys.hadamard)
    except (ValueError, TypeError) as error:
        raise _wrong(document, (*location, part), error) from None
    return UnitProduct(unit, a, b, keys.hadamard)


def _rule(entry: Any, document: Document, location: Location) -> Rule | None:
    """A rule for activations that are kept: its name, or {rule: NAME, FIELD: VALUE}."""
    if entry in (None, "none"):
        return None
    keys = dict(entry) if isinstance(entry, dict) else {"rule": entry}
    try:
        name = keys.pop("rule")
        if isinstance(keys.get("block"), (list, tuple)):
            keys["block"] = tuple(None if size == "none" else size for size in keys["block"])
        return get_rule(name).replace(**keys)
    except KeyError:
        raise _wrong(document, location, "must be the name of a rule, or {rule: NAME, FIELD: VALUE}") from None
    except (ValueError, TypeError) as error:
        raise _wrong(document, location, error) from None


def _wrong(document: Document, location: Location, message: object) -> SpecError:
    return SpecError(f"{document.where(location)}: {'.'.join(map(str, location))}: {message}")


PRODUCTS: dict[Which, str] = {
    "forward": "forward",
    "input": "gradient of the input",
    "weight": "gradient of the weight",
}
OF_ATTENTION: dict[Which, str] = {
    "forward": "scores, and sum of values",
    "input": "gradients of query and weights",
    "weight": "gradients of key and value",
}
PLACES = {"first": "the first linear layer or convolution", "last": "the last linear layer or convolution"}


class DescribedProduct(NamedTuple):
    """A product of a recipe. layers: of which. a, b: how the factors become codes. result: what becomes of sums."""

    layers: str
    product: str
    unit: str
    a: str
    b: str
    result: str


def described(recipe: Recipe) -> list[DescribedProduct]:
    """Every product of a recipe, those of attention too. Where several rows name a layer, the last counts."""
    rows = _rows("every layer", recipe.products)
    if not any(_layers(rule.keys) == "attention" for rule in recipe.layers):
        rows += _rows("attention", recipe.products, OF_ATTENTION)
    for rule in reversed(recipe.layers):  # in the recipe the first that fits counts
        names = OF_ATTENTION if rule.keys.kind == "attention" else PRODUCTS
        rows += _rows(_layers(rule.keys), rule.products, names)
    return rows


def sentences(recipe: Recipe) -> Iterator[str]:
    """Sentences about a recipe that its table of products does not say."""
    output = recipe.products.output
    if len(recipe.layers) > 1:
        yield "Where several rows name a layer, the last counts."
    yield (
        f"A bias or another addend is rounded to {output}, added in f32, and the sum is rounded once to {output}."
        if output != "f32"
        else "A bias or another addend is added in f32."
    )
    yield (
        "Attention: scores times their scale, and masks, in the tensors' dtype; softmax in f32. Attention is two "
        "products, and each has three of its own."
    )
    yield "PyTorch computes all else, in the tensors' dtype: normalisation, activations, embeddings, sums of gradients."
    library = recipe.products.library
    if library is not None:
        known = "are refused" if library.unknown == "refuse" else "are one sum, with a warning"
        yield (
            f"Products are made as {library.profile.library} makes them on {library.profile.gpu}, split, scaled and "
            f"rounded as profile {library.profile.name} says for each shape; shapes and calls that it does not know "
            f"{known}."
        )
    rule = recipe.products.keep
    if rule is not None:
        block = f"{rule.block[0] or 'all'} x {rule.block[1] or 'all'}"
        yield f"Activations are kept for the backward pass in {rule.element.name}, a scale for {block}."
    if recipe.recompute:
        yield f"Computed again in the backward pass: {', '.join(recipe.recompute)}."


def _rows(layers: str, products: Products | None, names: dict[Which, str] = PRODUCTS) -> list[DescribedProduct]:
    if products is None:
        return [DescribedProduct(layers, "all", "PyTorch", "", "", "in the tensors' dtype")]
    rows = []
    for which, name in names.items():
        product = products.of(which)
        if product is None:
            rows.append(DescribedProduct(layers, name, "PyTorch", "f32", "f32", _result(product, products)))
            continue
        turned = "" if product.hadamard is None else f", after a Hadamard transform of {product.hadamard}"
        a, b = (f"{_factor(rule, side)}{turned}" for rule, side in _sides(product))
        rows.append(DescribedProduct(layers, name, product.unit.name, a, b, _result(product, products)))
    return rows


def _sides(product: UnitProduct) -> tuple[tuple[FactorRule, Side], tuple[FactorRule, Side]]:
    return (product.a, "a"), (product.b, "b")


def _result(product: UnitProduct | None, products: Products) -> str:
    """Describe the scales that the unit does not take, and the format of results."""
    scaled = product is not None and any(
        not rule.direct and (not rule.scaling.enters or rule.scaling.rule.tensor_scale != "none")
        for rule, _ in _sides(product)
    )
    sums = "f32" if product is None else product.unit.output.name
    return f"{sums}{', times scales in f32' if scaled else ''}, rounded to {products.output}"


def _factor(operand: FactorRule, side: Side) -> str:
    """Describe how numbers become codes."""
    rule, fixed = operand.scaling.rule, operand.scaling.scale
    rounding = "" if rule.rounding == "rne" else f", {rule.rounding}"
    if operand.direct:
        return f"{rule.element.name}, no scale{rounding}"
    across, along = rule.block
    if (across, along) == (None, None):
        block = "the tensor"
    elif along is None:
        block = "a row" if side == "a" else "a column"
    else:
        block = f"{across} x {along} along K"
    scale = f"one {rule.scale_format.name} scale for {block}" if fixed is None else f"the scale {fixed:g}"
    how = "" if rule.select == "divide" or fixed is not None else f" ({rule.select})"
    tensor_scale = "" if rule.tensor_scale == "none" else ", one f32 for the tensor"
    past = "" if operand.history is None else f", of the last {operand.history.length} steps"
    return f"{rule.element.name}, {scale}{how}{tensor_scale}{past}{rounding}"


def _layers(keys: LayerKeys) -> str:
    parts = [
        PLACES.get(keys.place or "", ""),
        keys.kind or "",
        f"modules {keys.name}" if keys.name else "",
        f"modules of class {keys.type}" if keys.type else "",
    ]
    return ", ".join(filter(None, parts))
