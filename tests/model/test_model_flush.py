"""What is judged where subnormal results become zero: the model against the witness, below the least normal number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from built_presets import others_slow
from flush_units import EVERY, PLACES, ROUNDINGS, TININESS, flush_cases, flushing
from model.model_witness import Witness

import hwsim.model
from hwsim.model import rounding
from hwsim.model.definition import definition_of
from hwsim.spec import Unit

N = 0x0080  # bf16's least normal number, of which its subnormals' last place is 2^-7


def results(mapping: dict[str, Any]) -> tuple[list[int], list[int]]:
    """The model's, and the witness's."""
    unit = Unit.model_validate(mapping)
    given = flush_cases(unit)
    assert len(given) > 20
    a, b, c = (np.array([getattr(case, side) for case in given]) for side in "abc")
    made = hwsim.model.dot(unit, a, b, None if unit.operands.addend is None else c)
    witness = Witness(mapping)
    want = [witness.dot(case.a, case.b, case.c, (), ()) for case in given]
    return np.asarray(made).view(f"u{np.asarray(made).itemsize}").tolist(), want


@pytest.mark.parametrize("name", others_slow(EVERY, [*EVERY][::4]))
def test_every_flush_is_the_witness(name: str) -> None:
    got, want = results(EVERY[name])
    assert got == want


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mode", ROUNDINGS)
def test_what_is_judged_shows(place: str, mode: str) -> None:
    every = {tininess: results(flushing(place, mode, tininess))[1] for tininess in TININESS}
    # Nothing rounds up to the least normal number towards zero, or to odd.
    differ = mode not in ("rz", "rto")
    assert (every["result"] != every["after"]) == (every["after"] != every["before"]) == differ


# Products of bf16 by how far they are below the least normal number, in eighths of the subnormals' last place; and what
# is returned as each judges it, to nearest even.
BELOW = [
    ("1/8", 0x2004, 0x1FF8, {"result": N, "after": N, "before": 0}),
    ("1/4, a tie of normal numbers' places", 0x2012, 0x1FE0, {"result": N, "after": N, "before": 0}),
    ("more than 1/4", 0x2006, 0x1FF4, {"result": N, "after": 0, "before": 0}),
    ("1/2, a tie of subnormals' places", 0x1FFF, 0x2000, {"result": N, "after": 0, "before": 0}),
    ("more than 1/2", 0x2001, 0x1FFD, {"result": 0, "after": 0, "before": 0}),
    ("nothing", 0x2000, 0x2000, {"result": N, "after": N, "before": N}),
]


@pytest.mark.parametrize(("a", "b", "codes"), [one[1:] for one in BELOW], ids=[one[0] for one in BELOW])
def test_by_hand(a: int, b: int, codes: dict[str, int]) -> None:
    for tininess, code in codes.items():
        unit = Unit.model_validate(flushing("result", "rne", tininess, narrow=False))
        assert hwsim.model.dot(unit, [[a]], [[b]]).tolist() == [code]
        assert hwsim.model.dot(unit, [[a | 0x8000]], [[b]]).tolist() == [code | 0x8000]


FAULTS = {
    "judged on the result": lambda real, *given: real(*given[:4], "result", *given[5:]),
    "judged before": lambda real, *given: real(*given[:4], "before", *given[5:]),
    "judged after": lambda real, *given: real(*given[:4], "after", *given[5:]),
    "to nearest, whatever the rounding": lambda real, *given: real(*given[:2], "rne", *given[3:]),
}


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        ("judged on the result", "result-rne-after"), ("judged before", "chain-ru-result"),
        ("judged after", "late-rna-before"), ("to nearest, whatever the rounding", "tree-rd-after"),
    ],
)  # fmt: skip
def test_the_witness_catches(fault: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = rounding._flushed
    monkeypatch.setattr(rounding, "_flushed", lambda *given: FAULTS[fault](real, *given))
    definition_of.cache_clear()
    got, want = results(EVERY[name])
    definition_of.cache_clear()
    assert got != want
