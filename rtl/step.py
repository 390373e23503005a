"""Steps of a datapath, chains of them with registers between, and trees of steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from amaranth.hdl import Cat, Module, Shape, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.data import ArrayLayout, StructLayout, View
from amaranth.lib.wiring import Flow, In, Member, Out, PureInterface

from hwsim.rtl.arithmetic import balanced
from hwsim.spec import Specified, steps

NOTHING = StructLayout({})


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


def leaves(layout: StructLayout) -> dict[str, Shape]:
    """The shapes of a bundle's signals, by the names that `flat` gives them."""
    return {name: shape for field, shape in layout.members.items() for name, shape in _leaves(field, shape).items()}


def _leaves(name: str, shape: Any) -> dict[str, Shape]:
    if isinstance(shape, ArrayLayout):
        elements = (_leaves(f"{name}{index}", shape.elem_shape) for index in range(shape.length))
        return {inner: leaf for element in elements for inner, leaf in element.items()}
    if isinstance(shape, StructLayout):
        return {f"{name}_{inner}": leaf for inner, leaf in leaves(shape).items()}
    return {name: Shape.cast(shape)}


def fields(interface: PureInterface) -> dict[str, Any]:
    """The signals of a bundle, by field; a tuple for an array."""
    return {field: getattr(interface, field) for field in interface.signature.members}


def flat(interface: PureInterface) -> dict[str, Signal]:
    """The signals of a bundle, each by a name of its own."""
    signals: dict[str, Signal] = {}
    for field, value in fields(interface).items():
        is_array = isinstance(value, Sequence)
        elements = [(f"{field}{index}", each) for index, each in enumerate(value)] if is_array else [(field, value)]
        for name, element in elements:
            if isinstance(element, PureInterface):
                signals |= {f"{name}_{inner}": signal for inner, signal in flat(element).items()}
            else:
                signals[name] = element
    return signals


def assign(to: PureInterface | View[StructLayout], source: PureInterface | View[StructLayout]) -> list[Any]:
    """The statements that assign every field of a bundle or a struct, and of those inside.

    Each is assigned from the one of the same name.
    """
    statements: list[Any] = []
    for name in to.signature.members if isinstance(to, PureInterface) else to.shape().members:
        field, value = getattr(to, name), getattr(source, name)
        statements += assign(field, value) if isinstance(field, PureInterface) else [field.eq(value)]
    return statements


def demand_same(step: str, wanted: Mapping[str, Shape], actual: Mapping[str, Shape]) -> None:
    """Raise TypeError, naming the signal, unless everything wanted is given, in the same shape."""
    for name, shape in wanted.items():
        if actual.get(name) != shape:
            raise TypeError(f"{step}: {name} must be {shape}, not {actual.get(name, 'missing')}")


def connect(step: str, signals: Mapping[str, Signal], values: Mapping[str, Value]) -> list[Any]:
    """The statements that assign every signal from the value of its name.

    Raises TypeError, naming the signal, where shapes differ.
    """
    wanted = {name: signal.shape() for name, signal in signals.items()}
    demand_same(step, wanted, {name: Shape.cast(value.shape()) for name, value in values.items()})
    return [signal.eq(values[name]) for name, signal in signals.items()]


def purpose_of(component: wiring.Component) -> str:
    """The purpose of a component: its `purpose` if it has one, else the first paragraph of its docstring."""
    purpose = getattr(component, "purpose", None)
    words = purpose if isinstance(purpose, str) else type(component).__doc__ or ""
    return " ".join(words.strip().split("\n\n")[0].split())


def driven(part: Callable[..., None]) -> str:
    """The object of a function's summary `Drive ...`."""
    words = (part.__doc__ or "").partition("\n\n")[0].removeprefix("Drive ").strip()
    return words[:1].upper() + words[1:]


class DatapathStep(wiring.Component):
    """One combinational step, `i` to `o`.

    name: the step's name among `hwsim.spec.steps`, which is also the checkpoint's.
    makes: the fields of `o` that `compute` drives. The others pass through: they stand in `i`, in the same shape.
    Raises TypeError where they do not.
    """

    _MustUse__silence = True  # Amaranth warns of what is not elaborated: a step may be asked for its ports alone

    def __init__(self, name: str, i: StructLayout, o: StructLayout, makes: Collection[str]):
        if unknown := sorted(set(makes) - set(o.members)):
            raise TypeError(f"{name}: {', '.join(unknown)} must be among the fields that it makes something of")
        passed = StructLayout({field: shape for field, shape in o.members.items() if field not in makes})
        demand_same(f"{name}, passed through", leaves(passed), leaves(i))
        self.name, self.takes, self.gives, self.passed = name, i, o, passed
        super().__init__({"i": Out(bundle(i, In)), "o": Out(bundle(o))})

    @property
    def makes(self) -> list[str]:
        """The fields of `o` that do not pass through."""
        return [field for field in self.gives.members if field not in self.passed.members]

    def compute(self, m: Module) -> None:
        raise TypeError("a step says what it computes")

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inputs, outputs = flat(self.i), flat(self.o)
        m.d.comb += [outputs[name].eq(inputs[name]) for name in leaves(self.passed)]
        self.compute(m)
        return m


