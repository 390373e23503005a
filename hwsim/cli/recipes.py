"""`hwsim recipes`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.output import print_table, say

HEADER = ("layers", "product", "unit", "first factor", "second factor", "result")


@app.command()
def recipes(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="A recipe, or the path of its YAML file.", autocompletion=complete.recipes
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the same as JSON.")] = False,
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
        every = [load_recipe(recipe) for recipe in shipped()]
        if as_json:
            say(json.dumps([{"recipe": recipe.name, "summary": recipe.summary} for recipe in every], indent=1))
        else:
            print_table(("name", "summary"), [(recipe.name, recipe.summary) for recipe in every])
        return
    recipe = load_recipe(name)
    rows = described(recipe)
    if as_json:
        head = {"recipe": recipe.name, "summary": recipe.summary, "source": recipe.source}
        say(json.dumps({**head, "products": [row._asdict() for row in rows], "more": [*sentences(recipe)]}, indent=1))
        return
    say(f"{recipe.name}: {recipe.summary}")
    for source in recipe.source:
        say(f"source: {source}")
    say()
    print_table(HEADER, rows)
    say()
    for sentence in sentences(recipe):
        say(f"# {sentence}")
