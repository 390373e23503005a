"""What results show by themselves, whatever the unit's rules are: a constant, the addend, another NaN."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from hwsim.formats import FloatFormat
from hwsim.readings.changes import Candidate, changed
from hwsim.readings.edits import AddendReturned, Constant, Edit
from hwsim.readings.known import Semantic
from hwsim.spec import Unit
from hwsim.spec.rules import is_nan_code

NEARLY_ALL = 0.9  # of the results, that are one and the same code where a design returns nothing else


def evident(unit: Unit, expected: Sequence[int], got: Sequence[int]) -> Iterator[Semantic]:
    """What may explain results because they themselves suggest it, to be judged as any other name is.

    expected, got: the codes of each result.
    """
    wrong = [(want, came) for want, came in zip(expected, got, strict=True) if want != came]
    if not wrong:
        return
    code, count = Counter(got).most_common(1)[0]
    if count >= NEARLY_ALL * len(got) and len(set(expected)) > 1:
        name = f"result always {code:#x}"
        yield _edited(unit, name, f"every result is {code:#x}, whatever the operands are", Constant(code))
    addend = unit.operands.addend
    if addend is not None and addend.container_bits == unit.output.container_bits:
        text = "every result is the addend's code, whatever the factors are"
        yield _edited(unit, "result equal to the addend", text, AddendReturned())
    yield from _other_nan(unit, wrong)


def _edited(unit: Unit, name: str, description: str, edit: Edit) -> Semantic:
    on = partial(_with_edit, name, edit)
    return Semantic(name, description, on(unit), on)


def _with_edit(name: str, edit: Edit, unit: Unit) -> Candidate:
    return Candidate(name, unit, edit=edit)


def _other_nan(unit: Unit, wrong: Sequence[tuple[int, int]]) -> Iterator[Semantic]:
    """The code that comes where the specification has another NaN: where it is meant, a file can say so."""
    fmt = unit.output
    if not isinstance(fmt, FloatFormat) or unit.result.format != fmt:
        return
    codes = Counter(got for want, got in wrong if is_nan_code(fmt, want) and got >= 0 and is_nan_code(fmt, got))
    for code, _ in codes.most_common(1):
        name = f"NaN is {code:#x}"
        text = f"where that is meant, write result.nan: {code:#x}"
        on = partial(_with_nan, name, code)
        try:
            yield Semantic(name, text, on(unit), on, specified=True)
        except ValueError:  # a code that the unit's file cannot name
            return


def _with_nan(name: str, code: int, unit: Unit) -> Candidate:
    setting = "canonical" if code == getattr(unit.output, "canonical_nan", None) else code
    return Candidate(name, changed(unit, {"result": {"nan": setting}}))
