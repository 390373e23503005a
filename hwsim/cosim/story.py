"""What a failing case means: its operands, the model's stages, and the sum that the design's result stands for."""

from __future__ import annotations

from fractions import Fraction

from hwsim.cosim.design import Played
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.shrink import Shrunk
from hwsim.formats import Class, Format, unpack
from hwsim.report import CodeReading, File, Mismatch
from hwsim.report.cases import explain_command, explained_case, wrong_result
from hwsim.report.explained import Explained
from hwsim.spec import Unit
from hwsim.tb.job import UNKNOWN
from hwsim.words import counted

SUITE = "minimal case"


def minimal_folder(index: int) -> str:
    """The folder of a minimal case's files. index: of its kind, from 0."""
    return "minimal" if index == 0 else f"minimal-{index + 1}"


def minimal_mismatch(design: DutDesign, simulator: str, shrunk: Shrunk, files: dict[str, str], again: str) -> Mismatch:
    """The minimal case. files: what was kept of it, and where."""
    unit, case, got = design.unit, shrunk.case, shrunk.got
    tried = f"the simplest of {counted(shrunk.tried, 'case')} tried in {counted(shrunk.rounds, 'simulation')}"
    mismatch = wrong_result(
        unit,
        case,
        shrunk.expected,
        got if got >= 0 else CodeReading(code=no_code(got), value=""),
        suite=SUITE,
        driver=simulator,
        meaning=interpretation(explained_case(unit, case), got),
        where=tried,
        files=tuple(File(what=what, path=path) for what, path in files.items()),
        again=again,
        explain=explain_command(unit, design.called, case),
    )
    return mismatch.changed(unit=design.name)


def meant(unit: Unit, played: Played, mismatch: Mismatch) -> Mismatch:
    """A mismatch of a suite of one case, and what sum its result stands for."""
    (case,), (code,) = played.suite.cases, played.codes.tolist()
    if mismatch.what != "result" or mismatch.key != (mismatch.unit, played.driver, played.suite.name):
        return mismatch
    return mismatch.changed(meaning=interpretation(explained_case(unit, case), code))


def no_code(got: int) -> str:
    """What came where there is no code."""
    return "an unknown (X or Z) bit" if got == UNKNOWN else "no result that the handshake allows"


def value(fmt: Format, code: int) -> Fraction | None:
    """A code's exact value; None for what is no number."""
    if code < 0 or code & ((1 << fmt.padding) - 1):
        return None
    fields = unpack(fmt, code)
    if fields.cls in (Class.NAN, Class.INFINITY):
        return None
    return Fraction(-fields.sig if fields.sign else fields.sig) * Fraction(2) ** (fields.exp - fmt.fraction_bits)


def interpretation(explained: Explained, got: int) -> str:
    """What sum of the last window the design's result stands for, in units of its last place; empty without one."""
    group, unit = explained.groups[-1], explained.unit
    meant = value(unit.output, got)
    if meant is None or group.max_exp is None or group.special is not None or unit.sum.method != "aligned":
        return ""
    if explained.promotions or explained.additions:
        return ""
    exponent = group.max_exp - group.fraction_bits
    total = meant / Fraction(2) ** exponent
    digits, apart = (str(x) if x.denominator == 1 else f"{float(x):.6g}" for x in (total, total - group.total))
    sign = "" if total < group.total else "+"
    there = f"a sum of {digits} * 2^{exponent}, where the model has {group.total}"
    return f"{there}: {sign}{apart} in the window's last place"
