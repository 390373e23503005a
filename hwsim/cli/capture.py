"""`hwsim capture`: ask real GPUs, and read what they answer."""

from __future__ import annotations

import secrets
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import hwsim
from hwsim.base.errors import InputError
from hwsim.base.files import refuse_strangers, written
from hwsim.base.text import counted
from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.output import TellAsJson, note, print_table, say
from hwsim.cli.progress import Progress
from hwsim.formats.yamlfile import shown
from hwsim.spec import Unit, load_unit, presets

if TYPE_CHECKING:
    from hwsim.explain.silicon.cases import Designed, Section
    from hwsim.explain.silicon.judge import Judgement, QuestionVerdict, Standing
    from hwsim.explain.silicon.results import Captured

WORKERS = 2
UNSETTLED = 1

capture = typer.Typer(
    name="capture",
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Ask real GPUs what their matrix instructions return, and judge the open rules by it.

    \b
    hwsim capture cases hopper-wgmma-e4m3-f32 -o cases.txt    designed cases, to take to the GPU machine
    hwsim capture kit capture                                 the program that runs them there, as a folder
    capture/run cases.txt results.txt                         there: nvcc, this folder and the file are all it needs
    hwsim capture import cases.txt results.txt                keep the results in vectors/silicon/GPU
    hwsim capture judge vectors/silicon/h200                  which candidates of each rule they leave
    hwsim capture gemms library.npz                           whole matrix products of cuBLAS, against hwsim's
    hwsim capture plans plans.npz -o my-gpu.yaml              a profile: how the library makes products of many shapes
    """,
    no_args_is_help=True,
)
app.add_typer(capture)


@capture.command()
def cases(
    units: Annotated[
        list[str],
        typer.Argument(metavar="UNIT...", help="Units, or paths of YAML files.", autocompletion=complete.units),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The case file.")],
    count: Annotated[
        int, typer.Option("--cases", min=1, help="At least so many for each instruction; designed ones are all there.")
    ] = 20_000,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**32 - 1, help="Of everything random; drawn and printed unless given.")
    ] = None,
    instruction: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The instruction of a unit of your own, where its name is no help."),
    ] = None,
    as_json: TellAsJson = False,
) -> None:
    """Write cases on which the candidates of every open rule differ.

    \b
    hwsim capture cases hopper-wgmma-e4m3-f32 hopper-wgmma-e5m2-f32 -o cases.txt --seed 1
    hwsim capture cases my-unit.yaml -o cases.txt --instruction mma.m16n8k32.f32.e4m3.e4m3

    For each rule it prints how many cases tell its candidates apart, pair by pair the fewest; `never apart` names
    pairs that none of thousands of stimuli did. The rest are random, far apart, cancelling, chained and dense cases.
    """
    from hwsim.explain.questions import QUESTIONS
    from hwsim.explain.silicon.cases import design, instruction_of, write_cases

    chosen = [load_unit(name) for name in units]
    wanted = [(instruction_of(unit, instruction), unit) for unit in chosen]
    names = [gpu.name for gpu, _ in wanted]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{name} is asked for by more than one unit; take one, or write a file for each")
    refuse_strangers(output)
    seed = secrets.randbelow(2**32) if seed is None else seed
    sections = []
    with Progress("designing cases", len(QUESTIONS) * len(wanted)) as bar, ProcessPoolExecutor(WORKERS) as pool:
        futures = []
        for gpu, unit in wanted:
            futures.append(pool.submit(design, gpu, unit, count, seed))
            futures[-1].add_done_callback(lambda _: bar.advance(len(QUESTIONS)))
        for future in futures:
            section, designed = future.result()
            sections.append(section)
            _show_design(section, designed)
    checksum = write_cases(output, f"hwsim {hwsim.__version__}", seed, sections)
    total = sum(len(section.cases) for section in sections)
    say(f"{output}: {total:,} cases of {len(sections)} instructions, seed {seed}, checksum {checksum}")
    say(f"on the GPU machine: capture/run {output.name} results.txt (hwsim capture kit capture writes the program)")


def _show_design(section: Section, designed: list[Designed]) -> None:
    say(f"{section.unit}: {section.instruction.name}, {len(section.cases):,} cases")
    told_apart = [rule for rule in designed if rule.apart]
    rows = [
        [
            rule.rule.name,
            f"{len(rule.candidates)}",
            f"{sum(map(bool, rule.apart.values()))} of {len(rule.apart)}",
            f"{rule.least}",
            f"{len(rule.cases)}",
        ]
        for rule in told_apart
    ]
    print_table(["rule", "candidates", "pairs apart", "by at least", "cases"], rows, right=[1, 2, 3, 4])
    for rule in told_apart:
        for names in rule.alike:
            candidates = ", ".join(candidate.name for candidate in rule.candidates if candidate.name in names)
            say(f"{rule.rule.name}: not told apart in {rule.tried:,} tries: {candidates}")
    say()


@capture.command()
def kit(
    output: Annotated[
        Path, typer.Argument(metavar="DIR", help="The program's folder; made where it is missing.")
    ] = Path("capture"),
) -> None:
    """Write the program that runs cases on a GPU: its sources, and `run`, which builds and starts it.

    \b
    hwsim capture kit capture

    The GPU machine needs this folder and nvcc, not hwsim. DIR/README.md describes the program and its files.
    """
    from hwsim.base.files import written_texts
    from hwsim.base.package import kit as files

    content = files()
    written_texts(output, content)
    (output / "run").chmod(0o755)
    say(f"{output}: {len(content)} files; on the GPU machine: {output / 'run'} CASES RESULTS")


@capture.command("import")
def import_(
    case_file: Annotated[Path, typer.Argument(metavar="CASES", help="The case file.")],
    result_file: Annotated[Path, typer.Argument(metavar="RESULTS", help="What the GPU machine wrote for it.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Holds a folder for each GPU.")] = Path(
        "vectors/silicon"
    ),
    replace: Annotated[bool, typer.Option("--replace", help="Take the place of results that are there.")] = False,
) -> None:
    """Keep a GPU's results: a folder for it, a file for each instruction, and a manifest.

    \b
    hwsim capture import cases.txt results.txt

    Results that are cut off, of other cases, repeated or mixed up are refused with file and line.
    """
    from hwsim.explain.silicon.cases import read_cases
    from hwsim.explain.silicon.results import read_results, store

    cases = read_cases(case_file)
    results = read_results(result_file, cases)
    path, names = store(output, cases, results, replace)
    for part in results.sections:
        name, unstable = part.section.instruction.name, len(part.unstable)
        if part.skipped:
            note(f"{name} was skipped: {part.skipped}")
        elif unstable:
            note(f"{name}: {unstable} results changed from one run to the next; they are kept, and not judged")
    say(f"{path}: {len(names)} instructions of {results.facts['gpu']}")
    say(f"judge them: hwsim capture judge {path}")


@capture.command()
def judge(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="One GPU's folder: vectors/silicon/GPU.")],
    units: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[UNIT]...", help="Units, or paths of YAML files; all unless given.", autocompletion=complete.units
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Show the candidates that are refuted, too.")] = False,
    as_json: TellAsJson = False,
) -> None:
    """Say for every rule which candidates a GPU's results leave, with counts and an example each.

    \b
    hwsim capture judge vectors/silicon/h200
    hwsim capture judge vectors/silicon/h200 hopper-wgmma-e4m3-f32 --all

    settled: one candidate is left. open: several are, and agree on every case. unexplained: none is.
    Exit status: 0 the units as specified explain every result; 1 they do not; 2 bad input.
    """
    from hwsim.explain.questions import QUESTIONS
    from hwsim.explain.silicon.cases import fits
    from hwsim.explain.silicon.judge import judge as judged
    from hwsim.explain.silicon.results import load

    named = {unit.name: unit for unit in map(load_unit, units or ())}
    stored = load(folder, named)
    rounds = 3  # that most judgements take
    agreed = True
    with Progress("judging", rounds * len(QUESTIONS) * len(stored)) as bar:
        for captured in stored:
            unit = named.get(captured.unit) or _stored_unit(folder, captured)
            if not fits(captured.instruction, unit):
                raise InputError(f"{folder}: {unit.name} is no unit of {captured.instruction.name}: its formats differ")
            judgement = judged(captured, unit, tick=bar.advance)
            _show(judgement, every)
            agreed = agreed and judgement.right == judgement.of and judgement.best.unit == unit
    if not agreed:
        raise typer.Exit(UNSETTLED)


@capture.command()
def gemms(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What capture/gemm.py wrote on the GPU machine.")],
    as_json: TellAsJson = False,
) -> None:
    """Compare matrix products that PyTorch, and so cuBLAS, computed on a GPU with hwsim's, every result bit for bit.

    \b
    python capture/gemm.py library.npz       on the GPU machine: PyTorch and this file are all it needs
    hwsim capture gemms library.npz

    fp8-fast: FP8 with fast accumulation. fp8-promoted: without, the sums are promoted to FP32 every 128 products.
    fp8-blocks: promoted, with FP32 scales of 1 x 128 and 128 x 128 numbers. matmul: f16, bf16 and TF32.
    Exit status: 0 all results are the same; 1 some are not; 2 bad input.
    """
    from hwsim.explain.silicon.results import read_products

    library = read_products(file)
    rows, same, total = [], 0, 0
    with Progress("multiplying", len(library.products)) as bar:
        # Long ones first, for which code is compiled that the others use too.
        for product in sorted(library.products, key=lambda product: -product.call.k):
            call, unit, of = product.call, product.call.unit, product.returned.size
            equal = product.equal(unit)
            rows.append([call.call, f"{call.a} x {call.b}", call.numbers, f"{call.k}", unit.name, f"{equal}", f"{of}"])
            same, total = same + equal, total + of
            bar.advance()
    print_table(["call", "factors", "numbers", "K", "unit", "same", "of"], rows, right=[3, 5, 6])
    say(f"{library.gpu}, {library.software}, seed {library.seed}: {same:,} of {total:,} results are the same")
    if same < total:
        raise typer.Exit(UNSETTLED)


def _stored_unit(folder: Path, captured: Captured) -> Unit:
    """The unit that results were imported for. Raises InputError where the manifest names none that ships."""
    if captured.unit not in presets():
        raise InputError(
            f"{folder}: the results of {captured.instruction.name} are of {shown(captured.unit)}, a unit that does not "
            "ship with hwsim: name its file"
        )
    return load_unit(captured.unit)


def _show(judgement: Judgement, every: bool) -> None:
    captured, unit = judgement.captured, judgement.start
    unstable = f"; {len(captured.unstable)} unstable ones are left out" if captured.unstable else ""
    say(f"{unit.name}: {captured.instruction.name}, {judgement.of:,} results{unstable}")
    rows = []
    for verdict in judgement.verdicts:
        if verdict.word == "no question":
            continue
        for index, standing in enumerate(_shown(verdict, every)):
            head = [verdict.rule.name, verdict.word] if index == 0 else ["", ""]
            rows.append([*head, *_standing_cells(standing, unit)])
    print_table(["rule", "", "candidate", "right", "of", "", "for example"], rows, right=[3, 4])
    for rule, name in judgement.adopted.items():
        say(f"not as specified: {rule}: {name}", style="yellow")
    as_said = "as specified" if not judgement.adopted else "with these changes"
    say(f"{as_said}, the unit explains {judgement.right:,} of {judgement.of:,} results")
    if judgement.unexplained is not None:
        example = judgement.unexplained
        say(f"case {example.case} is not explained: {_codes(example.got, example.expected, unit)}", style="red")
    say()


def _shown(verdict: QuestionVerdict, every: bool) -> list[Standing]:
    """The candidates to show: the survivors; with `every`, or without survivors, the refuted ones too."""
    left = [standing for standing in verdict.standings if standing.survives]
    refuted = [standing for standing in verdict.standings if not standing.survives]
    refuted.sort(key=lambda standing: -standing.right)
    return left + refuted if every or not left else left


def _standing_cells(standing: Standing, unit: Unit) -> list[str]:
    example = standing.example
    text = ""
    if example is not None:
        word = "refutes another" if standing.survives else "refutes it"
        text = f"case {example.case} {word}: {_codes(example.got, example.expected, unit)}"
    state = "left" if standing.survives else "refuted" if standing.of else "not asked"
    return [standing.candidate.name, f"{standing.right}", f"{standing.of}", state, text]


def _codes(got: int, predicted: int, unit: Unit) -> str:
    digits = unit.output.container_bits // 4
    return f"returned {got:#0{digits + 2}x}, not {predicted:#0{digits + 2}x}"


@capture.command()
def plans(
    captured: Annotated[Path, typer.Argument(metavar="RESULTS.npz", help="What capture/plans.py wrote.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PROFILE.yaml", help="The profile's file.")],
    parts: Annotated[int, typer.Option(min=1, max=1 << 16, help="Splits of K of up to so many parts are tried.")] = 64,
) -> None:
    """Make a profile of products that a GPU's library computed: the unit and the plan of each, fitted to the last bit.

    \b
    hwsim capture kit capture                                 write the program that asks a GPU
    python capture/plans.py plans.npz                         there: PyTorch with CUDA is all it needs
    hwsim capture plans plans.npz -o my-gpu.yaml              here
    hwsim plan profiles ./my-gpu.yaml

    Exit status 1 where a product is not explained; the profile has the others.
    """
    from hwsim.compute.profiling import captured_products, rows_of
    from hwsim.spec.profile import Profile, profile_yaml

    refuse_strangers(output)
    facts, products = captured_products(captured)
    with Progress("fitting", len(products)) as bar:
        fitted = rows_of(
            products, facts.capability, most_parts=parts, progress=lambda at, of: bar.update(at, of, "products")
        )
    rows, left = fitted
    say(f"{captured}: {len(products) - len(left)} of {counted(len(products), 'product')} explained to the last bit")
    for product in left:
        say(f"not explained: {product.call} of {' x '.join(map(str, product.shape))}")
    if rows:
        library = f"CUDA {facts.cuda}, asked by PyTorch {facts.torch}"
        source = (f"{captured.name}, seed {facts.seed}",)
        profile = Profile(profile=output.stem, gpu=facts.gpu, library=library, source=source, rows=tuple(rows))
        with written(output) as file:
            file.write(profile_yaml(profile).encode())
        say(f"{output}: {counted(len(rows), 'row')}")
    if left or not rows:
        raise typer.Exit(UNSETTLED)
