"""What a failing case means: its operands, the model's stages, and the sum that the design's result stands for."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.shrink import Shrunk
from hwsim.formats import Class, Format, unpack
from hwsim.readings import Consistent
from hwsim.report import File, Mismatch
from hwsim.report.cases import case_operands, explain_command, explained_case, wrong_result
from hwsim.report.explained import Explained
from hwsim.report.reading import reading, ulps
from hwsim.report.text import operand_line
from hwsim.spec import Unit
from hwsim.tb.job import UNKNOWN

SUITE = "minimal case"
MINIMAL = "minimal"  # the folder of its files


def minimal_mismatch(
    design: DutDesign, simulator: str, shrunk: Shrunk, names: Sequence[str], files: dict[str, str], again: str
) -> Mismatch:
    """The minimal case. names: what explains the results. files: what was kept of it, and where."""
    mismatch = wrong_result(
        design.unit,
        shrunk.case,
        shrunk.expected,
        shrunk.got if shrunk.got >= 0 else None,
        got_words(design.unit.output, shrunk),
        suite=SUITE,
        driver=simulator,
        where=f"the simplest of {shrunk.tried:,} cases tried in {shrunk.rounds} simulations",
        semantics=tuple(line.strip() for line in names[1:]),
        files=tuple(File(what=what, path=path) for what, path in files.items()),
        again=again,
        explain=explain_command(design.unit, design.called, shrunk.case),
    )
    return mismatch.changed(unit=design.name)


def story(unit: Unit, found: Shrunk) -> list[str]:
    """The minimal case, for a reader: operands, expected and got, the model's stages, and the design's sum."""
    case = found.case
    lines = [f"MINIMAL CASE, of {found.tried:,} tried in {found.rounds} simulations"]
    lines += [operand_line(operand) for operand in case_operands(unit, case)]
    lines.append(f"  expected {reading(unit.output, found.expected)}, got {got_words(unit.output, found)}")
    explained = explained_case(unit, case)
    lines += ["", *str(explained).splitlines()]
    meant = interpretation(explained, found.got)
    return [*lines, "", *([f"the design's result: {meant}"] if meant else [])]


def got_words(fmt: Format, found: Shrunk) -> str:
    """What a design returned, in words."""
    if found.got >= 0:
        distance = ulps(fmt, found.got, found.expected)
        return f"{reading(fmt, found.got)}" + ("" if distance is None else f", {distance:+d} ulp of {fmt.name}")
    return "an unknown (X or Z) bit" if found.got == UNKNOWN else "no result that the handshake allows"


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


def naming(found: Sequence[Consistent]) -> list[str]:
    """The explanations for a reader."""
    if not found:
        return []
    whole = all(one.everything for one in found)
    head = "every result is explained by:" if whole else "nothing known explains every result; the nearest:"
    return [head, *(f"  {one}: {one.description}" for one in found)]
