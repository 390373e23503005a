"""What a run found, as a report has it: rows, mismatches in words, refusals, and what to look at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hwsim.base.text import counted
from hwsim.cocotb.told import WITH_CODES, told_mismatch
from hwsim.cosim.design import Design, DotDesign, Played
from hwsim.cosim.dutdesign import DutDesign
from hwsim.cosim.play import SAVED, assertions_in, errors_in, log_end
from hwsim.cosim.protocols import NamedControl
from hwsim.explain import CodeReading, File, Mismatch, Row
from hwsim.explain.mismatches import explain_command
from hwsim.tb.job import FLAG, BeatOrder, CodeTable, PortMismatch


def remedy(design: DutDesign, mismatch: PortMismatch) -> str:
    """A hint for a mismatch, by the names of the design's own ports; empty where nothing is known."""
    protocol, reset = design.dut.file.protocol, design.dut.file.reset
    is_reset = f"whether {reset.port} is active {reset.active} (reset.active)" if reset else "whether it needs a reset"
    match mismatch.kind:
        case "hang":
            closed = ", and whether it takes ports.last for the end of a sum" if design.chains else ""
            return f"{_never(protocol.giving)}: look {is_reset}{closed}"
        case "refused":
            return f"{_never(protocol.taking)}: look {is_reset}"
        case "latency" if mismatch.got >= 0:
            return f"where {counted(mismatch.got, 'cycle')} are right, write protocol.cycles: {mismatch.got}"
        case "latency":
            return f"{_never(protocol.giving)}: look {is_reset}"
        case _:
            return ""


def _never(control: NamedControl | None) -> str:
    """A sentence: a port never did what was waited for."""
    return f"{control} never {'fell' if control and control.port.active == 'low' else 'rose'}"


LOCATION = re.compile(r"(?P<file>[^\s:]+):(?P<line>\d+):(?:\d+:)? *(?P<words>.*)")
ERROR = re.compile(r"error|sorry|syntax", re.IGNORECASE)
# How a program ends that finds itself wrong, as it and the shell say it.
CRASH = re.compile(r"[Aa]ssertion (\S+ )?failed|Assertion `.*' failed|Segmentation fault|core dumped|[Ii]nternal error")
MOST_SHOWN = 60  # characters of a source line


@dataclass(frozen=True)
class NotTaken:
    """A construct that Icarus does not take. source: the pattern of its line of Verilog. words: its name."""

    source: re.Pattern[str]
    words: str


# Icarus 11 calls most of these a syntax error and says no more.
NOT_TAKEN = tuple(
    NotTaken(re.compile(source), words)
    for source, words in (
        (r"\b(assert|assume|cover|restrict)\s+(property|sequence)\b", "concurrent assertions (SVA)"),
        (r"\b(property|sequence|clocking|disable\s+iff|default\s+disable)\b", "concurrent assertions (SVA)"),
        (r"\b(cross|covergroup|coverpoint)\b", "covergroups"),
        (r"\bparameter\s+type\b", "type parameters"),
        (r"\b(modport|interface|virtual)\b", "interfaces"),
        (r"^\s*bind\b", "bind"),
        (r"\b(break|continue)\s*;", "break and continue"),
        (r"\bparameter\s+(\w+::)?\w+_t\b", "parameters of a struct's type"),
        (r"\bunique0?\s+(if|case)|\bpriority\s+(if|case)", "unique and priority"),
        (r"\binside\b", "inside"),
        (r"\b(foreach|return)\b", "this statement"),
        (r"\{\s*(<<|>>)", "streaming operators"),
    )
)


def refusal(simulator: str, message: str) -> str:
    """One line: the simulator, the line of the design that it refuses, and the reason.

    message: the end of its log. What Icarus is known not to take is named by the source line that it refuses.
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if crash := next((line for line in lines if CRASH.search(line)), None):
        before = next(filter(LOCATION.search, lines), crash)
        where = f", after {before}" if before != crash else ""
        return f"{simulator} crashes on the design, a defect of its own: {crash}{where}"
    first = next((line for line in lines if ERROR.search(line) and LOCATION.search(line)), None)
    if first is None:
        error = next((line for line in lines if ERROR.search(line)), lines[-1] if lines else "")
        return f"{simulator} refuses the design: {error}"
    location = LOCATION.search(first)
    assert location is not None
    where, source = f"{location['file']}:{location['line']}", _source(Path(location["file"]), int(location["line"]))
    if simulator == "icarus":
        for known in NOT_TAKEN:
            if known.source.search(source):
                return f"icarus does not take {known.words}: {where}: {_shown(source)}; leave it out for Icarus"
    error = location["words"].strip() or "an error"
    return f"{simulator} refuses the design: {where}: {error}{f': {_shown(source)}' if source else ''}"


def _source(path: Path, number: int) -> str:
    """A line of a file without its comment; empty where it cannot be read."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return lines[number - 1].split("//")[0].strip() if 0 < number <= len(lines) else ""


