"""Loops: where there is an order no loop is, and of all else Amaranth's search is asked."""

import random
from collections.abc import Callable

import pytest
from amaranth.hdl import Cat, ClockDomain, CombinationalCycle, Instance, Module, Mux, Print, Signal, _nir
from amaranth.lib.wiring import Component, Out

from hwsim.rtl.hierarchy.netlist import amaranths_search, has_order, rtlil_of, search_loops

Build = Callable[[Module, Signal, Signal], object]


class Small(Component):
    """Two signals and what they are to each other."""

    a: Out(4)
    b: Out(4)

    def __init__(self, build: Build):
        super().__init__()
        self.build = build

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.build(m, self.a, self.b)
        return m


class _Found(Exception):
    pass


def netlist_of(build: Build) -> _nir.Netlist:
    """What Amaranth's search is asked about."""
    found = []

    def keep(netlist: _nir.Netlist) -> None:
        found.append(netlist)
        raise _Found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_nir.Netlist, "check_comb_cycles", keep)
        with pytest.raises(_Found):
            rtlil_of(Small(build), "small")
    return found[0]


def loops(search: Callable[[_nir.Netlist], None], netlist: _nir.Netlist) -> bool:
    try:
        search(netlist)
    except CombinationalCycle:
        return True
    return False


def one_after_another(m: Module, a: Signal, b: Signal) -> None:
    m.d.comb += [a.eq(b + 1), b.eq(3)]


def counter(m: Module, a: Signal, b: Signal) -> None:
    m.d.sync += a.eq(a + 1)
    m.d.comb += b.eq(a << a)


def bits_one_after_another(m: Module, a: Signal, b: Signal) -> None:
    m.d.comb += [a.eq(~Cat(True, b[:3])), b.eq(a ^ 5)]


def chosen_bits(m: Module, a: Signal, b: Signal) -> None:
    with m.If(a[3]):
        m.d.comb += a[:2].eq(Mux(a[2], 1, 2))
    m.d.comb += b.eq(a + 1)


def above_a_sum(m: Module, a: Signal, b: Signal) -> None:
    """One cell inverts a bit of the sum's operand, and the sum."""
    m.d.comb += [a.eq(~Cat(b[0], (b[:2] + 1)[:3])), b.eq(Cat(True, a[0]))]


def other_cells(m: Module, a: Signal, b: Signal) -> None:
    m.submodules.other = Instance("other", i_x=a, o_y=b)
    m.d.comb += Print(a)


def own_clock(m: Module, a: Signal, b: Signal) -> None:
    """A register's clock is a bit of it."""
    m.domains.own = own = ClockDomain()
    m.d.comb += own.clk.eq(a[0])
    m.d.own += a.eq(b)


def two_sums(m: Module, a: Signal, b: Signal) -> None:
    m.d.comb += [a.eq(b + 1), b.eq(a)]


def two_signals(m: Module, a: Signal, b: Signal) -> None:
    m.d.comb += [a.eq(b), b.eq(a)]


def round_about(m: Module, a: Signal, b: Signal) -> None:
    m.d.comb += [a.eq(~Cat(b[3], b[:3])), b.eq(a ^ 5)]


def chosen_by_itself(m: Module, a: Signal, b: Signal) -> None:
    with m.If(b[0]):
        m.d.comb += a.eq(2)
    m.d.comb += b.eq(a)


@pytest.mark.parametrize(
    ("build", "by_cells", "by_bits", "looped"),
    [
        (one_after_another, True, True, False),
        (counter, True, True, False),
        (bits_one_after_another, False, True, False),
        (chosen_bits, False, True, False),
        (above_a_sum, False, True, False),
        (other_cells, False, False, False),
        (own_clock, False, False, True),
        (two_sums, False, False, True),
        (two_signals, False, False, True),
        (round_about, False, False, True),
        (chosen_by_itself, False, False, True),
    ],
)
def test_orders(build: Build, by_cells: bool, by_bits: bool, looped: bool) -> None:
    netlist = netlist_of(build)
    assert (has_order(netlist, by_bit=False), has_order(netlist, by_bit=True)) == (by_cells, by_bits)
    assert loops(amaranths_search, netlist) == looped
    if not looped:
        assert "module" in rtlil_of(Small(build), "small")
        return
    with pytest.raises(CombinationalCycle, match="Combinational cycle detected"):
        rtlil_of(Small(build), "small")


@pytest.mark.quick
def test_says_what_amaranth_says_of_netlists_by_chance() -> None:
    seen = set()
    for seed in range(150):
        netlist = netlist_of(
            lambda m, a, b, seed=seed: _by_chance(random.Random(seed), m, [a, b, Signal(4), Signal(4)])
        )
        looped = loops(amaranths_search, netlist)
        orders = tuple(has_order(netlist, by_bit=by_bit) for by_bit in (False, True))
        seen.add((orders, looped))
        assert loops(search_loops, netlist) == looped, seed
        assert not (any(orders) and looped), seed
    assert seen >= {((True, True), False), ((False, True), False), ((False, False), True)}


def _by_chance(chance: random.Random, m: Module, signals: list[Signal]) -> None:
    def some(width: int) -> object:
        parts = []
        while sum(map(len, parts)) < width:
            signal = chance.choice(signals)
            start = chance.randrange(4)
            parts.append(signal[start : start + 1 + chance.randrange(4 - start)])
        return Cat(*parts)[:width]

    for signal in signals:
        for start in (0, 2):
            x, y = some(2), some(2)
            kinds = [x, ~x, x ^ y, Mux(some(1), x, y), x + y, x << y, x.any(), 3, 3, 3]
            with m.If(some(1)) if chance.random() < 0.2 else m.If(True):
                m.d.comb += signal[start : start + 2].eq(chance.choice(kinds))
            if chance.random() < 0.2:
                m.d.sync += Signal(2).eq(x)
