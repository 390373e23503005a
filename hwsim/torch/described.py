"""The whole of a recipe, in words: every product, how its factors become codes, and what PyTorch computes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from hwsim.torch.operands import FactorRule, Side
from hwsim.torch.products import Products, UnitProduct, Which
from hwsim.torch.recipe import LayerKeys, Recipe

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
    """What the products do not say."""
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
        one = products.of(which)
        if one is None:
            rows.append(DescribedProduct(layers, name, "PyTorch", "f32", "f32", _result(one, products)))
            continue
        turned = "" if one.hadamard is None else f", after a Hadamard transform of {one.hadamard}"
        a, b = (f"{_factor(rule, side)}{turned}" for rule, side in _sides(one))
        rows.append(DescribedProduct(layers, name, one.unit.name, a, b, _result(one, products)))
    return rows


def _sides(product: UnitProduct) -> tuple[tuple[FactorRule, Side], tuple[FactorRule, Side]]:
    return (product.a, "a"), (product.b, "b")


def _result(product: UnitProduct | None, products: Products) -> str:
    """Where scales enter that the unit does not take, and what results are rounded to."""
    scaled = product is not None and any(
        not rule.direct and (not rule.scaling.enters or rule.scaling.rule.tensor_scale != "none")
        for rule, _ in _sides(product)
    )
    sums = "f32" if product is None else product.unit.output.name
    return f"{sums}{', times scales in f32' if scaled else ''}, rounded to {products.output}"


def _factor(operand: FactorRule, side: Side) -> str:
    """How numbers become codes."""
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
    second = "" if rule.tensor_scale == "none" else ", one f32 for the tensor"
    past = "" if operand.history is None else f", of the last {operand.history.length} steps"
    return f"{rule.element.name}, {scale}{how}{second}{past}{rounding}"


def _layers(keys: LayerKeys) -> str:
    """Which layers a rule is of."""
    said = [
        PLACES.get(keys.place or "", ""),
        keys.kind or "",
        f"modules {keys.name}" if keys.name else "",
        f"modules of class {keys.type}" if keys.type else "",
    ]
    return ", ".join(filter(None, said))
