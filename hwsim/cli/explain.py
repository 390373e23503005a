"""`hwsim explain`."""

from __future__ import annotations

import json
import math
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, assert_never

import numpy as np
import typer
from rich.text import Text

from hwsim.base.errors import InputError
from hwsim.base.files import cache_folder, replaced, written
from hwsim.cases.case import Case
from hwsim.cases.drawing import Stream, normals
from hwsim.cases.selection import placed
from hwsim.cli import arguments as parse
from hwsim.cli.app import app
from hwsim.cli.arguments import UnitName
from hwsim.cli.output import note, print_table, say
from hwsim.compute.planned import explain_planned
from hwsim.explain.explained import Explained, Selected, selection_of
from hwsim.explain.explained import explain as explain_dot
from hwsim.explain.staged import staged
from hwsim.explain.stages import EMPTY, BitRow, CellTable, Picture, group_blocks, group_title, result_text, title
from hwsim.formats import ExponentFormat, Format
from hwsim.model.record import Group
from hwsim.spec import SparseUnit, Unit, load_any, load_unit
from hwsim.spec.plan import ProductPlan, load_plan

MOST_PRODUCTS = 1_000_000
CODES = "Codes, with commas between them."
VALUES = "Numbers, with commas between them; rounded to the format, ties to even."


