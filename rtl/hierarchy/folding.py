"""Operations that need not be there: on constants, of one bit, or made twice."""

from __future__ import annotations

from collections.abc import Iterator

from .netlist import Assignment, Bit, Bits, Operation, RtlModule, Statement, WireBit

ZERO, ONE = {"0"}, {"1"}


def folded(module: RtlModule) -> dict[WireBit, Bit]:
    """Simplify a module's operations; the bits that now stand for others. Empty once nothing is left to do."""
    found: dict[WireBit, Bit] = {}
    first: dict[tuple[Operation, int], str] = {}
    for wire, operation in list(module.operations.items()):
        width = module.widths[wire]
        value = _value(operation, width)
        if isinstance(value, Operation):
            module.operations[wire] = operation = value
            value = None
        if value is None and (operation, width) in first:
            value = module.whole(first[operation, width])
        if value is None:
            first[operation, width] = wire
            continue
        found |= {WireBit(wire, at): bit for at, bit in enumerate(value)}
        del module.operations[wire]
        _rename(module, wire, value)
    return found


def idle_registers(module: RtlModule) -> dict[WireBit, Bit]:
    """Take out registers that are always 0, as they begin; their bits, which stand for that."""
    found = [wire for wire, register in module.registers.items() if all(_is_zero(each) for each in register.next)]
    for wire in found:
        del module.registers[wire]
    return {bit: "0" for wire in found for bit in module.whole(wire) if isinstance(bit, WireBit)}


def _is_zero(statement: Statement) -> bool:
    """Whether a statement assigns nothing but 0."""
    if isinstance(statement, Assignment):
        return set(statement.value) <= ZERO
    return all(_is_zero(each) for _, inside in statement.cases for each in inside)


def _rename(module: RtlModule, wire: str, value: Bits) -> None:
    if wire[0] != "$":
        module.hints.setdefault(wire, value)


def _value(operation: Operation, width: int) -> Bits | Operation | None:
    """What an operation comes to, or a simpler one; None for one that must stay."""
    kind, operands = operation.kind, operation.operands
    match kind:
        case "$and" | "$or":
            return _bitwise(kind, *operands)
        case "$xor":
            return next((one for one, other in _both(operands) if set(other) <= ZERO), None)
        case "$not":
            return tuple("10"[int(str(bit))] for bit in operands[0]) if _constant(operands[0]) else None
        case "$add":
            return next((one for one, other in _both(operands) if set(other) <= ZERO), None)
        case "$sub":
            return operands[0] if set(operands[1]) <= ZERO else None
        case "$mux":
            selector, otherwise, then = operands
            if then == otherwise or selector == ("0",):
                return otherwise
            if (then, otherwise) == (("1",), ("0",)):
                return selector
            return then if selector == ("1",) else None
        case "$shl" | "$shr" if _constant(operands[1]):
            places = int("".join(map(str, reversed(operands[1]))) or "0", 2)
            zeros = ("0",) * min(places, width)
            moved = (*zeros, *operands[0]) if kind == "$shl" else operands[0][places:]
            return (*moved, *("0",) * width)[:width]
        case "$sshr":
            return operands[0][:width] if set(operands[1]) <= ZERO else None
        case "$reduce_or" | "$reduce_and" | "$reduce_xor":
            return _reduction(kind, operands[0], width)
        case "$eq" | "$ne":
            return _equality(kind, *operands)
        case "$lt" | "$ge" if not operation.signed and set(operands[1]) <= ZERO:
            return ("0" if kind == "$lt" else "1",)
        case "$gt" | "$le" if not operation.signed and set(operands[0]) <= ZERO:
            return ("0" if kind == "$gt" else "1",)
        case _:
            return None


def _constant(bits: Bits) -> bool:
    return all(isinstance(bit, str) and bit in "01" for bit in bits)


def _both(operands: tuple[Bits, ...]) -> Iterator[tuple[Bits, Bits]]:
    yield operands[0], operands[1]
    yield operands[1], operands[0]


def _bitwise(kind: str, left: Bits, right: Bits) -> Bits | None:
    wins, stays = (ZERO, ONE) if kind == "$and" else (ONE, ZERO)
    if left == right:
        return left
    for one, other in ((left, right), (right, left)):
        if set(other) == wins:
            return other
        if set(other) == stays:
            return one
    return None


def _reduction(kind: str, bits: Bits, width: int) -> Bits | Operation | None:
    idle, wins = ("1", "0") if kind == "$reduce_and" else ("0", "1")
    above = ("0",) * (width - 1)
    if kind != "$reduce_xor" and wins in bits:
        return (wins, *above)
    left = tuple(bit for bit in bits if bit != idle)
    if len(left) < 2:
        return (left[0] if left else idle, *above)
    return Operation(kind, (left,)) if len(left) < len(bits) else None


def _equality(kind: str, left: Bits, right: Bits) -> Bits | Operation | None:
    same = "1" if kind == "$eq" else "0"
    pairs = [(one, other) for one, other in zip(left, right, strict=True) if one != other]
    if any(isinstance(one, str) and isinstance(other, str) for one, other in pairs):
        return ("0" if same == "1" else "1",)
    if not pairs:
        return (same,)
    if len(pairs) == 1 and pairs[0][1] in ("0", "1"):
        one, other = pairs[0]
        return (one,) if (other == "1") == (kind == "$eq") else Operation("$not", ((one,),))
    if len(pairs) < len(left):
        return Operation(kind, (tuple(one for one, _ in pairs), tuple(other for _, other in pairs)))
    return None
