"""Steps and datapaths: what does not fit is an error where it is put together; what passes through arrives."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator

import pytest
from amaranth.hdl import Module, signed, unsigned
from amaranth.lib.data import ArrayLayout, StructLayout

from hwsim.rtl.step import Datapath, DatapathStep, flat, leaves

PAIR = StructLayout({"sign": 1, "sig": unsigned(4)})
NARROW = StructLayout({"terms": ArrayLayout(PAIR, 2), "code": unsigned(3)})
WIDE = StructLayout({"terms": ArrayLayout(StructLayout({"sign": 1, "sig": unsigned(5)}), 2), "code": unsigned(3)})


class Doubled(DatapathStep):
    """Makes `code` of the first term, and passes the rest."""

    def compute(self, m: Module) -> None:
        m.d.comb += self.o.code.eq(self.i.terms[0].sig << 1)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Amaranth warns of a component that nothing elaborates, when it is collected."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()


def test_leaves_are_the_signals_of_a_bundle() -> None:
    step = Doubled("doubled", NARROW, NARROW, {"code"})
    assert {name: signal.shape() for name, signal in flat(step.i).items()} == leaves(NARROW)
    assert list(leaves(NARROW)) == ["terms0_sign", "terms0_sig", "terms1_sign", "terms1_sig", "code"]


@pytest.mark.parametrize(
    ("i", "o", "makes", "message"),
    [
        (NARROW, WIDE, {"code"}, r"doubled, passed through: terms0_sig must be unsigned\(5\), not unsigned\(4\)"),
        (NARROW, StructLayout({"terms": ArrayLayout(PAIR, 3)}), set(), r"terms2_sign must be .*, not missing"),
        (StructLayout({"x": signed(4)}), StructLayout({"x": unsigned(4)}), set(), r"x must be unsigned.*, not signed"),
        (NARROW, StructLayout({"total": 8}), set(), r"total must be unsigned\(8\), not missing"),
        (NARROW, NARROW, {"cod"}, "doubled: cod must be among the fields"),
    ],
)
def test_a_field_that_cannot_pass_through(i: StructLayout, o: StructLayout, makes: set[str], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Doubled("doubled", i, o, makes)


def test_steps_that_do_not_fit_together() -> None:
    first = Doubled("first", NARROW, NARROW, {"code"})
    second = Doubled("second", WIDE, WIDE, {"code"})
    with pytest.raises(TypeError, match=r"first to second: terms0_sig must be unsigned\(5\), not unsigned\(4\)"):
        Datapath([first, second], ())


def test_what_is_carried_is_what_the_last_step_makes_and_the_first_one_takes() -> None:
    code = StructLayout({"code": unsigned(3)})
    taking = StructLayout({"carried": code, **NARROW.members})
    assert Datapath([Doubled("step", taking, NARROW, {"code"})], (), code).carried_on.shape() == unsigned(3)
    for i, carried, message in (
        (taking, StructLayout({"code": unsigned(4)}), "step, carried on: code"),
        (taking, StructLayout({}), "step, carried over: code"),
        (NARROW, code, "step, carried over: code"),
    ):
        with pytest.raises(TypeError, match=message):
            Datapath([Doubled("step", i, NARROW, {"code"})], (), carried)