@app.command()
def explain(
    unit: UnitName,
    a: Annotated[str | None, typer.Option("--a", help=CODES)] = None,
    b: Annotated[str | None, typer.Option("--b", help=CODES)] = None,
    c: Annotated[str | None, typer.Option("--c", help="The addend's code; +0 unless given.")] = None,
    a_values: Annotated[str | None, typer.Option("--a-values", help=VALUES)] = None,
    b_values: Annotated[str | None, typer.Option("--b-values", help=VALUES)] = None,
    c_value: Annotated[str | None, typer.Option("--c-value", help="The addend as a number.")] = None,
    scale_a: Annotated[str | None, typer.Option("--scale-a", help="Codes of a's shared scales, one a block.")] = None,
    scale_b: Annotated[str | None, typer.Option("--scale-b", help="Codes of b's shared scales, one a block.")] = None,
    metadata: Annotated[
        str | None, typer.Option(help="Of a sparse unit: the indices of what a keeps, with commas between them.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="A random example, where no operands are given.")] = None,
    products: Annotated[
        int | None, typer.Option(min=1, max=MOST_PRODUCTS, help="Its products; one group or instruction of them.")
    ] = None,
    group: Annotated[int | None, typer.Option(min=0, help="Show this group only.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print every stage of every group as JSON.")] = False,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open it in the microscope, a page to look at and to change.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write that page, and open nothing.")
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(metavar="PLAN.yaml", help="An element of a whole product: its parts of K, their sums, the steps."),
    ] = None,
    numbers: Annotated[
        list[str] | None,
        typer.Option("--number", metavar="NAME=X", help="A number of its steps, as scale_a=0.37; once for each."),
    ] = None,
) -> None:
    """Explain one dot product, stage by stage: operands, products, the window as bits, sum and result.

    \b
    hwsim explain hopper-wgmma-e4m3-f32
    hwsim explain hopper-wgmma-e4m3-f32 --a 0x38,0x40 --b 0x7e,0x01 --c 0x3f800000
    hwsim explain ada-mma-e5m2-f32 --a-values 1,2.5,-0x1p-14 --b-values 3,1/3,1 --c-value 0.1
    hwsim explain mxfp8-e4m3-f32 --seed 7
    hwsim explain my-unit.yaml --open
    hwsim explain hopper-wgmma-sp-e4m3-f32 --a-values 3,1 --b-values 0,1,2,3 --metadata 1,3
    hwsim explain hopper-wgmma-e4m3-f32 --plan plan.yaml --seed 7 --products 8192 --number scale_a=0.37
    """
    loaded = load_any(unit)
    sparse = loaded if isinstance(loaded, SparseUnit) else None
    specified = load_unit(unit) if sparse is None else sparse.dense
    operands = [a, b, c, a_values, b_values, c_value, scale_a, scale_b, metadata]
    at_random = all(operand is None for operand in operands)
    if at_random:
        arguments = example(specified, seed or 0, products)
        indices = None if sparse is None else _put_among(sparse, arguments, seed or 0)
    elif seed is not None or products is not None:
        raise InputError("--seed and --products choose a random example; they do not go with operands")
    else:
        arguments = {
            "a": _operand("a", specified.operands.a, a, a_values),
            "b": _operand("b", specified.operands.b, b, b_values),
            "c": _addend(specified, c, c_value),
            "scale_a": None if scale_a is None else parse.codes(scale_a, "--scale-a"),
            "scale_b": None if scale_b is None else parse.codes(scale_b, "--scale-b"),
        }
        if (metadata is None) != (sparse is None):
            raise InputError(f"--metadata {'is missing' if metadata is None else 'goes with a sparse unit alone'}")
        indices = None if metadata is None else parse.codes(metadata, "--metadata")
    selection = None if sparse is None else selection_of(sparse, arguments["a"], arguments["b"], indices)
    if selection is not None:
        if plan is not None:
            raise InputError("--plan does not go with a sparse unit")
        whole = np.asarray(arguments["b"]).tolist()
        arguments |= {"a": selection[0].codes, "b": selection[1].codes}
    if plan is None and numbers:
        raise InputError("--number must be left out without a --plan that takes it")
    if plan is not None:
        if open_page or output is not None or group is not None:
            raise InputError("--plan does not go with --open, --output or --group, which show one sum of the unit")
        _explain_plan(specified, load_plan(plan), arguments, numbers or [], as_json)
        return
    explained = explain_dot(specified, **arguments)
    if at_random:
        note(f"a random example, --seed {seed or 0}; --a and --b give operands")
    if open_page or output is not None:
        _open(specified, arguments, output)
    if as_json:
        selected = {} if selection is None else {"metadata": indices, "b": whole, "places": selection[1].places}
        typer.echo(json.dumps({**selected, **staged(explained)}, indent=1))
    elif not (open_page or output is not None):
        if sparse is not None and selection is not None:
            _print_selection(sparse, whole, selection[1])
        _print(explained, group)


def _put_among(unit: SparseUnit, arguments: dict[str, Any], seed: int) -> Any:
    """Put an example's factors of b among others, under metadata that are drawn. Returns these."""
    a, b = (tuple(np.asarray(arguments[side]).tolist()) for side in "ab")
    if len(a) % unit.sparsity.kept:
        raise InputError(f"--products must be a multiple of the {unit.sparsity.kept} that are kept together")
    (case,) = placed(unit, [Case("", a, b)], Stream(seed, unit.name, "explain", "metadata"))
    arguments["b"] = np.array(case.b)
    return list(case.metadata)


def _print_selection(unit: SparseUnit, whole: list[int], selected: Selected) -> None:
    """Print which factors of b the metadata select, group by group."""
    rule, fmt, taken = unit.sparsity, unit.dense.operands.b, set(selected.places)
    digits = -(-fmt.container_bits // 4)
    say(f"{unit.name}: of b, what the metadata select stands in brackets", style="bold")
    rows = [
        [
            f"{first}-{first + rule.whole - 1}",
            " ".join(f"[{whole[i]:0{digits}x}]" if i in taken else f" {whole[i]:0{digits}x} "
                     for i in range(first, first + rule.whole)),
        ]
        for first in range(0, len(whole), rule.whole)
    ]  # fmt: skip
    print_table(["along K", "b"], rows)
    say()


def _explain_plan(
    unit: Unit, plan: ProductPlan, arguments: Mapping[str, Any], numbers: list[str], as_json: bool
) -> None:
    """Print where an element of a whole product comes from: partial sums, their sum, every step."""
    inputs = dict(arguments)
    for text in numbers:
        name, equals, value = text.partition("=")
        if not equals or name not in plan.numbers:
            names = ", ".join(plan.numbers) or "none"
            raise InputError(f"--number must be NAME=X, with a name that the plan's steps take ({names}), not {text!r}")
        inputs[name] = float(parse.number(value, f"--number {name}"))
    steps = explain_planned(unit, plan, inputs)
    if as_json:
        typer.echo(
            json.dumps([{"step": words, "value": value, "code": code} for words, value, code in steps], indent=1)
        )
        return
    say(f"{unit.name}, plan {plan.name}: one element", style="bold")
    print_table(
        ("", "value", "code"), [(words, f"{value:.9g}", f"{code:#x}") for words, value, code in steps], right=[1, 2]
    )


def _open(unit: Unit, arguments: Mapping[str, Any], output: Path | None) -> None:
    """Show the microscope on a case in a browser, or write it as a file."""
    from hwsim.explain.microscope import FILE, case, page

    operands = {name: None if codes is None else np.asarray(codes).tolist() for name, codes in arguments.items()}
    text = page(case(unit, operands))
    path = output or cache_folder() / FILE
    if output is None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(path) as file:
            file.write(text.encode())
    else:
        with written(output) as file:
            file.write(text.encode())
    say(f"microscope: {path}")
    if output is None and not webbrowser.open(path.absolute().as_uri()):
        note("no browser was found; open the page in any")


def _operand(name: str, fmt: Format, codes: str | None, values: str | None) -> Any:
    """A factor's codes, from --a or --a-values, --b or --b-values."""
    if (codes is None) == (values is None):
        wrong = (
            f"--{name} or --{name}-values is missing" if codes is None else f"--{name} does not go with --{name}-values"
        )
        raise InputError(wrong)
    if codes is not None:
        return parse.codes(codes, f"--{name}")
    return _encoded(fmt, parse.numbers(values or "", f"--{name}-values"))


def _addend(unit: Unit, code: str | None, value: str | None) -> Any:
    if code is not None and value is not None:
        raise InputError("--c does not go with --c-value")
    if code is not None:
        return parse.code(code, "--c")
    if value is None:
        return None
    if unit.operands.addend is None:
        raise InputError(f"--c-value must not be given, because {unit.name} has operands.addend none")
    return _encoded(unit.operands.addend, [parse.number(value, "--c-value")])[0]


def _encoded(fmt: Format, numbers: list[parse.Number]) -> Any:
    array = np.empty(len(numbers), dtype=object)
    array[:] = numbers
    return fmt.encode(array)


def example(unit: Unit, seed: int, products: int | None) -> dict[str, Any]:
    """Random finite operands, as arguments of `hwsim.explain`."""
    stream = Stream(seed, unit.name, "explain")
    k = products or _whole(unit)
    arguments = {"a": _factors(stream, unit.operands.a, k), "b": _factors(stream, unit.operands.b, k)}
    if unit.operands.addend is not None:
        arguments["c"] = unit.operands.addend.encode(float(normals(stream, (1,))[0]))
    if unit.scale is not None:
        for side, length in (("a", unit.scale.a.block[1]), ("b", unit.scale.b.block[0])):
            fmt = getattr(unit.scale, side).format
            near = stream.integers(-3, 4, (-(-k // length),))
            if isinstance(fmt, ExponentFormat):
                arguments[f"scale_{side}"] = np.clip(fmt.bias + near, fmt.min_code, fmt.max_code)
            else:
                arguments[f"scale_{side}"] = fmt.encode((1 + stream.uniforms(near.size)) * 2.0**near)
    return arguments


FEW = 4  # products of an example whose unit takes them one by one


def _whole(unit: Unit) -> int:
    """The number of products in an example: a whole group or instruction, and whole blocks of scales."""
    fill, instruction = unit.instruction.fill, unit.instruction
    if unit.scale is not None:
        block = math.lcm(unit.scale.a.block[1], unit.scale.b.block[0])
        return -(-fill // block) * block
    few = FEW if instruction.chain else min(FEW, instruction.k)
    return -(-max(fill, few) // fill) * fill


NARROW_BITS = 8


def _factors(stream: Stream, fmt: Format, k: int) -> Any:
    """Random finite codes of a narrow format; of a wide one, whose range is too large, normally distributed numbers."""
    if fmt.bits > NARROW_BITS:
        return fmt.encode(normals(stream, (k,)))
    codes = np.arange(0, 1 << fmt.bits)
    finite = codes[np.isfinite(fmt.decode(codes))]
    return finite[stream.integers(0, len(finite), (k,))]


def _print(explained: Explained, only: int | None) -> None:
    groups = explained.groups
    if only is not None and only >= len(groups):
        raise InputError(f"--group must be less than the number of groups ({len(groups)}), not {only}")
    say(title(explained), style="bold")
    for group in groups:
        if only is None or group.index == only:
            say()
            say(group_title(group), style="bold")
            _print_blocks(explained, group)
    say()
    say(result_text(explained), style="bold")


def _print_blocks(explained: Explained, group: Group) -> None:
    for index, block in enumerate(group_blocks(explained, group)):
        if index and not isinstance(block, str):
            say()
        match block:
            case str():
                say(block)
            case CellTable(header, rows):
                print_table(header, rows, right=range(len(header)))
            case Picture():
                _print_picture(block)
            case _:
                assert_never(block)


def _print_picture(shown: Picture) -> None:
    say(shown.caption, style="dim")
    labels = max(len(row.label) for row in shown.rows)
    numbers = max(len(row.aligned) for row in shown.rows)
    say(Text(f"{'':{labels}}   {shown.ruler.rstrip()}", style="cyan"))
    for row in shown.rows:
        say(_bits(row, labels, numbers))


def _bits(row: BitRow, labels: int, numbers: int) -> Text:
    """A row of the picture; lost bits that are 1 are red."""
    summary = row.label in {"sum", "result"}
    line = Text(f"{row.label:>{labels}} {row.sign} ", style="bold" if summary else "")
    for character in row.kept:
        line.append(character, style="dim" if character == EMPTY else "green")
    line.append(row.bar, style="cyan")
    for character in row.lost:
        line.append(character, style="bold red" if character == "1" else "dim")
    line.append(f"  {row.aligned:>{numbers}}  {row.note}")
    line.rstrip()
    return line