def _shown(source: str) -> str:
    return source if len(source) <= MOST_SHOWN else f"{source[:MOST_SHOWN]}..."


ENDED = "the simulator was ended, as a note below says"  # a note of rows that it did not finish
MOST_TOLD = 3  # mismatches of a suite that are reported, each of another case


def suite_row(design: Design, played: Played, waived: int = 0) -> Row:
    """The row of a suite. waived: wrong results that are none of its mismatches."""
    outcome = played.outcome
    return Row(
        unit=design.name,
        suite=played.suite.name,
        driver=played.driver,
        planned=played.play.script.planned,
        compared=outcome.results,
        mismatches=outcome.count,
        waived=waived,
        cycles=outcome.cycles,
        seconds=outcome.seconds,
    )


def judge(
    design: Design, played: Played, waves: Path | str, seed: int, again: str, waived: int = 0
) -> tuple[Row, list[Mismatch]]:
    """The row of a suite, and its first mismatches.

    waived: wrong results that are none of the suite's mismatches, because a waiver explains them.
    waves: the waveform's path, or in words why there is none. again: the command that runs it again.
    """
    row = suite_row(design, played, waived)
    if row.passed:
        return row, []
    files: tuple[File, ...] = ()
    if isinstance(waves, Path):
        saved = File(what="signals by stage, for GTKWave", path=str(waves.with_name(SAVED)))
        files = File(what="waveform", path=str(waves)), saved
    note = f"seed {seed}; waveform: {waves}"
    told = [
        mismatch.changed(notes=(f"seed {seed}" if files else note,), files=files, again=again)
        for mismatch in _told(design, row, played)
    ]
    if not told:
        end = assertions_in(played.folder) or errors_in(played.folder) or log_end(played.folder)
        why = (ENDED,) if played.stuck else ()
        log = ("the end of the simulation's log:", *end) if end else ()
        notes = (*row.notes, *why, *log, note, f"again: {again}")
        row = row.changed(notes=notes)
    return row, told


def _told(design: Design, row: Row, played: Played) -> Iterable[Mismatch]:
    """Yield the first mismatches. Of a design's cases only the first is taken apart, which takes a while."""
    mismatches = played.outcome.mismatches
    if isinstance(played.play.script.promise, CodeTable) or not isinstance(design, DotDesign):
        yield from (code_mismatch(row, mismatch) for mismatch in mismatches[:MOST_TOLD])
        return
    for number, mismatch in enumerate(_of_several_cases(mismatches)):
        case = played.play.case(mismatch.index)
        stage, group = ("", None) if number else design.stage(case)
        promise = played.play.script.promise
        look = remedy(design, mismatch) if isinstance(design, DutDesign) else ""
        unit, called, alone = design.case_of(case) if case else (design.unit, design.called, None)
        shown = mismatch.kind in (*WITH_CODES, FLAG) and alone is not None
        yield told_mismatch(
            unit,
            alone,
            mismatch,
            promise.patience if isinstance(promise, BeatOrder) else None,
            len(played.play.script.results),
            unit_name=row.unit,
            case_id=case.id if case else "",
            suite=row.suite,
            driver=row.driver,
            stage=stage,
            remedy=look,
            group=group,
            explain=explain_command(unit, called, alone) if shown and alone is not None else "",
        )


def code_mismatch(row: Row, mismatch: PortMismatch) -> Mismatch:
    """A mismatch of a table of codes: the answer of the decoder, or of the multiplier, for them."""
    return Mismatch(
        unit=row.unit,
        suite=row.suite,
        driver=row.driver,
        case=f"codes {mismatch.got_context:#x}, {mismatch.expected_context:#x}",
        what=mismatch.kind,
        expected=CodeReading(code=hex(mismatch.expected), value=""),
        got=CodeReading(code=hex(mismatch.got), value=""),
    )


def _of_several_cases(mismatches: Sequence[PortMismatch]) -> list[PortMismatch]:
    """The first mismatch, and the next results that differ, each of another case."""
    others = {mismatch.index: mismatch for mismatch in reversed(mismatches[1:]) if mismatch.kind in (*WITH_CODES, FLAG)}
    rest = sorted(others.values(), key=lambda mismatch: mismatch.index)
    return [*mismatches[:1], *(mismatch for mismatch in rest if mismatch.index != mismatches[0].index)][:MOST_TOLD]
