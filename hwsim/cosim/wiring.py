"""Which bit of which port is which bit of a field: the port map of a user's design, bit by bit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hwsim.cases.case import block_lengths
from hwsim.cosim.dutfile import Dut, PortPlace
from hwsim.cosim.elaborate import Module, Port
from hwsim.cosim.ports import PortField
from hwsim.formats import Format

SLICE = re.compile(r"^(?P<name>[^\[]+)(?:\[(?P<left>\d+)(?::(?P<right>\d+))?\])?$")

MOST_LABEL_BITS = 16  # of a context's port, or a tag's
# A bit of a port: the port, the word of it where it is an array of words, and the place in that.
PortBit = tuple[str, int, int]
PLAIN = -1  # the word of a port that is no array


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

    context_bits = max(1, (dut.file.labels - 1).bit_length())
    label, result_label = dut.file.label_keys
    for name, (count, fmt) in operands_of(dut).items():
        add(inputs, name, fmt.container_bits, count)
        place = getattr(dut.file.ports, name)
        if place is not None:
            places[name] = _elements(dut, module, name, place, count, "in")
            shifts[name] = _shift(dut, name, fmt, len(places[name][0]))
    for name, key, bits in (("first", "first", 1), ("last", "last", 1), ("context", label, context_bits)):
        add(inputs, name, bits)
        place = getattr(dut.file.ports, key)
        if place is not None:
            places[name] = _elements(dut, module, key, place, 1, "in")
            _check_bits(dut, key, len(places[name][0]), bits)
    outputs, offset = list[PortField](), 0
    output = dut.unit.output
    add(outputs, "result", output.container_bits)
    if dut.file.ports.result is not None:
        places["result"] = _elements(dut, module, "result", dut.file.ports.result, 1, "out")
        shifts["result"] = _shift(dut, "result", output, len(places["result"][0]))
    label_bits, place = context_bits, getattr(dut.file.ports, result_label)
    if place is not None:
        places["result_context"] = _elements(dut, module, result_label, place, 1, "out")
        label_bits = len(places["result_context"][0])  # all of them, so that none that is not asked for goes unseen
        _check_bits(dut, result_label, label_bits, context_bits)
        if label_bits > MOST_LABEL_BITS:
            raise dut.wrong(f"ports.{result_label}", f"must have at most {MOST_LABEL_BITS} bits, not {label_bits}")
    add(outputs, "context", label_bits)
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
    dut: Dut, module: Module, name: str, place: PortPlace, count: int, direction: str
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


def _bits(dut: Dut, module: Module, key: str, text: str, direction: str) -> Iterator[PortBit]:
    """The bits that `name`, `name[3]` or `name[7:0]` means, the least significant first."""
    found = SLICE.match(text)
    port = module.by_name.get(found["name"]) if found else None
    if found is None or port is None:
        raise dut.wrong(key, f"must name a port of {module.name} ({', '.join(module.by_name)}), not {text}")
    if port.direction != direction:
        raise dut.wrong(key, f"must be an {direction}put of {module.name}, not {text} ({port.direction})")
    left, right = found["left"], found["right"] or found["left"]
    if port.elements:
        yield from _words(dut, key, port, text, left, right)
        return
    if left is None:
        low, high = 0, port.width - 1
    else:
        try:
            high, low = port.place(int(left)), port.place(int(right))
        except ValueError as error:
            raise dut.wrong(key, f"{text}: {port.name} {error}") from None
        if high < low:
            raise dut.wrong(key, f"{text} must run as {port.name}[{port.left}:{port.right}] does")
    for bit in range(low, high + 1):
        yield port.name, PLAIN, bit


def _words(dut: Dut, key: str, port: Port, text: str, left: str | None, right: str | None) -> Iterator[PortBit]:
    """The bits of an array of words, the first word as declared in the low bits; of one word where an index is."""
    if left != right:
        raise dut.wrong(key, f"must name one word of the array {port.name}, or all of it, not {text}")
    if left is not None and int(left) not in port.elements:
        raise dut.wrong(key, f"{text}: {port.name} has words {port.elements[0]} to {port.elements[-1]}")
    chosen = port.elements if left is None else (int(left),)
    for index in chosen:
        for bit in range(port.width):
            yield port.name, index, bit


def bits_of(dut: Dut, module: Module, key: str, text: str, direction: str) -> list[PortBit]:
    """The bits that a port or a slice means, the least significant first. Raises SpecError, naming the key."""
    return list(_bits(dut, module, key, text, direction))


def bit_of(dut: Dut, module: Module, key: str, text: str, direction: str) -> PortBit:
    """The bit that `name`, of one bit, or `name[3]` means. Raises SpecError, naming the key, for any other."""
    bits = bits_of(dut, module, key, text, direction)
    if len(bits) != 1:
        raise dut.wrong(key, f"must name one bit, not {text} ({len(bits)} bits)")
    return bits[0]


def port_bit(bit: PortBit, module: Module) -> str:
    """A bit of a port as an expression of the adapter's Verilog, which has a wire for each port."""
    name, element, index = bit
    wire = f"port_{name}" if element == PLAIN else f"port_{name}[{element}]"
    return wire if module.by_name[name].width == 1 else f"{wire}[{index}]"
