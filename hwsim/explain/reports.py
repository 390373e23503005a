"""A report in all its forms: lines for terminals, JSON, JUnit XML as CI systems read it, and one HTML page."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement

import yaml
from jinja2 import Environment, Template
from markupsafe import Markup
from pydantic import ValidationError

from hwsim.base.errors import InputError
from hwsim.base.files import contents, refuse_strangers, remove_if_written, written
from hwsim.base.text import counted
from hwsim.cases.bins.plan import case_meaning
from hwsim.explain.drawing import (
    TEMPLATES,
    coverage_bar,
    environment,
    page_style,
    pair_table,
    policy,
    read,
    window_drawing,
)
from hwsim.explain.microscope import FILE, write_beside
from hwsim.explain.record import (
    SCHEMA,
    STATES,
    CountedBin,
    CoverageGroup,
    FaultKind,
    Mismatch,
    Operand,
    Row,
    RunReport,
)
from hwsim.formats.yamlfile import broken_rule, shown

MOST_LINES = 15
MOST_OPERANDS = 6


def operand_line(operand: Operand) -> str:
    """An operand on a line: `a  [2] 0xc2 (-2.5); 32 elements`."""
    shown = [f"{element.code} ({element.value})" for element in operand.elements[:MOST_OPERANDS]]
    if not operand.length:
        return f"  {operand.name}  {', '.join(shown)}"
    parts = [f"[{element.index}] {text}" for element, text in zip(operand.elements, shown, strict=False)]
    rest = len(operand.elements) - len(parts)
    listed = ", ".join(parts) or "all zero"
    return f"  {operand.name}  {listed}{f' and {rest} more' if rest else ''}; {counted(operand.length, 'element')}"


def mismatch_lines(mismatch: Mismatch) -> list[str]:
    """The lines of a mismatch: operands decoded, expected and got, the first stage that differs."""
    what = "" if mismatch.what == "result" else f"{mismatch.what}: "
    distance = f", {mismatch.distance}" if mismatch.distance else ""
    context = f" ({mismatch.context})" if mismatch.context else ""
    lines = [operand_line(operand) for operand in mismatch.operands]
    lines.append(f"  {what}expected {mismatch.expected}, got {mismatch.got}{distance}{context}")
    if mismatch.stage:
        lines.append(f"  first differing stage: {mismatch.stage}")
    if mismatch.remedy:
        lines.append(f"  what to do: {mismatch.remedy}")
    return lines


def explained_lines(mismatch: Mismatch) -> list[str]:
    """Every stage of a mismatch's case, and what sum its result stands for."""
    stages = ["", *mismatch.explanation.lines, ""] if mismatch.explanation else []
    return [*stages, *([f"the design's result: {mismatch.meaning}"] if mismatch.meaning else [])]


def kind_lines(kind: FaultKind, number: int, count: int) -> list[str]:
    """A kind of wrong results, whole: the simplest case, its stages, what would explain them, files and command.

    number: of the kind, from 1, of `count`.
    """
    minimal = kind.minimal
    of_many = f" OF KIND {number} OF {count}" if count > 1 else ""
    if minimal is None:
        return [f"NO MINIMAL CASE{of_many}", *fault_lines(kind)]
    lines = [
        f"MINIMAL CASE{of_many}, {minimal.where}",
        *mismatch_lines(minimal),
        *explained_lines(minimal),
        *fault_lines(kind),
    ]
    files = [f"{file.what}: {file.path}" for file in minimal.files]
    return [*lines, *files, *([f"again: {minimal.again}"] if minimal.again else [])]


def kinds_lines(kinds: Sequence[FaultKind]) -> list[str]:
    """All kinds of wrong results, an empty line between two."""
    lines: list[str] = []
    for number, kind in enumerate(kinds, 1):
        lines += [*([""] if lines else []), *kind_lines(kind, number, len(kinds))]
    return lines


def fault_head(kind: FaultKind) -> str:
    """The first line of a kind of wrong results: how much speaks for its explanation, or that it has none."""
    part = f"{kind.wrong:,} of {counted(kind.of, 'wrong result')} looked at"
    if kind.causes:
        agrees = kind.causes[0].of - kind.wrong
        return f"explains {part} and agrees with {counted(agrees, 'result')} that {verb(agrees)}:"
    if kind.facts:
        return f"nothing known explains {part}; what they have in common:"
    return f"nothing known explains {part}, and they have nothing simple in common"


def verb(count: int) -> str:
    """The verb for right results of that number."""
    return "matches" if count == 1 else "match"


def fault_lines(kind: FaultKind) -> list[str]:
    """The lines of a kind of wrong results: its explanations, the likeliest first, or what they have in common."""
    return [fault_head(kind), *(f"  {cause}" for cause in kind.causes), *(f"  {fact}" for fact in kind.facts)]


def all_fault_lines(kinds: Sequence[FaultKind]) -> list[str]:
    """The explanations of each kind of wrong results, as lines."""
    return [line for kind in kinds for line in fault_lines(kind)]


