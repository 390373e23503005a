"""Steps of a datapath, and the chain that puts registers between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.data import ArrayLayout, StructLayout, View
from amaranth.lib.wiring import Flow, In, Member, Out, PureInterface


def _member(shape: Any, flow: Flow) -> Member:
    if isinstance(shape, ArrayLayout):
        return _member(shape.elem_shape, flow).array(shape.length)
    return Out(bundle(shape, flow)) if isinstance(shape, StructLayout) else flow(shape)


def bundle(layout: StructLayout, flow: Flow = Out) -> wiring.Signature:
    """A signal for each field, for each element of an array, and for each field of those.

    One packed struct would be slower to simulate, and would look like a loop to a simulator that does not split it.
    flow: of every signal; Amaranth cannot flip an array of bundles afterwards.
    """
    return wiring.Signature({field: _member(shape, flow) for field, shape in layout.members.items()})


def fields(interface: PureInterface) -> dict[str, Any]:
    """The signals of a bundle, by field; a tuple for an array."""
    return {field: getattr(interface, field) for field in interface.signature.members}


def flat(interface: PureInterface) -> dict[str, Signal]:
    """The signals of a bundle, each by a name of its own."""
    signals: dict[str, Signal] = {}
    for field, value in fields(interface).items():
        is_array = isinstance(value, Sequence)
        elements = [(f"{field}{at}", one) for at, one in enumerate(value)] if is_array else [(field, value)]
        for name, element in elements:
            if isinstance(element, PureInterface):
                signals |= {f"{name}_{inner}": signal for inner, signal in flat(element).items()}
            else:
                signals[name] = element
    return signals


def assign(to: PureInterface | View[StructLayout], source: PureInterface | View[StructLayout]) -> list[Any]:
    """Every field of a bundle or a struct from the one of the same name."""
    names = to.signature.members if isinstance(to, PureInterface) else to.shape().members
    return [getattr(to, name).eq(getattr(source, name)) for name in names]


class Step(wiring.Component):
    """One combinational step, `i` to `o`.

    A subclass drives the fields of `o` that it makes; those that stand in `i` too pass through.

    name: the step's name among `hwsim.spec.steps`, which is also the checkpoint's.
    """

    def __init__(self, name: str, i: StructLayout, o: StructLayout):
        self.name, self.layout = name, o
        super().__init__({"i": Out(bundle(i, In)), "o": Out(bundle(o))})

    def compute(self, m: Module) -> None:
        """Drive what this step makes."""
        raise TypeError("a step says what it computes")

    def elaborate(self, platform: object) -> Module:
        """The step's logic."""
        m = Module()
        inputs, outputs = flat(self.i), flat(self.o)
        for field in outputs:
            if field in inputs and inputs[field].shape() == outputs[field].shape():
                m.d.comb += outputs[field].eq(inputs[field])
        self.compute(m)
        return m


class Chain(wiring.Component):
    """Steps one after another, with a register after each step that `cuts` names.

    Registers take their next value in cycles in which `enable` is high.
    next: what the last step makes, before its register if it has one.
    """

    def __init__(self, steps: Sequence[Step], cuts: Sequence[str]):
        self.steps = list(steps)
        self.cuts = [step.name for step in steps if step.name in cuts]
        last = steps[-1].o.signature
        super().__init__({"enable": In(1), "i": Out(steps[0].i.signature), "o": Out(last), "next": Out(last)})

    @property
    def latency(self) -> int:
        """Registers between `i` and `o`."""
        return len(self.cuts)

    @property
    def latency_of_next(self) -> int:
        """Registers between `i` and `next`."""
        return self.latency - (self.steps[-1].name in self.cuts)

    def elaborate(self, platform: object) -> Module:
        """The steps, connected."""
        m = Module()
        values = flat(self.i)
        for step in self.steps:
            name = step.name.replace(".", "_")
            m.submodules[name] = step
            m.d.comb += [signal.eq(values[field]) for field, signal in flat(step.i).items()]
            values = flat(step.o)
            if step.name in self.cuts:
                values = self._register(m, name, values)
        for port, made in ((self.o, values), (self.next, flat(self.steps[-1].o))):
            m.d.comb += [signal.eq(made[field]) for field, signal in flat(port).items()]
        return m

    def _register(self, m: Module, name: str, values: dict[str, Any]) -> dict[str, Any]:
        registers = {
            field: Signal(value.shape(), name=f"{name}_{field}", reset_less=True) for field, value in values.items()
        }
        with m.If(self.enable):
            m.d.sync += [register.eq(values[field]) for field, register in registers.items()]
        return registers
