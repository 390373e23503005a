"""Reports to write: all equal, and with everything that a report can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

import hwsim
from hwsim.explain import (
    CountedBin,
    CoverageGroup,
    FaultKind,
    File,
    KnownCause,
    LeftOut,
    Mismatch,
    Row,
    RunReport,
    coverage_groups,
    explanation,
)
from hwsim.explain.explained import Explained
from hwsim.explain.mismatches import operand, reading, scalar, ulps
from hwsim.spec import as_yaml, load_unit

HOPPER = load_unit("hopper-wgmma-e4m3-f32")
NASTY = (
    'x</script><script>document.title="taken"</script><img src=x onerror=alert(1)>&amp;"\'\x00\x1b[31m\ud800é𝟘{{ 7*7 }}'
)
# Operands of the README's example: three products, an addend, bits lost at -1.125 * 1.125 and below.
A, B, C = (0x7E, 0xB9, 0x05, *[0] * 29), (0x3C, 0x39, 0x4D, *[0] * 29), 0x3F8CCCCD
EXPECTED, GOT = 0x4427F800, 0x44280000
PASSED = Row(unit="all formats", suite="codec tables", driver="icarus", planned=16, compared=16, mismatches=0, cycles=9)
FAILED = Row(
    unit=HOPPER.name,
    suite="dot directed",
    driver="icarus",
    planned=3074,
    compared=3074,
    mismatches=341,
    cycles=3541,
    seconds=1.25,
)
SHORT = Row(
    unit=HOPPER.name,
    suite="handshake and reset",
    driver="icarus",
    planned=56,
    compared=12,
    mismatches=0,
    notes=("the end of the simulation's log:", "\x1b[31mout of luck\x1b[0m", "again: hwsim cosim"),
)


def explained(a: Sequence[int] = A, b: Sequence[int] = B) -> Explained:
    return hwsim.explain(HOPPER, a, b, C)


def mismatch(**changes: Any) -> Mismatch:
    """The README's example, with a result that is two numbers too large."""
    out, addend = HOPPER.output, HOPPER.operands.addend
    assert addend is not None
    made: dict[str, Any] = {
        "unit": FAILED.unit,
        "suite": FAILED.suite,
        "driver": FAILED.driver,
        "case": "distance/d08-exact-sub",
        "operands": (operand("a", HOPPER.operands.a, A), operand("b", HOPPER.operands.b, B), scalar("c", addend, C)),
        "format": out.name,
        "expected": reading(out, EXPECTED),
        "got": reading(out, GOT),
        "ulp": ulps(out, GOT, EXPECTED),
        "stage": "align, beat 0, lane 1: expected -40, got -41",
        "group": 0,
        "where": "at cycle 27, result 21 of 3074",
        "explanation": explanation(explained(), 0),
        "files": (File(what="waveform", path="build/cosim/x-icarus/dump.vcd"),),
        "notes": ("seed 1",),
        "again": "hwsim cosim hopper-wgmma-e4m3-f32 --sim icarus --seed 1",
        "explain": "hwsim explain hopper-wgmma-e4m3-f32 --a 0x7e,0xb9,0x05 --b 0x3c,0x39,0x4d --c 0x3f8ccccd",
    }
    return Mismatch(**(made | changes))


LANES = 6


def coverage() -> tuple[CoverageGroup, ...]:
    """Every state, and pairs of lanes: one of the 30 is missed."""
    planned, hits, places = [], {}, {}
    for distance in range(12):
        name = f"distance {distance}, bits lost"
        reachable = distance > 7
        planned.append(("G2", name, reachable, "" if reachable else "at distances up to 7 no bit is lost"))
        if distance in (8, 9):
            hits[name] = distance
    planned.append(("G2", "addend at distance 40", None, ""))
    for i in range(LANES):
        for j in range(LANES):
            if i != j:
                name = f"lane {i} over lane {j}"
                planned.append(("G3", name, True, ""))
                places[name] = (str(i), str(j))
                hits[name] = 0 if (i, j) == (3, 5) else 3 * i + 1
    titles = {"G2": "alignment distance", "G3": "reference exponent"}
    axes = {"G3": ("lane of max_exp", "straddling lane")}
    return coverage_groups(planned, hits, titles=titles, places=places, axes=axes)


