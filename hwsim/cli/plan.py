"""`hwsim plan`: plans of whole matrix products, found from results, and profiles of GPUs' libraries."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hwsim.base.errors import InputError
from hwsim.base.files import refuse_strangers, written
from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.arguments import FILE, UnitName
from hwsim.cli.output import AsJson, note, print_json, print_table, say
from hwsim.cli.progress import Progress
from hwsim.formats import FloatFormat, get_format
from hwsim.quantize.tensors import StoredArray, codes, read
from hwsim.spec import Unit, load_unit
from hwsim.spec.plan import ProductPlan, load_plan, plan_yaml, sentences
from hwsim.spec.profile import Profile, load_profile, profiles

NUMBER = "A number, or an array in a file."

plan = typer.Typer(
    name="plan",
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""How libraries make whole products of a unit's sums: splits of K, scales, bias, roundings.

    \b
    hwsim plan fit hopper-wgmma-e4m3-f32 --a a.npy --b b.npy --d d.npy -o plan.yaml   find the plan of results
    hwsim plan show plan.yaml --k 8192                                               read it
    hwsim gemm hopper-wgmma-e4m3-f32 a.npy b.npy -o d.npy --plan plan.yaml           multiply by it
    hwsim plan profiles h200-cuda-13.0                                               what a GPU's library does
    """,
    no_args_is_help=True,
)
app.add_typer(plan)