class Stage(DatapathStep):
    """A step that a function computes: what comes in passes through, but for what it drops or makes anew.

    makes: the fields that `drive` drives, with their shapes. drive: of a module, the step's inputs and its outputs.
    """

    def __init__(
        self,
        name: str,
        i: StructLayout,
        makes: Mapping[str, Any],
        drive: Callable[[Module, Any, Any], None],
        drops: Collection[str] = (),
    ):
        passed = {field: shape for field, shape in i.members.items() if field not in drops and field not in makes}
        super().__init__(name, i, StructLayout({**passed, **makes}), makes)
        self.drive = drive

    def compute(self, m: Module) -> None:
        self.drive(m, self.i, self.o)


class Datapath(wiring.Component):
    """Steps one after another, with a register after each step that `cuts` names.

    Registers take their next value in cycles in which `enable` is high.
    next: what the last step makes, before its register if it has one.
    carried: what goes from group to group: the first step takes it in as a field of this name, and the last step makes
    its fields. joins: what comes in as `beside` after the first step, and after its register if it has one.
    Raises TypeError where one step does not make what the next one takes.
    """

    def __init__(
        self,
        steps: Sequence[DatapathStep],
        cuts: Sequence[str],
        carried: StructLayout = NOTHING,
        joins: StructLayout = NOTHING,
    ):
        for step, after in pairwise(steps):
            given = leaves(step.gives) | (leaves(joins) if step is steps[0] else {})
            demand_same(f"{step.name} to {after.name}", leaves(after.takes), given)
        demand_same(f"{steps[-1].name}, carried on", leaves(carried), leaves(steps[-1].gives))
        taken = steps[0].takes.members.get("carried", NOTHING)
        for wanted, offered in ((carried, taken), (taken, carried)):
            demand_same(f"{steps[0].name}, carried over", leaves(wanted), leaves(offered))
        self._MustUse__used = True  # who only looks at the steps need not elaborate them together
        self.steps, self.carried = list(steps), carried
        self.cuts = [step.name for step in steps if step.name in cuts]
        last = steps[-1].o.signature
        ports = {"enable": In(1), "i": Out(steps[0].i.signature), "o": Out(last), "next": Out(last)}
        super().__init__(ports | ({"beside": Out(bundle(joins, In))} if joins.members else {}))

    @property
    def purpose(self) -> str:
        names = [step.name for step in self.steps]
        cuts = f"registers after {', '.join(self.cuts)}" if self.cuts else "no registers"
        return f"The steps {', '.join(names)}, in this order, and {cuts}, which take their values while enable is high."

    @property
    def latency(self) -> int:
        """Registers between `i` and `o`."""
        return len(self.cuts)

    @property
    def latency_of_next(self) -> int:
        """Registers between `i` and `next`."""
        return self.latency - (self.steps[-1].name in self.cuts)

    @property
    def carried_on(self) -> Value:
        """The packed input of the next group of the same context; a part of `next`."""
        signals = flat(self.next)
        return Cat(signals[name] for name in leaves(self.carried))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        values = flat(self.i)
        for step in self.steps:
            name = step.name.replace(".", "_")
            m.submodules[name] = step
            m.d.comb += [signal.eq(values[field]) for field, signal in flat(step.i).items()]
            values = flat(step.o)
            if step.name in self.cuts:
                values = self._register(m, name, values)
            if step is self.steps[0] and "beside" in self.signature.members:
                values |= flat(self.beside)
        for port, sources in ((self.o, values), (self.next, flat(self.steps[-1].o))):
            m.d.comb += [signal.eq(sources[field]) for field, signal in flat(port).items()]
        return m

    def _register(self, m: Module, name: str, values: dict[str, Signal]) -> dict[str, Signal]:
        registers = {
            field: Signal(value.shape(), name=f"{name}_q__{value.name.removeprefix('o__')}", reset_less=True)
            for field, value in values.items()
        }
        with m.If(self.enable):
            m.d.sync += [register.eq(values[field]) for field, register in registers.items()]
        return registers


def levels_before(unit: Specified, cuts: Sequence[str], name: str) -> Iterator[tuple[str, int]]:
    """Yield the cuts inside a tree, each with the number of its levels between the cut before and this one."""
    levels = 0
    for step in steps(unit):
        if step.startswith(f"{name}."):
            levels += 1
            if step in cuts:
                yield step, levels
                levels = 0


def neighbours(count: int, length: int, levels: int) -> list[list[int]]:
    """The places of the values that some levels of trees join, one tree after the other. length: values of a tree."""
    joined = 1 << levels
    return [
        list(range(place, min(place + joined, first + length)))
        for first in range(0, count, length)
        for place in range(first, first + length, joined)
    ]


class TreeSums(DatapathStep):
    """Some levels of trees of exact sums, side by side, of the integers that a field holds.

    groups: the places of those that are added.
    """

    def __init__(self, name: str, before: StructLayout, field: str, groups: Sequence[Sequence[int]]):
        self.field, self.groups = field, groups
        bits = Shape.cast(before.members[field].elem_shape).width + max(map(len, groups)).bit_length()
        fields = {field: ArrayLayout(signed(bits), len(groups))}
        super().__init__(name, before, StructLayout({**before.members, **fields}), {field})

    def compute(self, m: Module) -> None:
        values = getattr(self.i, self.field)
        for number, (to, group) in enumerate(zip(getattr(self.o, self.field), self.groups, strict=True)):
            m.d.comb += to.eq(balanced(m, [values[term] for term in group], f"sum{number}_level"))