CAUSE = KnownCause(name="lost bits floored", description="bits below the window are rounded down", right=900, of=900)
FACT = "only signs of zero differ"
NAMED = FaultKind(wrong=300, of=341, causes=(CAUSE,))
UNNAMED = FaultKind(wrong=41, of=341, facts=(FACT,))
WHOLE = LeftOut(unit=HOPPER.name, suite="GEMM 4 x 4 x 64", driver="icarus", reason="there is no time for it")
PART = LeftOut(unit=HOPPER.name, suite="dot directed", driver="icarus", cases=1, reason="it takes more than one beat")


def minimal() -> Mismatch:
    """The simplest case that fails."""
    return mismatch(suite="minimal case", case="smaller", meaning="a sum of 3 * 2^-5", where="the simplest of 2 cases")


def report(**changes: Any) -> RunReport:
    """A run with a mismatch, a suite that ended early, and coverage."""
    made: dict[str, Any] = {
        "title": "hwsim cosim: hopper-wgmma-e4m3-f32",
        "command": "hwsim cosim hopper-wgmma-e4m3-f32 --seed 1",
        "version": "0.1.0",
        "seed": 1,
        "units": (yaml.safe_load(as_yaml(HOPPER)),),
        "rows": (PASSED, FAILED, SHORT),
        "coverage": coverage(),
        "mismatches": (mismatch(),),
        "notes": ("a note",),
        "kinds": (NAMED.changed(minimal=minimal()), UNNAMED),
        "left_out": (PART, WHOLE),
        "seconds": 12.5,
    }
    return RunReport(**(made | changes))


def good() -> RunReport:
    """A run that is all equal."""
    return report(rows=(PASSED,), mismatches=(), coverage=(), units=(), notes=(), kinds=(), left_out=())


def nasty() -> RunReport:
    """Markup, controls and templates wherever a text can stand."""
    names = {"unit": NASTY, "suite": NASTY, "driver": NASTY}
    told = mismatch(
        **names, case=NASTY, stage=NASTY, meaning=NASTY, files=(File(what=NASTY, path=NASTY),), notes=(NASTY,),
        again=NASTY, explain=NASTY, where=NASTY, context=NASTY, what=NASTY, format=NASTY,
    )  # fmt: skip
    row = FAILED.model_copy(update={**names, "notes": ()})
    ended = Row(**{**SHORT.model_dump(), "unit": NASTY, "notes": (NASTY,)})
    group = CoverageGroup(
        name=NASTY,
        title=NASTY,
        meaning=NASTY,
        unit=NASTY,
        axes=(NASTY, NASTY),
        bins=(
            CountedBin(name=NASTY, state="missed", place=(NASTY, NASTY)),
            CountedBin(name=NASTY + "2", state="unreachable", reason=NASTY),
            CountedBin(name=NASTY + "3", state="open"),
        ),
    )
    return RunReport(
        title=NASTY, command=NASTY, version=NASTY, units=({"unit": NASTY, "summary": NASTY, NASTY: NASTY},),
        rows=(Row(**row.model_dump()), ended), mismatches=(told,), coverage=(group,), notes=(NASTY,),
        kinds=(FaultKind(wrong=1, of=2, causes=(KnownCause(name=NASTY, description=NASTY, right=2, of=2),),
                           facts=(NASTY,), minimal=told.changed(suite=NASTY + "m")),),
        left_out=(LeftOut(unit=NASTY, suite=NASTY + "w", driver=NASTY, reason=NASTY),),
    )  # fmt: skip
