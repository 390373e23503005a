"""Engines at random: units over the whole language, sizes that nobody would choose, any ports."""

from __future__ import annotations

from typing import get_args

from pydantic import ValidationError

from hwsim.base.errors import InputError
from hwsim.cases.drawing import Stream
from hwsim.cosim.fuzz.draw import Size, drawn_unit, modes_of
from hwsim.rtl.methods import supports
from hwsim.spec import Specified, wide_codes
from hwsim.spec.engine import Engine, ResetStyle, load_engine

RESETS: tuple[ResetStyle, ...] = get_args(ResetStyle)
SIZE = Size(lanes=4, groups=2)
WIDTHS = 8, 16, 24, 32, 64, 72, 128, 256
MOST_WORDS = 64  # of a step: more is slow, and not more telling


def drawn_engine(seed: int, number: int) -> Engine:
    """Engine `number` of a seed, which depends on these alone."""
    stream, at = Stream(seed, "engine", number), 0
    reset = Stream(seed, "engine", number, "reset").choice(RESETS)
    while True:
        drawn = drawn_unit(seed, number * 1000 + at, SIZE)
        at += 1
        modal = modes_of(drawn) if stream.random() < 0.2 else None
        unit: Specified = drawn.unit if modal is None else modal
        if not supports(unit) or any(wide_codes(drawn.unit)):
            continue
        try:
            keys = _keys(stream, unit, drawn.pipeline.cuts)
            engine = load_engine({**keys, "engine": f"engine-{seed}-{number}", "reset": reset})
        except (ValidationError, InputError):
            continue
        sizes = [*engine.sizes().values(), engine.results]
        if max(size.words for size in sizes) <= MOST_WORDS:
            return engine


def _keys(stream: Stream, unit: Specified, cuts: tuple[str, ...]) -> dict[str, object]:
    ports = {name: stream.choice(WIDTHS) for name in "abd"}
    if unit.operands.addend is not None and stream.random() < 0.6:
        ports["c"] = stream.choice(WIDTHS)
    rows, columns = stream.randint(1, 4), stream.randint(1, 4)
    keys: dict[str, object] = {
        "unit": unit, "rows": rows, "columns": columns, "reuse": [stream.randint(1, 3), stream.randint(1, 3)],
        "cuts": list(cuts), "ports": ports, "drain": stream.randint(1, 3),
    }  # fmt: skip
    if unit.scale is not None and stream.random() < 0.5:
        ports |= {f"scale_{side}": stream.choice(WIDTHS) for side in "ab"}
    if stream.random() < 0.3:
        keys["control"] = "axi-lite"
    return keys
