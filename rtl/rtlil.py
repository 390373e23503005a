"""What Amaranth makes of a component, in RTLIL, without its slow search for combinational loops where none can be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter

from amaranth.back import rtlil
from amaranth.hdl import _nir
from amaranth.lib.wiring import Component

# Each output of these depends on some of the inputs.
COMBINATIONAL = (_nir.Operator, _nir.Part, _nir.Matches, _nir.PriorityMatch, _nir.AssignmentList)
# A net is a cell and a bit of it, in so many bits.
WIDTH_BITS = 16
BITWISE = ("~", "&", "|", "^", "m")


class _Undecided(Exception):
    """A netlist with what is not told apart here."""


def rtlil_of(component: Component, name: str) -> str:
    """A component in RTLIL; its top is called `name`. Raises amaranth.hdl.CombinationalCycle where it has a loop."""
    return rtlil.convert(component, name=name, emit_src=False)


def has_order(netlist: _nir.Netlist, *, by_bit: bool) -> bool:
    """Whether a netlist's cells can be put in an order in which each depends on those before it; then it has no loop.

    by_bit: each bit of the cells that work bit by bit is one of its own.
    False says nothing: a loop of cells need not be one of their bits.
    """
    try:
        TopologicalSorter(dict(_dependences(netlist, by_bit))).prepare()
    except (CycleError, _Undecided):
        return False
    return True


def _dependences(netlist: _nir.Netlist, by_bit: bool) -> Iterator[tuple[int, set[int]]]:
    """What is put in order, and on what each depends within a cycle of the clock.

    A bit is its net's number, and a cell that of its first.
    """
    drivers = dict(_drivers(netlist))
    apart = [by_bit and _works_bit_by_bit(cell) for cell in netlist.cells]

    def sources(nets: Iterable[_nir.Net]) -> set[int]:
        found = {drivers.get(net, net) for net in nets}
        return {net if apart[net >> WIDTH_BITS] else net >> WIDTH_BITS << WIDTH_BITS for net in found}

    for index, cell in enumerate(netlist.cells):
        if apart[index]:
            for net in cell.output_nets(index):
                yield int(net), sources(net for net, _ in cell.comb_edges_to(net.bit))
        elif isinstance(cell, COMBINATIONAL):
            yield index << WIDTH_BITS, sources(cell.input_nets())
        elif isinstance(cell, _nir.FlipFlop):
            yield index << WIDTH_BITS, sources({cell.clk, cell.arst})
        elif not isinstance(cell, _nir.Top):
            raise _Undecided


def _works_bit_by_bit(cell: _nir.Cell) -> bool:
    return isinstance(cell, _nir.AssignmentList) or (isinstance(cell, _nir.Operator) and cell.operator in BITWISE)


def _drivers(netlist: _nir.Netlist) -> Iterator[tuple[int, int]]:
    """The cell's bit that drives each bit of a signal, whose own number is below zero."""
    connections = netlist.connections
    for signal, net in connections.items():
        steps = 0
        while net < 0:
            net, steps = connections[net], steps + 1
            if steps > len(connections):
                raise _Undecided  # signals that drive each other
        yield signal, net


# It goes from bit to bit: of a shifter, each of a thousand depends on a thousand.
amaranths_search = _nir.Netlist.check_comb_cycles


def search_loops(netlist: _nir.Netlist) -> None:
    """Raise CombinationalCycle as Amaranth does, of which only netlists without any evident order are asked."""
    if not any(has_order(netlist, by_bit=by_bit) for by_bit in (False, True)):
        amaranths_search(netlist)


_nir.Netlist.check_comb_cycles = search_loops