def failure_lines(row: Row, mismatches: Sequence[Mismatch]) -> list[str]:
    """The reason why a row failed, in at most 15 lines: its first mismatch, or how much is missing, and its notes."""
    head = f"{row.unit} · {row.driver} · {row.suite}"
    if mismatches:
        first = mismatches[0]
        place = f"{first.where}; " if first.where else ""
        head += f" · case {first.case}" if first.case else ""
        meaning = case_meaning(first.case)
        lines = [head, *([f"  this case: {meaning}"] if meaning else []), *mismatch_lines(first)]
        lines.append(f"  {place}{counted(row.mismatches, 'mismatch')} in this suite")
        notes = "; ".join([*first.notes, *(f"{file.what}: {file.path}" for file in first.files)])
        end = [*([notes] if notes else []), *([f"again: {first.again}"] if first.again else [])]
    else:
        lines, end = [head, f"  {row.compared:,} of {counted(row.planned, 'result')} compared"], []
    # The last lines say how to go on: they stay, whatever else must go.
    end = [f"  {line}" for line in [*row.notes, *end]]
    return [*lines[: max(2, MOST_LINES - len(end))], *end][:MOST_LINES]


def write_json(path: Path, report: RunReport) -> None:
    """A report as JSON: `schema`, a `summary` of figures, and the report's own keys."""
    data = {"schema": SCHEMA, "summary": report.summary(), **report.model_dump(mode="json")}
    with written(path) as file:
        file.write(json.dumps(data, indent=1, allow_nan=False).encode() + b"\n")


def read_json(path: Path) -> RunReport:
    """The report that `write_json` wrote.

    Raises ValueError, naming the file and the key, for anything else, and for a summary that is not that of the rows.
    """
    try:
        data = json.loads(contents(path))
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError, too, and numbers of too many digits
        raise InputError(f"{path}: is no JSON: {error}") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise InputError(f"{path}: schema must be {SCHEMA}, not {_shown(data)}")
    summary = data.pop("summary", None)
    del data["schema"]
    try:
        report = RunReport.model_validate_json(json.dumps(data))
    except ValidationError as error:
        first = error.errors()[0]
        inside, rule = broken_rule(first)
        raise InputError(f"{path}: {'.'.join(map(str, (*first['loc'], *inside))) or 'report'} {rule}") from None
    for name, value in report.summary().items():
        if not isinstance(summary, dict) or summary.get(name) != value:
            stated = summary.get(name) if isinstance(summary, dict) else summary
            raise InputError(f"{path}: summary.{name} must be {value!r}, as the rows say, not {shown(stated)}")
    return report


