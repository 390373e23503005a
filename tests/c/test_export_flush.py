"""The exported header against the model where it hangs on what is judged whether a result becomes zero."""

from __future__ import annotations

from pathlib import Path

import pytest
from c.export_library import C99, Library
from flush_units import FEW, flush_cases

from hwsim.cases.case import dot
from hwsim.model.definition import Definition
from hwsim.spec import Unit


@pytest.mark.parametrize("name", FEW)
def test_c_judges_as_the_model(name: str, tmp_path: Path) -> None:
    unit = Unit.model_validate(FEW[name])
    given, definition = flush_cases(unit), Definition(unit)
    library = Library(unit, tmp_path, "gcc", ("-O0", *C99))
    got = library.dots(*([getattr(case, side) for case in given] for side in ("a", "b", "c", "scale_a", "scale_b")))
    assert got == [dot(definition, case).code for case in given]
