"""`python -m hwsim.gpu_check`: the checks as a command, its table, and its file."""

from __future__ import annotations

import json
import platform
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

import hwsim
from hwsim.base.errors import ToolMissing
from hwsim.cli.output import note, print_error, print_table, say

if TYPE_CHECKING:
    from hwsim.gpu_check.checks import CheckedPlace, CheckedRow

app = typer.Typer(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
DIFFERENT, NO_GPU, TOOL_MISSING = 1, 2, 3
LIMIT = 240  # seconds after which no further check of a GPU begins


class NamedRow(NamedTuple):
    """A line of the table: a check, what it looks at, and what it found."""

    check: str
    of: str
    row: CheckedRow

    @property
    def cells(self) -> tuple[str, ...]:
        """The line in words."""
        row = self.row
        numbers = (f"{row.compared:,}", f"{row.different:,}") if row.compared else ("", "")
        times = f"{row.seconds:.4f}" if row.seconds else "", "" if row.rate is None else f"{row.rate:,.4g} {row.per}"
        return self.check, self.of, *numbers, *times, row.error


@app.command()
def check(
    host: Annotated[
        bool, typer.Option("--host", help="Run the same checks, tiny, by the source built for the host.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, max=1 << 31, help="Of operands, weights and random rounding.")] = 1,
    file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the table there too.")] = None,
) -> None:
    """Compare a GPU with the host, bit for bit, and take its rates.

    Products of every family of units, dot products, a layer under every recipe, and a small transformer's weights after
    two steps of training, whose bits must be the host's; then rates: of products, of a layer, and of a step of a
    transformer with 124 million weights. No check begins after four minutes.

    \b
    Exit status: 0 all bits are equal; 1 some differ, or a check failed or was left out; 2 there is no GPU; 3 a tool is
    missing.
    """
    try:
        import torch
    except ImportError:
        print_error("PyTorch is not installed: pip install 'hwsim[torch]'")
        raise typer.Exit(TOOL_MISSING) from None
    if not host and (not torch.cuda.is_available() or torch.version.hip is not None):
        print_error("there is no GPU of NVIDIA's that PyTorch can use; --host runs the checks without one")
        raise typer.Exit(NO_GPU)
    from hwsim.gpu_check.checks import TINY, WHOLE, CheckedPlace

    began = time.perf_counter()
    card = _card(host)
    say(f"card: {', '.join(card.values())}; PyTorch {torch.__version__}, hwsim {hwsim.__version__}, seed {seed}")
    try:
        rows = _run(CheckedPlace(host, TINY if host else WHOLE, seed), began)
    except ToolMissing as error:
        print_error(str(error))
        raise typer.Exit(TOOL_MISSING) from None
    header = ("check", "of", "compared", "differ", "seconds", "rate", "")
    print_table(header, [row.cells for row in rows], right=(2, 3, 4, 5))
    taken, passed = time.perf_counter() - began, all(row.row.passed for row in rows)
    compared, different = sum(row.row.compared for row in rows), sum(row.row.different for row in rows)
    failed = sum(bool(row.row.error) for row in rows)
    say(f"{compared:,} numbers compared, {different:,} differ; {failed} checks failed or left out; {taken:.0f} s")
    if file is not None:
        told: dict[str, Any] = {
            "card": card, "torch": torch.__version__, "hwsim": hwsim.__version__, "seed": seed, "host": host,
            "passed": passed, "seconds": taken,
            "rows": [{"check": row.check, "of": row.of, **row.row._asdict()} for row in rows],
        }  # fmt: skip
        file.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    raise typer.Exit(0 if passed else DIFFERENT)


def _card(host: bool) -> dict[str, str]:
    import torch

    if host:
        return {"name": "none, the source built for the host", "capability": platform.machine()}
    major, minor = torch.cuda.get_device_capability()
    return {
        "name": torch.cuda.get_device_name(), "capability": f"compute capability {major}.{minor}",
        "cuda": f"CUDA {torch.version.cuda}",
    }  # fmt: skip


def _run(place: CheckedPlace, began: float) -> list[NamedRow]:
    """Every check's line; one that raises leaves the others."""
    from hwsim.gpu_check.checks import CheckedRow, checks

    rows = []
    for name, what, run in checks(place):
        at = time.perf_counter() - began
        note(f"{at:.0f} s, {name}: {what}")
        try:
            late = at > LIMIT and not place.on_host
            row = CheckedRow(error=f"left out after {LIMIT} s") if late else run()
        except ToolMissing:
            raise
        except Exception as error:  # whatever a GPU says
            row = CheckedRow(error=f"{type(error).__name__}: {error}".partition("\n")[0][:400])
        rows.append(NamedRow(name, what, row))
    return rows


if __name__ == "__main__":
    sys.exit(app(prog_name="python -m hwsim.gpu_check"))
