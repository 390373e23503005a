"""`hwsim diff`: whether two units return the same for every input, or where they do not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hwsim.base.errors import InputError
from hwsim.base.files import refuse_strangers
from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.arguments import FILE, again
from hwsim.cli.output import AsJson, console, print_json, say
from hwsim.cli.progress import StillAt
from hwsim.formats.yamlfile import read
from hwsim.quantize.tensors import operand_codes
from hwsim.quantize.tensors import read as stored
from hwsim.spec import load_one, load_pair

if TYPE_CHECKING:
    from hwsim.prove.difference import UnitDifference

DUT_CASE = Path("build/diff/case.yaml")
PRODUCTS = re.compile(r"(\d+)(?:(-)(\d*))?")


@app.command()
def diff(
    context: typer.Context,
    first: Annotated[
        str, typer.Argument(metavar="A", help="A unit, its YAML file, or a DUT file.", autocompletion=complete.units)
    ],
    second: Annotated[str, typer.Argument(metavar="B", help="Another.", autocompletion=complete.units)],
    a: Annotated[str | None, typer.Option("--a", metavar="A", help=f"(M, K) codes: {FILE}.")] = None,
    b: Annotated[str | None, typer.Option("--b", metavar="B", help="(K, N) codes, in the same way.")] = None,
    c: Annotated[str | None, typer.Option("--c", metavar="C", help="(M, N) addends.")] = None,
    scale_a: Annotated[str | None, typer.Option(metavar="FILE", help="Codes of A's shared scales.")] = None,
    scale_b: Annotated[str | None, typer.Option(metavar="FILE", help="Codes of B's shared scales.")] = None,
    metadata: Annotated[
        str | None, typer.Option(metavar="FILE", help="Of sparse units: the indices of what A keeps.")
    ] = None,
    products: Annotated[
        str | None,
        typer.Option(metavar="K", help="Compare sums of so many products: 32, 1-128 or 64-; any unless given."),
    ] = None,
    seconds: Annotated[float, typer.Option(min=1.0, help="For cases and the solver; of a DUT, each claim's.")] = 60.0,
    seed: Annotated[int, typer.Option(min=0, help="Of the cases.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Tell whether two units return the same for every input, by a proof, or the simplest input on which they do not.

    \b
    hwsim diff hopper-wgmma-e4m3-f32 blackwell-tcgen05-e4m3-f32
    hwsim diff ada-mma-f16-f32 turing-mma-f16-f32
    hwsim diff hopper-wgmma-e4m3-f32 my-unit.yaml --products 1-128
    hwsim diff hopper-wgmma-e4m3-f32 deepseek-v3-e4m3-f32 --a a.npy --b b.npy
    hwsim diff my-dut.yaml hopper-wgmma-e4m3-f32
    hwsim diff hopper-wgmma-sp-e4m3-f32 blackwell-tcgen05-sp-e4m3-f32

    An input on which they differ is shown stage by stage, one unit beside the other. With --a and --b it says besides
    how many results of a matrix product differ, and by how much. Sparse units that select alike are compared by their
    dense units, and lengths are those of what is kept. A DUT file is proved against the unit, as by
    `hwsim prove --dut`. Exit status: 0 with a proof that they are the same, 1 where they differ and where neither is
    known, as of `hwsim prove`.
    """
    duts = [Path(name) for name in (first, second) if _is_dut(name)]
    files = {"a": a, "b": b, "c": c, "scale_a": scale_a, "scale_b": scale_b}
    if duts:
        if len(duts) == 2:
            raise InputError("one of the two must be a unit: a DUT file is compared to a unit")
        if any((*files.values(), metadata)) or products is not None or as_json:
            raise InputError(f"{duts[0]} is a DUT file, which goes without matrices, --products and --json")
        _prove_dut(duts[0], second if _is_dut(first) else first, seconds, again(context))
        return
    unit, *_ = load_pair(first, second)
    with StillAt() as heart:
        from hwsim.prove.difference import diff as decide

        arrays = {name: operand_codes(unit, name, file) for name, file in files.items() if file is not None}
        if metadata is not None:
            arrays["metadata"] = stored(metadata).array
        lengths = None if products is None else _lengths(products)
        found = decide(first, second, **arrays, products=lengths, seconds=seconds, seed=seed, at=heart.at)
    _say(found, as_json)
    if not found.same:
        raise typer.Exit(1)


def _is_dut(name: str) -> bool:
    path = Path(name)
    return path.suffix in (".yaml", ".yml") and path.is_file() and "top" in read(path).data


def _lengths(products: str) -> tuple[int, int | None]:
    """The least and the largest number of products."""
    match = PRODUCTS.fullmatch(products)
    least = int(match[1]) if match else 0
    most = least if match and match[2] is None else int(match[3]) if match and match[3] else None
    if least < 1 or (most is not None and most < least):
        raise InputError(f"--products must be K, K-L or K-, of at least 1 product, not {products}")
    return least, most


def _say(found: UnitDifference, as_json: bool) -> None:
    if as_json:
        print_json(found.as_json())
        return
    from hwsim.explain.beside import beside_text

    verdict, *more = found.lines
    say(verdict, None if found.same else "red")
    for line in more:
        say(line)
    if lines := found.beside():
        say()
        for text in beside_text(lines, console().width):
            say(text)


def _prove_dut(path: Path, unit: str, seconds: float, command: str) -> None:
    from hwsim.cli.prove import claim_line, conclude, proved_dut

    refuse_strangers(DUT_CASE)
    with StillAt() as heart:
        proof = proved_dut(path, None, seconds, DUT_CASE, command, claim_line, heart.at, load_one(unit))
    conclude(proof)
    if not proof.proved:
        raise typer.Exit(1)