@plan.command()
def show(
    path: Annotated[Path, typer.Argument(metavar="PLAN", help="The path of a plan's YAML file.")],
    k: Annotated[int | None, typer.Option("--k", min=1, help="Show the parts of a sum of so many products.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a plan's file, and read it: the parts of K, and the steps on their sum.

    \b
    hwsim plan show plan.yaml
    hwsim plan show plan.yaml --k 8192
    """
    loaded = load_plan(path)
    rows = [] if k is None else [(str(index), _places(part)) for index, part in enumerate(loaded.slices(k))]
    if as_json:
        print_json({"plan": loaded.model_dump(mode="json", exclude_unset=True), "parts": rows})
        return
    say(f"{loaded.name}: {loaded.summary}" if loaded.summary else loaded.name)
    for sentence in sentences(loaded):
        say(f"- {sentence}")
    if rows:
        print_table(("part", "products"), rows, right=[0])


def _places(part: list[slice]) -> str:
    every = [f"{slice_.start} to {slice_.stop - 1}" for slice_ in part]
    return ", ".join(every if len(every) <= 4 else [*every[:3], "...", every[-1]])


@plan.command()
def fit(
    unit: UnitName,
    a: Annotated[str, typer.Option("--a", metavar="A", help=f"(M, K) codes: {FILE}.")],
    b: Annotated[str, typer.Option("--b", metavar="B", help="(K, N) codes, in the same way.")],
    d: Annotated[str, typer.Option("--d", metavar="D", help="(M, N) results, floats or codes.")],
    result: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            help="The results' format; that of their dtype unless given.",
            autocompletion=complete.formats,
        ),
    ] = None,
    transposed: Annotated[bool, typer.Option("--transposed", help="B is (N, K), as layers keep weights.")] = False,
    scale_a: Annotated[str | None, typer.Option(metavar="X", help=f"{NUMBER} (M, 1).")] = None,
    scale_b: Annotated[str | None, typer.Option(metavar="X", help=f"{NUMBER} (1, N).")] = None,
    bias: Annotated[str | None, typer.Option(metavar="FILE", help="(N,).")] = None,
    alpha: Annotated[float | None, typer.Option(help="A number that multiplies the sum.")] = None,
    beta: Annotated[float | None, typer.Option(help="A number that multiplies C.")] = None,
    c: Annotated[str | None, typer.Option("--c", metavar="C", help="(M, N) floats.")] = None,
    parts: Annotated[int, typer.Option(min=1, max=1 << 16, help="Splits of K of up to so many parts are tried.")] = 64,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PLAN.yaml", help="Write the plan, or the simplest.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the plan that explains the results of a library to the last bit, from operands and results in files.

    \b
    hwsim plan fit hopper-wgmma-e4m3-f32 --a a.npy --b b.npy --d d.npy
    hwsim plan fit hopper-wgmma-e4m3-f32 --a x.npz:a --b x.npz:b --d x.npz:d --result bf16
        --scale-a 0.37 --scale-b 1.9 --bias x.npz:bias --transposed -o plan.yaml

    It tries splits of K, orders of their sum and of the steps that scales, alpha, beta, C and bias need. It says
    whether one plan explains every element, or several do, which these operands do not tell apart, or none does; then
    which elements each plan explains. Exit status 1 where none explains all.
    """
    from hwsim.compute.fitting import fit as find

    specified = load_unit(unit)
    if output is not None:
        refuse_strangers(output)
    of_a, of_b = codes(specified.operands.a, read(a), "A"), codes(specified.operands.b, read(b), "B")
    of_b = of_b.swapaxes(-1, -2) if transposed else of_b
    stored = read(d)
    fmt = _result_format(stored, result)
    numbers: dict[Any, Any] = {
        "scale_a": _numbers(specified, "a", scale_a), "scale_b": _numbers(specified, "b", scale_b), "alpha": alpha,
        "beta": beta, "bias": None if bias is None else read(bias).array, "c": None if c is None else read(c).array,
    }  # fmt: skip
    started = time.monotonic()
    with Progress("trying plans", 1) as bar:
        fitted = find(
            specified, of_a, of_b, codes(fmt, stored, "D"), fmt, numbers, most_parts=parts,
            progress=lambda done, every: bar.update(done, every, "splits"),
        )  # fmt: skip
    seconds = time.monotonic() - started
    if as_json:
        shares = [{"plan": _keys(share.plan), "elements": int(share.elements.sum())} for share in fitted.shares]
        plans = [_keys(candidate) for candidate in fitted.plans]
        print_json({"elements": fitted.elements, "tried": fitted.tried, "plans": plans, "shares": shares})
    else:
        _say_found(fitted, seconds)
    best = [*fitted.plans, *(share.plan for share in fitted.shares)][:1]
    if output is not None and best:
        keys = {
            "plan": output.stem,
            "source": [f"{Path(d).name}: {fitted.elements - fitted.unexplained} of {fitted.elements} elements"],
        }
        with written(output) as file:
            file.write(plan_yaml(load_plan({**keys, **_keys(best[0])})).encode())
        say(f"{output}: {'the plan' if len(fitted.plans) == 1 else 'the first of these'}")
    if not fitted.plans:
        raise typer.Exit(1)


def _keys(found: ProductPlan) -> dict[str, Any]:
    return found.model_dump(mode="json", exclude_defaults=True)


def _say_found(found: Any, seconds: float) -> None:
    tried = f"{found.tried:,} plans tried in {seconds:.1f} s, {found.elements:,} elements"
    if len(found.plans) == 1:
        say(f"one plan explains every bit ({tried}):", style="bold")
        for sentence in sentences(found.plans[0]):
            say(f"- {sentence}")
        return
    if found.plans:
        say(
            f"{len(found.plans)} plans explain every bit, and these operands do not tell them apart ({tried}):",
            style="bold",
        )
        for number, plan in enumerate(found.plans[:MOST_SHOWN], 1):
            say(f"{number}. {'; '.join(sentences(plan))}")
        if len(found.plans) > MOST_SHOWN:
            say(f"   and {len(found.plans) - MOST_SHOWN} more: --json lists them")
        note("operands of far exponents, results in f32 and a longer K tell more plans apart")
        return
    say(f"no plan explains every bit ({tried}):", style="bold")
    rows = [
        (f"{int(share.elements.sum()):,}", _where(share.elements), "; ".join(sentences(share.plan)))
        for share in found.shares
    ]
    print_table(
        ("elements", "where", "explained by"),
        [*rows, (f"{found.unexplained:,}", "", "nothing that was tried")],
        right=[0],
    )


MOST_SHOWN = 10


def _where(elements: Any) -> str:
    """The rows and columns of some elements."""
    rows, columns = np.nonzero(elements.any(1))[0], np.nonzero(elements.any(0))[0]
    whole = elements[np.ix_(rows, columns)].all()
    words = f"rows {rows[0]} to {rows[-1]}, columns {columns[0]} to {columns[-1]}"
    return words if whole and len(rows) == rows[-1] - rows[0] + 1 else f"among {words}"


def _result_format(stored: StoredArray, name: str | None) -> FloatFormat:
    names = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}
    chosen = name or names.get(stored.kind)
    if chosen is None:
        raise InputError(f"{stored.name}: --result is missing: the format of codes is not in the file")
    fmt = get_format(chosen)
    if not isinstance(fmt, FloatFormat):
        raise InputError(f"--result must be a float format, not {fmt.name}")
    return fmt


def _numbers(unit: Unit, side: str, given: str | None) -> Any:
    """A number, an array in a file, or the scales of a unit's blocks."""
    if given is None:
        return None
    try:
        return np.float32(float(given))
    except ValueError:
        stored = read(given)
    if unit.scale is None:
        return stored.array
    return codes(unit.scale.of("a" if side == "a" else "b").format, stored, f"scale_{side}")


@plan.command("profiles")
def show_profiles(
    name: Annotated[
        str | None, typer.Argument(metavar="[PROFILE]", help="A profile, or the path of its YAML file.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", min=1, help="Which M and N give the same rows, for one K.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the profiles of GPUs' libraries, or show one: every call that was captured, its unit, plan and shapes.

    \b
    hwsim plan profiles
    hwsim plan profiles h100-cuda-13.0
    hwsim plan profiles h100-cuda-13.0 --k 4096      batch invariance: which M and N give the same rows
    """
    if name is None:
        every = [(shipped.name, shipped.gpu, shipped.library) for shipped in map(load_profile, profiles())]
        header = ("profile", "gpu", "library")
        print_json([dict(zip(header, row, strict=True)) for row in every]) if as_json else print_table(header, every)
        return
    profile = load_profile(name)
    if as_json:
        print_json(profile.model_dump(mode="json", exclude_unset=True))
        return
    say(f"{profile.name}: {profile.gpu}, {profile.library}", style="bold")
    if k is not None:
        _say_same_rows(profile, k)
        return
    for row in profile.rows:
        say()
        say(f"{row.call}: {row.unit}", style="bold")
        for sentence in sentences(ProductPlan(epilogue=row.epilogue)):
            say(f"- {sentence}")
        shapes = [
            (shape, " or ".join(map(str, parts if isinstance(parts, tuple) else (parts,))))
            for shape, parts in row.shapes.items()
        ]
        print_table(("M x N x K", f"parts of K, in steps of {row.step}"), shapes)


def _say_same_rows(profile: Profile, k: int) -> None:
    rows = []
    for call in dict.fromkeys(row.call for row in profile.rows):
        unsure = {(m, n) for (m, n, of), known in profile.of(call) if of == k and len(known.parts) > 1}
        for index, shapes in enumerate(profile.same_rows(call, k)):
            words = (f"{m} x {n}{'?' * ((m, n) in unsure)}" for m, n in shapes)
            rows.append((str(call) if not index else "", ", ".join(words)))
    if not rows:
        raise InputError(f"profile {profile.name} has no product of K {k}")
    print_table(("call", f"M x N that give the same rows, K {k}, as captured"), rows)
    if any("?" in words for _, words in rows):
        say("?: what was captured leaves several numbers of parts; taken is that of the same product elsewhere")
