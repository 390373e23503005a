"""The RTL in Amaranth's simulator where it hangs on what is judged whether a result becomes zero."""

from __future__ import annotations

import pytest
from built_presets import others_slow
from cosim.mutants import Mutant
from cosim.plays import amaranth_play, recorded
from flush_units import FEW, flush_cases

from hwsim.rtl import normalize
from hwsim.spec import Unit, pipeline


def differences(name: str) -> int:
    """In how many results the RTL and the model differ."""
    unit = Unit.model_validate(FEW[name])
    built = pipeline(unit)
    play = recorded(unit, built, flush_cases(unit))
    (outcome,) = amaranth_play(unit, built, play)
    assert outcome.results == play.script.planned > 20
    return outcome.count


@pytest.mark.parametrize("name", others_slow(list(FEW), list(FEW)[::3]))
def test_the_rtl_judges_as_the_model(name: str) -> None:
    assert differences(name) == 0


FAULTS = {
    "judged on the result": ("result-rne-after", "match flush:", 'match "result":'),
    "judged before": ("late-rne-after", "| (sig[drop:-1].all() & up)", ""),
    "the bit below is not seen": ("chain-rna-after", "sig[drop - 1], below)", "Const(0), below)"),
    "a power of two is not asked for": ("tree-rd-after", "sig[drop:-1].all() & up", "up"),
}


@pytest.mark.parametrize("fault", others_slow(list(FAULTS), ["judged before", "a power of two is not asked for"]))
def test_a_fault_is_caught(fault: str) -> None:
    name, old, new = FAULTS[fault]
    with Mutant(fault, fault, (), normalize.Round._normal, old, new).applied():
        assert differences(name) > 0
