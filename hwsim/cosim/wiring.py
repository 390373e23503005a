"""Which bit of which port is which bit of a field: the port map of a user's design, bit by bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hwsim.cases.case import block_lengths
from hwsim.cosim.dutfile import Dut, PortPlace
from hwsim.cosim.elaborate import Module
from hwsim.cosim.portbits import PortBit, bits_of
from hwsim.cosim.ports import PortField
from hwsim.errors import InputError
from hwsim.formats import Format


@dataclass(frozen=True)
class Wiring:
    """The fields of a beat and of a result, as the bench's payloads hold them, and where the design has them.

    places: for each field that the design has, the bits of its ports, by element, the least significant first; they
    stand for the element's bits from `shift` on.
    """

    input: tuple[PortField, ...]
    output: tuple[PortField, ...]
    places: dict[str, tuple[tuple[PortBit, ...], ...]]
    shift: dict[str, int]

    @property
    def input_width(self) -> int:
        """Bits of a beat's payload."""
        return sum(field.bits * field.count for field in self.input)

    @property
    def output_width(self) -> int:
        """Bits of a result's payload."""
        return sum(field.bits * field.count for field in self.output)


def operands_of(dut: Dut) -> dict[str, tuple[int, Format]]:
    """Elements and format of every operand that the unit has."""
    unit, products = dut.unit, dut.products
    operands: dict[str, tuple[int, Format]] = {"a": (products, unit.operands.a), "b": (products, unit.operands.b)}
    if unit.scale is not None:
        for name, side, length in zip(
            ("scale_a", "scale_b"), (unit.scale.a, unit.scale.b), block_lengths(unit), strict=True
        ):
            operands[name] = (max(1, products // length), side.format)
    if unit.operands.addend is not None:
        operands["c"] = (1, unit.operands.addend)
    return operands


def wiring(dut: Dut, module: Module) -> Wiring:
    """Work out every field's bits. Raises SpecError, naming the key, for what does not fit the design's ports."""
    inputs, shifts = list[PortField](), dict[str, int]()
    places: dict[str, tuple[tuple[PortBit, ...], ...]] = {}
    offset = 0

    def add(into: list[PortField], name: str, bits: int, count: int = 1) -> None:
        nonlocal offset
        into.append(PortField(name, offset, bits, count))
        offset += bits * count

    context_bits = max(1, (dut.file.contexts - 1).bit_length())
    for name, (count, fmt) in operands_of(dut).items():
        add(inputs, name, fmt.container_bits, count)
        place = getattr(dut.file.ports, name)
        if place is not None:
            places[name] = _elements(dut, module, name, place, count, "in")
            shifts[name] = _shift(dut, name, fmt, len(places[name][0]))
    for name, bits in (("first", 1), ("last", 1), ("context", context_bits)):
        add(inputs, name, bits)
        place = getattr(dut.file.ports, name)
        if place is not None:
            places[name] = _elements(dut, module, name, place, 1, "in")
            _check_bits(dut, name, len(places[name][0]), bits)
    outputs, offset = list[PortField](), 0
    output = dut.unit.output
    add(outputs, "result", output.container_bits)
    add(outputs, "context", context_bits)
    places["result"] = _elements(dut, module, "result", dut.file.ports.result, 1, "out")
    shifts["result"] = _shift(dut, "result", output, len(places["result"][0]))
    if dut.file.ports.result_context is not None:
        place = dut.file.ports.result_context
        places["result_context"] = _elements(dut, module, "result_context", place, 1, "out")
        _check_bits(dut, "result_context", len(places["result_context"][0]), context_bits)
    return Wiring(tuple(inputs), tuple(outputs), places, shifts)


def _shift(dut: Dut, name: str, fmt: Format, width: int) -> int:
    """The first bit of a container that an element of the design stands for: above the padding, or 0."""
    if width == fmt.container_bits:
        return 0
    if width == fmt.bits and not (fmt.padding and name == "result"):
        return fmt.padding
    widths = {fmt.container_bits} if name == "result" and fmt.padding else {fmt.bits, fmt.container_bits}
    raise dut.wrong(
        f"ports.{name}",
        f"must have {' or '.join(map(str, sorted(widths)))} bits for each element ({fmt.name}), not {width}",
    )


def _check_bits(dut: Dut, name: str, width: int, bits: int) -> None:
    if width < bits or (name in ("first", "last") and width != 1):
        raise dut.wrong(f"ports.{name}", f"must have {bits} {'bit' if bits == 1 else 'bits'}, not {width}")


def _elements(
    dut: Dut, module: Module, name: str, place: PortPlace, count: int, direction: Literal["in", "out"]
) -> tuple[tuple[PortBit, ...], ...]:
    """The bits of each element, the least significant first."""
    key = f"ports.{name}"
    if place.port is not None:
        bits = list(_bits(dut, module, key, place.port, direction))
        if len(bits) % count:
            raise dut.wrong(key, f"must hold {count} elements of the same width, not {len(bits)} bits ({place.port})")
        width = len(bits) // count
        elements = [tuple(bits[first : first + width]) for first in range(0, len(bits), width)]
        if place.lane0 == "high":
            elements.reverse()
    else:
        named = place.ports or tuple((place.each or "").replace("{}", str(index)) for index in range(count))
        if len(named) != count:
            raise dut.wrong(key, f"must name {count} ports, one for each element, not {len(named)}")
        elements = [tuple(_bits(dut, module, key, one, direction)) for one in named]
        if len({len(element) for element in elements}) > 1:
            raise dut.wrong(key, "must have elements of the same width")
        if place.lane0 == "high":
            elements.reverse()
    return tuple(element[::-1] if place.bits == "reversed" else element for element in elements)


def _bits(dut: Dut, module: Module, key: str, text: str, direction: Literal["in", "out"]) -> tuple[PortBit, ...]:
    """The bits that a name means. Raises SpecError, naming the key."""
    try:
        return bits_of(module, text, direction)
    except InputError as error:
        raise dut.wrong(key, str(error)) from None
