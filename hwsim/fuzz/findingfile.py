"""Files of findings: the unit, how it is built and the case, to try again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, Strict

from hwsim.cases.case import Case, block_lengths
from hwsim.cosim.casefile import Codes, HexDumper
from hwsim.errors import InputError
from hwsim.formats import Format
from hwsim.formats.codes import codes_of
from hwsim.formats.yamlfile import Document, SpecError, read, validated
from hwsim.fuzz.draw import DrawnUnit
from hwsim.fuzz.operands import least_terms
from hwsim.fuzz.trial import SideMismatch
from hwsim.outputs import written
from hwsim.spec import Unit, described, pipeline
from hwsim.spec.fields import worded

MOST_CASES = 1_000_000


class _CaseKeys(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    a: Annotated[Codes, Field(min_length=1)]
    b: Annotated[Codes, Field(min_length=1)]
    c: Annotated[int, Strict(), Field(ge=0)] = 0
    scale_a: Codes = ()
    scale_b: Codes = ()


class FindingFile(BaseModel):
    """The file's keys. side, said, expected, got: what was found, for a reader."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    unit: Unit
    cuts: tuple[str, ...]
    contexts: Annotated[int, Strict()]
    register_ready: Annotated[bool, Strict()] = False
    seed: Annotated[int, Strict(), Field(ge=0)] = 1
    cases: Annotated[int, Strict(), Field(ge=1, le=MOST_CASES)] = 1000
    side: str = ""
    said: str = ""
    case: _CaseKeys | None = None
    expected: int | None = None
    got: int | None = None


class KeptFinding:
    """A finding as its file has it. drawn: the unit; case: alone, or None; cases: how many are drawn beside it."""

    def __init__(self, drawn: DrawnUnit, case: Case | None, cases: int):
        self.drawn, self.case, self.cases = drawn, case, cases


def write_finding(path: Path, drawn: DrawnUnit, found: SideMismatch, cases: int) -> None:
    """Write what was found of a unit, to try it again with `hwsim fuzz --again FILE`. cases: of the trial."""
    head: dict[str, Any] = {
        "unit": worded(drawn.unit.model_dump(mode="json", exclude_unset=True)), "cuts": list(drawn.pipeline.cuts),
        "contexts": drawn.pipeline.contexts, "register_ready": drawn.pipeline.register_ready, "seed": drawn.seed,
        "cases": cases, "side": found.side, "said": found.said,
    }  # fmt: skip
    text = str(yaml.safe_dump(head, sort_keys=False, default_flow_style=None, width=110))
    if found.case is not None:
        case = found.case
        codes = {key: list(getattr(case, key)) for key in ("a", "b", "scale_a", "scale_b") if getattr(case, key)}
        text += HexDumper.dump({"case": {**codes, "c": case.c}, "expected": found.expected, "got": found.got})
    with written(path) as file:
        file.write(text.encode())


def load_finding(path: Path) -> KeptFinding:
    """A finding from its file. Raises SpecError, naming file, line and key, for a file that breaks a rule."""
    document = read(path)
    file = validated(FindingFile, document)
    described(file.unit).demand()
    try:
        built = pipeline(file.unit, file.cuts, file.contexts, register_ready=file.register_ready)
    except ValueError as error:
        raise SpecError(f"{document.where(('cuts',))}: {error}") from None
    drawn = DrawnUnit(file.unit, built, file.seed)
    return KeptFinding(drawn, None if file.case is None else _case(document, file.unit, file.case), file.cases)


def _case(document: Document, unit: Unit, keys: _CaseKeys) -> Case:
    def wrong(key: str, rule: str) -> SpecError:
        return SpecError(f"{document.where(('case', key))}: case.{key} {rule}")

    terms, least, most = len(keys.a), least_terms(unit), None if unit.instruction.chain else unit.instruction.k
    if terms % least or (most is not None and terms > most):
        rule = f"a multiple of {least} codes" + (f", at most {most}," if most is not None else "")
        raise wrong("a", f"must have {rule} not {terms}")
    if len(keys.b) != terms:
        raise wrong("b", f"must have as many codes as a ({terms}), not {len(keys.b)}")
    blocks = (0, 0) if unit.scale is None else tuple(terms // length for length in block_lengths(unit))
    for key, count in zip(("scale_a", "scale_b"), blocks, strict=True):
        if len(getattr(keys, key)) != count:
            raise wrong(key, f"must have a code for each block ({count}), not {len(getattr(keys, key))}")
    formats: dict[str, Format | None] = {"a": unit.operands.a, "b": unit.operands.b}
    if unit.scale is not None:
        formats |= {"scale_a": unit.scale.a.format, "scale_b": unit.scale.b.format}
    for key, fmt in formats.items():
        _check_codes(wrong, key, fmt, getattr(keys, key))
    if unit.operands.addend is not None or keys.c:
        _check_codes(wrong, "c", unit.operands.addend, (keys.c,))
    return Case("finding", keys.a, keys.b, keys.c, keys.scale_a, keys.scale_b)


def _check_codes(wrong: Any, key: str, fmt: Format | None, codes: tuple[int, ...]) -> None:
    if fmt is None:
        raise wrong(key, "must be 0: the unit has no addend")
    for code in codes:
        try:
            codes_of(fmt, [code])
        except (InputError, OverflowError):
            raise wrong(key, f"must be codes of {fmt.name} ({fmt.container_bits} bits), not {code:#x}") from None
