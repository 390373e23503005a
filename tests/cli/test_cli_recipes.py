"""`hwsim recipes`: what it says of a recipe is what the recipe's own products are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.cli_run import Run

import hwsim.torch as ht
from hwsim.torch.recipe import described


@pytest.mark.parametrize("name", ht.recipes())
def test_every_product_of_a_recipe_is_told(name: str) -> None:
    recipe = ht.load_recipe(name)
    rows = described(recipe)
    every = [recipe.products, *(rule.products for rule in recipe.layers if rule.products is not None)]
    told = {(row.unit, row.result.rpartition(" ")[2]) for row in rows}
    units = {
        ("PyTorch" if one is None else one.unit.name, products.output)
        for products in every
        for one in (products.forward, products.input, products.weight)
    }
    assert told == units
    assert {row.product for row in rows if row.layers == "attention"} == {
        "scores, and sum of values", "gradients of query and weights", "gradients of key and value"
    }  # fmt: skip
    assert repr(recipe) == f"load_recipe({name!r})" and eval(repr(recipe), {"load_recipe": ht.load_recipe}) is recipe


def test_attention_of_mxfp8_is_bf16_and_products_are_rounded(run: Run) -> None:
    text = run("recipes", "mxfp8").out
    assert "one e8m0 scale for 1 x 32 along K (rceil)" in text
    assert "attention    scores, and sum of values       hopper-wgmma-bf16-f32" in text
    assert text.count("f32, rounded to bf16") == 6
    found = json.loads(run("recipes", "nvfp4", "--json").out)
    assert found["products"][2]["a"].endswith("one f32 for the tensor, stochastic, after a Hadamard transform of 16")
    assert [one.split()[0] for one in run("recipes").out.splitlines()[1:]] == list(ht.recipes())


def test_a_file_is_told_and_a_changed_recipe_is_not_called_by_its_name(run: Run, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "recipe: own\nproducts:\n"
        "  forward: {unit: hopper-wgmma-e4m3-f32, a: {rule: tensor, history: {length: 4}}, b: channel}\n"
        "  input: none\n  weight: none\nkeep: deepseek-v3-1x128\nrecompute: [LayerNorm]\n"
        "profile: {name: h200-cuda-13.0, unknown: one-sum}\n"
        "layers: [{name: head, recipe: none}, {kind: attention, recipe: exact}]\n"
    )
    text = run("recipes", str(tmp_path / "own.yaml")).out
    assert "of the last 4 steps" in text and "one f32 scale for a column" in text
    assert "modules head  all " in text and "attention     scores, and sum of values       exact-f32" in text
    assert "# Computed again in the backward pass: LayerNorm." in text and "kept for the backward pass in e4m3" in text
    assert "as profile h200-cuda-13.0 says for each shape; shapes and calls that it does not know are one sum" in text
    changed = ht.load_recipe("mxfp8").with_products(output="f32")
    assert repr(changed).startswith("<Recipe mxfp8: blackwell-mxf8f6f4-e4m3-f32, ") and len(repr(changed)) < 200
