"""A report as JSON, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hwsim.errors import InputError
from hwsim.files import contents
from hwsim.formats.invalid import broken_rule, shown
from hwsim.outputs import written
from hwsim.report.record import SCHEMA, RunReport


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
            said = summary.get(name) if isinstance(summary, dict) else summary
            raise InputError(f"{path}: summary.{name} must be {value!r}, as the rows say, not {shown(said)}")
    return report


def _shown(data: Any) -> str:
    return shown(data.get("schema")) if isinstance(data, dict) else f"a {type(data).__name__}"


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a report, without `schema` and `summary`."""
    return RunReport.model_json_schema(mode="serialization")
