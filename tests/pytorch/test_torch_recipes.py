"""Recipes: those that ship, and what is wrong in a user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import hwsim.torch as ht
from hwsim.base.errors import InputError
from hwsim.formats.yamlfile import SpecError
from hwsim.quantize import DelayedScaling

PLAIN = {"unit": "hopper-wgmma-e4m3-f32", "a": "tensor", "b": "tensor"}


def recipe(**changes: Any) -> dict[str, Any]:
    return {"recipe": "own", "products": dict.fromkeys(("forward", "input", "weight"), PLAIN), **changes}


@pytest.mark.parametrize("name", ht.recipes())
def test_a_recipe_that_ships_is_near_exact_arithmetic(name: str) -> None:
    made = ht.load_recipe(name)
    assert made.name == name and made.summary and (made.source or name == "exact")
    torch.manual_seed(1)
    net = nn.Sequential(*(nn.Linear(64, 64) for _ in range(3)))
    x = torch.randn(128, 64)

    def run() -> list[torch.Tensor]:
        net.zero_grad()
        y = net(x)
        (256 * y.square().mean()).backward()  # within the range of what has no scale
        return [y.detach(), *(one.weight.grad.clone() for one in net)]

    exact = run()
    with ht.emulate(net, name):
        found = run()
    # Four bits have a precision of one fraction bit: a rounding error of up to a quarter.
    most = {"exact": 1e-5, "bf16-hopper": 0.02, "dlfloat16": 0.02, "nvfp4": 0.5, "mxfp4": 0.5}.get(name, 0.25)
    errors = [float((one - other).norm() / other.norm()) for one, other in zip(found, exact, strict=True)]
    assert max(errors) < most, errors
    assert max(errors) > (1e-9 if name == "exact" else 1e-4)


def test_delayed_scales_are_those_of_earlier_steps(tmp_path: Path) -> None:
    net = nn.Linear(32, 8, bias=False)
    emulation = ht.convert(net, "fp8-tensorwise-delayed")
    state = DelayedScaling(length=16, kernel="fused")
    with torch.no_grad():
        net.weight.fill_(1.0)
    for step in range(4):
        y = net(torch.full((4, 32), float(3**step)))
        # The first step has the factor 1; later ones that of the step before, under which numbers saturate.
        assert y[0, 0].item() == 32 * 3.0 ** max(step - 1, 0)
        kept = emulation.state_dict()
        state = state.update(3.0**step)
        assert kept[":forward:a"]["factor"] == state.factor
    other = nn.Linear(32, 8, bias=False)
    again = ht.convert(other, "fp8-tensorwise-delayed")
    again.load_state_dict(kept)
    assert again.state_dict() == kept
    with pytest.raises(InputError, match="the model has no module 'x', whose scales are given"):
        again.load_state_dict({"x:forward:a": kept[":forward:a"]})


def test_calls_of_one_module_have_scales_of_their_own() -> None:
    attention = nn.MultiheadAttention(16, 2, batch_first=True)
    emulation = ht.convert(attention, {**recipe(), "products": ht_products()})
    x = torch.randn(2, 8, 16)
    attention(x, x, x)
    seen = emulation.state_dict()
    # Of one tensor into the three projections, and of what was attended into the last.
    assert {":forward:a", ":2:forward:a"} <= set(seen)
    assert seen[":forward:a"]["history"] != seen[":2:forward:a"]["history"]


def ht_products() -> dict[str, Any]:
    delayed = {"rule": "tensor", "history": {"length": 4}}
    return {"forward": {**PLAIN, "a": delayed, "b": delayed}, "input": "none", "weight": "none"}


def test_integers_without_a_scale_are_symmetric() -> None:
    one = {"unit": "int8-i32", "a": "direct", "b": "direct"}
    given = {"recipe": "own", "products": {"forward": one, "input": "none", "weight": "none"}}
    assert ht.matmul(torch.tensor([[-128.0]]), torch.tensor([[1.0]]), given).item() == -127


def test_a_file_may_name_files_beside_it(tmp_path: Path) -> None:
    from hwsim.spec import as_yaml, load_unit

    (tmp_path / "unit.yaml").write_text(as_yaml(load_unit("hopper-wgmma-e4m3-f32").replace(fraction_bits=9)))
    (tmp_path / "other.yaml").write_text(
        "recipe: other\nproducts: &p\n"
        "  forward: {unit: unit.yaml, a: tensor, b: tensor}\n  input: none\n  weight: none\n"
    )
    (tmp_path / "own.yaml").write_text(
        "recipe: own\nproducts:\n  forward: {unit: ./unit.yaml, changes: {lanes: 16}, a: tensor, b: channel}\n"
        "  input: none\n  weight: none\nlayers: [{name: head, recipe: other.yaml}]\n"
    )
    made = ht.load_recipe(tmp_path / "own.yaml")
    assert made.products.forward is not None and made.products.forward.unit.instruction.lanes == 16
    head = made.layers[0].products
    assert head is not None and head.forward is not None and head.forward.unit.name.endswith("fraction_bits-9")
    net = nn.Linear(8, 4)
    with ht.emulate(net, tmp_path / "own.yaml"):
        net(torch.ones(2, 8)).sum().backward()
    assert torch.equal(net.weight.grad, torch.full((4, 8), 2.0))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"recipe": "own"}, "recipe: products is missing"),
        (recipe(outputs="f32"), "recipe: outputs is not a key here"),
        (recipe(output="f8"), "recipe: output must be"),
        (recipe(layers=[{"recipe": "none"}]), "layers.0 must have a name, type, kind or place"),
        (recipe(layers=[{"kind": "lstm", "recipe": "none"}]), "layers.0.kind must be"),
        (recipe(layers=[{"name": "x", "recipe": "mxfp9"}]), "layers.0.recipe: unknown recipe 'mxfp9': did you mean"),
        (recipe(keep="e4m3"), "keep: unknown rule 'e4m3'"),
        (recipe(keep={"block": [1, 128]}), "keep: must be the name of a rule"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_recipe_is_said(given: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message.replace(".", r"\.").replace("(", r"\(")):
        ht.load_recipe(given)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"unit": "hopper-wgmma-e4m3-f64"}, r"products.forward.unit: unknown unit"),
        ({"changes": {"fraction_bit": 3}}, r"products.forward.changes: unknown field"),
        ({"a": "tensor-e5m2"}, r"products.forward.a: tensor-e5m2 gives elements in e5m2"),
        ({"b": "block"}, r"products.forward.b: scaling block must not go with"),
        ({"a": {"rule": "tensor", "history": {"lenght": 3}}}, "history must be a mapping of length, margin and algo"),
        ({"a": {"rule": "channel", "history": {}}}, "history goes with one scale for the whole tensor"),
        ({"hadamard": 8}, "hadamard must be 4, 16, 64 or 256, not 8"),
        (
            {"unit": "mxfp8-e4m3-f32", "a": {"rule": "mxfp8-e4m3", "block": [1, 48]}, "b": "block"},
            "products.forward.a: block must be two multiples of 1 and 32",
        ),
    ],
)
def test_what_is_wrong_in_a_product_is_said(changes: dict[str, Any], message: str) -> None:
    given = recipe()
    given["products"] = {**given["products"], "forward": {**PLAIN, **changes}}
    with pytest.raises(SpecError, match=message):
        ht.load_recipe(given)


def test_a_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(
        "recipe: own\nproducts:\n  forward: {unit: hopper-wgmma-e4m3-f32, a: tensor, b: tensr}\n"
        "  input: none\n  weight: none\n"
    )
    with pytest.raises(SpecError, match=r"own.yaml:3: products.forward.b: unknown scaling 'tensr': did you mean"):
        ht.load_recipe(path)
    with pytest.raises(SpecError, match="unknown recipe 'fp8': did you mean"):
        ht.load_recipe("fp8")
    with pytest.raises(TypeError, match="recipe must be a name, a path, a mapping or a Recipe, not int"):
        ht.load_recipe(8)  # type: ignore[arg-type]
