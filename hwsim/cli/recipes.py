"""`hwsim recipes`."""

from __future__ import annotations

from typing import Annotated

import typer

from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.output import AsJson, objects, print_json, print_table, say

HEADER = ("layers", "product", "unit", "first factor", "second factor", "result")


@app.command()
def recipes(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="A recipe, or the path of its YAML file.", autocompletion=complete.recipes
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the recipes of hwsim.torch, or show one: every product, its unit, its factors' codes and scales, roundings.

    \b
    hwsim recipes
    hwsim recipes mxfp8
    hwsim recipes ./my-recipe.yaml             check a file, and read it
    hwsim recipes mxfp8 --json

    The first factor is activations, or gradients; the second is weights, or, of the gradient of the weight,
    activations. Needs PyTorch: pip install 'hwsim[torch]'.
    """
    from hwsim.torch.recipe import described, load_recipe, sentences  # PyTorch takes a while
    from hwsim.torch.recipe import recipes as shipped

    if name is None:
        every = [(recipe.name, recipe.summary) for recipe in map(load_recipe, shipped())]
        print_json(objects(("recipe", "summary"), every)) if as_json else print_table(("name", "summary"), every)
        return
    recipe = load_recipe(name)
    rows = described(recipe)
    if as_json:
        head = {"recipe": recipe.name, "summary": recipe.summary, "source": recipe.source}
        print_json({**head, "products": [row._asdict() for row in rows], "more": [*sentences(recipe)]})
        return
    say(f"{recipe.name}: {recipe.summary}")
    for source in recipe.source:
        say(f"source: {source}")
    say()
    print_table(HEADER, rows)
    say()
    for sentence in sentences(recipe):
        say(f"# {sentence}")
