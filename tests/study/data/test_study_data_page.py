"""docs/study-data.md lists every distribution and parameter, with its default."""

from __future__ import annotations

import re
from pathlib import Path

from hwsim.study.data.sources import DISTRIBUTIONS

PAGE = Path(__file__).parents[3] / "docs" / "study-data.md"


def test_the_table_is_that_of_the_distributions() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| ([^|]*) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    rows = [(name, parameters) for name, parameters in rows if name != "distribution"]  # the header
    shown = {name: dict(re.findall(r"`(\w+)` ([^,]+)", parameters)) for name, parameters in rows}
    assert len(rows) == len(shown)
    defaults = {
        name: {
            key: str(field.default).lower().removesuffix(".0")
            for key, field in kind.model_fields.items()
            if key != "distribution"
        }
        for name, kind in DISTRIBUTIONS.items()
    }
    assert shown == defaults