def _shown(data: Any) -> str:
    return shown(data.get("schema")) if isinstance(data, dict) else f"a {type(data).__name__}"


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a report, without `schema` and `summary`."""
    return RunReport.model_json_schema(mode="serialization")


class JUnitCase(NamedTuple):
    """A suite as a test case of JUnit's.

    verdict: `failure`, `error` or `skipped`, with its message, text and, but for `skipped`, kind; empty where it
    passed. out: what is to be read beside that.
    """

    classname: str
    name: str
    seconds: float = 0.0
    verdict: str = ""
    message: str = ""
    kind: str = ""
    text: str = ""
    out: str = ""


class JUnitSuite(NamedTuple):
    """A testsuite. out: as of a case."""

    name: str
    cases: Sequence[JUnitCase]
    properties: Mapping[str, str] = {}
    out: str = ""


def junit_xml(name: str, suites: Sequence[JUnitSuite]) -> bytes:
    """JUnit XML, as CI systems read it."""
    root = Element("testsuites", {"name": name, **_counts([case for suite in suites for case in suite.cases])})
    for suite in suites:
        element = SubElement(root, "testsuite", {"name": suite.name, **_counts(suite.cases)})
        if suite.properties:
            properties = SubElement(element, "properties")
            for key, value in suite.properties.items():
                SubElement(properties, "property", name=key, value=value)
        for case in suite.cases:
            told = SubElement(element, "testcase", classname=case.classname, name=case.name, time=f"{case.seconds:.3f}")
            if case.verdict:
                kind = {} if case.verdict == "skipped" else {"type": case.kind}
                SubElement(told, case.verdict, {"message": case.message, **kind}).text = case.text
            if case.out:
                SubElement(told, "system-out").text = case.out
        if suite.out:
            SubElement(element, "system-out").text = suite.out
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _counts(cases: Sequence[JUnitCase]) -> dict[str, str]:
    verdicts = [case.verdict for case in cases]
    counts = {f"{word}s": str(verdicts.count(word)) for word in ("failure", "error")}
    skipped, seconds = str(verdicts.count("skipped")), f"{sum(case.seconds for case in cases):.3f}"
    return {"tests": str(len(cases)), **counts, "skipped": skipped, "time": seconds}


def write_junit(path: Path, report: RunReport) -> None:
    """Every suite of a run as JUnit XML, a `testsuite` for each unit and driver.

    A failure's text is the report of the first mismatch, and what would explain it; the model's explanation of it is
    the test case's output. The minimal cases are the output of the testsuite that they are of.
    """
    properties = {"hwsim": report.version, "again": report.command}
    properties |= {} if report.seed is None else {"seed": str(report.seed)}
    groups: dict[tuple[str, str], list[JUnitCase]] = {}
    for row in report.rows:
        groups.setdefault((row.unit, row.driver), []).append(_case(report, row))
    for left in report.left_out:
        if not left.cases:
            verdict = ("failure", left.what, "incomplete", str(left)) if left.required else ("skipped", left.what)
            case = JUnitCase(f"{left.unit}.{left.driver}", left.suite, 0.0, *verdict)
            groups.setdefault((left.unit, left.driver), []).append(case)
    minimal = {(case.unit, case.driver): "\n".join(kinds_lines(report.kinds)) for case in report.minimal}
    suites = [JUnitSuite(".".join(key), cases, properties, minimal.get(key, "")) for key, cases in groups.items()]
    with written(path) as file:
        file.write(junit_xml(report.title, suites))


def _case(report: RunReport, row: Row) -> JUnitCase:
    mismatches, out = report.of(row), [suite_left_out.what for suite_left_out in report.not_given(row)]
    out += [f"{counted(row.waived, 'result')} waived"] if row.waived else []
    verdict: tuple[str, ...] = ()
    if not row.passed:
        lines = [*failure_lines(row, mismatches), *(all_fault_lines(report.kinds) if row.mismatches else [])]
        verdict = "failure", row.verdict, "mismatch" if row.mismatches else "incomplete", "\n".join(lines)
        shown = mismatches[0].explanation if mismatches else None
        out += shown.lines if shown is not None else []
    case = JUnitCase(f"{row.unit}.{row.driver}", row.suite, row.seconds, *verdict)
    return case._replace(out="\n".join(out))


FEW = 60  # names that are listed without being folded


def write_html(path: Path, report: RunReport) -> None:
    """A report as one HTML page; and beside it the microscope, to which its mismatches lead, where it can be built."""
    shown = (*report.mismatches, *report.minimal)
    microscope = write_beside(path, shown)
    with written(path) as file:
        file.write(html(report, microscope).encode())


def html(report: RunReport, microscope: str = "") -> str:
    """The page as text. Whatever names are, they are shown, and never become markup.

    microscope: the name of that page's file beside it; empty for none.
    """
    style, script = page_style(), read("copy.js") + read("report.js")
    return _page().render(
        report=report,
        figures=report.figures,
        # These two are ours: no escape. The page allows itself nothing but them, by their hashes.
        style=Markup(style),
        script=Markup(script),
        policy=policy(style, script),
        microscope=microscope,
    )


@cache
def _page() -> Template:
    return page_environment().get_template("report.html.j2")


def page_environment() -> Environment:
    """The templates of pages that show mismatches."""
    page = environment(TEMPLATES)
    page.filters |= {
        "commas": lambda number: f"{number:,}",
        "yaml": _yaml,
        "percent": _percent,
        "counted": counted,
        "capital": _capital,
    }
    page.globals |= {
        "bar": coverage_bar,
        "pairs": pair_table,
        "window": window_drawing,
        "failure": failure_lines,
        "fault_head": fault_head,
        "case_meaning": case_meaning,
        "by_reason": _by_reason,
        "has_details": _has_details,
        "STATES": STATES,
        "FEW": FEW,
    }
    return page


def _yaml(data: dict[str, Any]) -> str:
    return str(yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=100, allow_unicode=True))


def _capital(sentence: str) -> str:
    """A sentence with its first letter in upper case, and the others as they are."""
    return sentence[:1].upper() + sentence[1:]


def _percent(part: int, whole: int) -> str:
    """A part in per cent: never 100 % where something is missing, nor 0 % where something is there."""
    if part in (0, whole) or not whole:
        return f"{100 if whole and part == whole else 0} %"
    return f"{min(99.9, max(0.1, 100 * part / whole)):.1f} %"


def _has_details(group: CoverageGroup) -> bool:
    """True if there is more to say of a group than the table does: bins that were not hit, or pairs."""
    return any(bin.state != "hit" or bin.place for bin in group.bins)


def _by_reason(bins: Iterable[CountedBin]) -> list[tuple[str, list[CountedBin]]]:
    """Bins of one reason together, in the order in which reasons come."""
    ordered: dict[str, list[CountedBin]] = {}
    for reason, members in groupby(bins, lambda bin: bin.reason):
        ordered.setdefault(reason, []).extend(members)
    return list(ordered.items())


NAMES = ("results.xml", "results.json", "report.html")


def refuse_reports(folder: Path) -> None:
    """Raise InputError, before the work, where `write_reports` would find something else in the way."""
    for name in (*NAMES, FILE):
        refuse_strangers(folder / name)


def write_reports(folder: Path, report: RunReport) -> None:
    """A report in all its forms, under their usual names: results.xml, results.json, report.html.

    The microscope of an earlier report is removed where this one has none.
    """
    remove_if_written(folder / FILE)
    for name, write in zip(NAMES, (write_junit, write_json, write_html), strict=True):
        write(folder / name, report)
