"""Texts that XML, HTML and JSON can hold, whatever they were."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

# What XML 1.0 and HTML cannot hold: controls, halves of surrogate pairs, noncharacters. A terminal's colours go.
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
UNFIT = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0001fffd\U00020000-\U0010fffd]")


def fit(data: Any) -> Any:
    """A text, and every text of a mapping or a list, with U+FFFD in the place of what documents cannot hold."""
    if isinstance(data, str):
        return UNFIT.sub("\ufffd", COLOURS.sub("", data).replace("\r\n", "\n"))
    if isinstance(data, dict):
        return {fit(key): fit(value) for key, value in data.items()}
    return [fit(item) for item in data] if isinstance(data, list) else data


Text = Annotated[str, BeforeValidator(fit)]
