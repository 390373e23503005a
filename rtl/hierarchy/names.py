"""Names for nets, ports, packages and types: those of the source, arrays of what belongs together."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from amaranth.lib.data import ArrayLayout, StructLayout

from hwsim.rtl.hierarchy.netlist import Bits, Operation, RtlModule, WireBit, low_part, renamed, whole_wire

KEYWORDS = frozenset(
    """
    accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind bins
    binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config const
    constraint context continue cover covergroup coverpoint cross deassign default defparam design disable dist do edge
    else end endcase endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface endmodule
    endpackage endprimitive endprogram endproperty endsequence endspecify endtable endtask enum event eventually expect
    export extends extern final first_match for force foreach forever fork forkjoin function generate genvar global
    highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies import incdir include initial inout input
    inside instance int integer interconnect interface intersect join join_any join_none large let liblist library local
    localparam logic longint macromodule matches medium modport module nand negedge nettype new nexttime nmos nor
    noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge primitive priority program
    property protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase
    randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0
    rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled
    signed small soft solve specify specparam static string strong strong0 strong1 struct super supply0 supply1
    sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit tran tranif0 tranif1 tri
    tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until until_with untyped use uwire var
    vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor
    """.split()  # noqa: SIM905 - a list of 250 literals is no easier to read
)


def package_name(top: str) -> str:
    """The package of a module."""
    return f"{top}_pkg"


class PayloadField(NamedTuple):
    """A field of a payload: its lowest bit, and bits of an element. elements: of an array, the first lowest; else 0."""

    name: str
    low: int
    bits: int
    elements: int = 0


def fields_of(layout: StructLayout) -> list[PayloadField]:
    """The fields of a payload, the first in the low bits."""
    fields = []
    for name, member in layout:
        elements = member.shape.length if isinstance(member.shape, ArrayLayout) else 0
        fields.append(PayloadField(name, member.offset, member.width // (elements or 1), elements))
    return fields


def package(top: str, sizes: dict[str, int], types: dict[str, tuple[str, StructLayout]]) -> str:
    """The package of a module. types: by their names, what they are, and their fields."""
    lines = [f"// Sizes and types of {top}.", f"package {package_name(top)};"]
    lines += [f"  localparam int {name} = {number};" for name, number in sizes.items()]
    for name, (words, layout) in types.items():
        lines += ["", f"  // {words}", "  typedef struct packed {", *_fields(layout), f"  }} {name};"]
    # Who uses the package need not use all of its sizes.
    return "\n".join(
        ["// verilator lint_off UNUSEDPARAM", *lines, "endpackage", "// verilator lint_on UNUSEDPARAM", ""]
    )


def _fields(layout: StructLayout) -> Iterator[str]:
    """The last field first: a packed struct begins with its high bits."""
    for name, _, width, count in reversed(fields_of(layout)):
        elements = f"[{count - 1}:0]" if count else ""
        bits = f"{elements}[{width - 1}:0]" if width > 1 or elements else ""
        yield f"    {f'logic {bits}'.rstrip()} {member_name(name)};"


def member_name(name: str) -> str:
    """A field's name, unless it is a word of SystemVerilog."""
    return f"{name}_id" if name in KEYWORDS else name


MANY = 8  # wires of which bits are gathered

WORDS = {
    "$add": "sum", "$sub": "difference", "$mul": "product", "$not": "inverted", "$and": "both", "$or": "either",
    "$xor": "exclusive", "$mux": "choice", "$shl": "raised", "$shr": "lowered", "$sshr": "lowered", "$eq": "is_equal",
    "$ne": "differs", "$lt": "is_less", "$gt": "is_more", "$le": "is_no_more", "$ge": "is_no_less", "$neg": "negated",
    "$reduce_or": "any", "$reduce_and": "all", "$reduce_xor": "parity", "$table": "entry",
}  # fmt: skip


class Place(NamedTuple):
    """A net as it is written: a name of its own, or an element of an array."""

    name: str
    number: int | None = None


@dataclass
class Naming:
    """The names of a module's nets. arrays: elements of each, in order. made_up: nets without a name."""

    places: dict[str, Place] = field(default_factory=dict)
    arrays: dict[str, list[str]] = field(default_factory=dict)
    instances: dict[str, Place] = field(default_factory=dict)
    made_up: list[str] = field(default_factory=list)


def settle_nets(module: RtlModule, is_top: bool) -> None:
    """Give every net that has a driver a wire of its own, with a name where there is one for it.

    is_top: registers of the top keep their names where they are outputs.
    """
    renamed(module, _of_outputs(module, module.registers if is_top else ()))
    outputs = {
        wire: (called, port) for called, instance in module.instances.items() for port, wire in instance.outputs.items()
    }
    names: dict[str, str] = {}
    taken: set[str] = set()
    hints = sorted(module.hints.items(), key=_preference)
    for name, bits in hints:
        wire = whole_wire(module, bits) or low_part(module, bits)
        if wire is None or wire in names or wire in outputs:
            continue
        if _is_nameless(module, wire, name) and name not in module.widths:
            names[wire] = name
            taken.add(name)
    for name, bits in hints:
        wires = {bit.wire for bit in bits if isinstance(bit, WireBit) and bit.wire in module.operations}
        nameless = [wire for wire in wires if wire[0] == "$" and module.widths[wire] == 1 and wire not in names]
        if len(bits) > 1 and len(nameless) == len(bits) == len(wires) and name not in {*module.widths, *taken}:
            names |= {bit.wire: f"{name}__{index}" for index, bit in enumerate(bits) if isinstance(bit, WireBit)}
    for wire, (called, port) in outputs.items():
        if wire[0] == "$" and wire not in names:
            name = f"{called}__{re.sub('^[io]__', '', port)}"
            while name in module.widths or name in taken:
                name += "__"
            names[wire] = name
            taken.add(name)
    renamed(module, names)
    _gather(module)


def _gather(module: RtlModule) -> None:
    """Bits of many wires that are read together, by a name of the source: a wire of that name."""
    read = {bits for operation in module.operations.values() for bits in operation.operands}
    for name, bits in module.hints.items():
        wires = {bit.wire for bit in bits if isinstance(bit, WireBit)}
        if len(wires) < MANY or len(wires) < len(bits) or bits not in read or name in module.widths or _borrowed(name):
            continue
        module.widths[name] = len(bits)
        by = {bits: module.whole(name)}
        for wire, operation in module.operations.items():
            operands = tuple(by.get(operand, operand) for operand in operation.operands)
            module.operations[wire] = replace(operation, operands=operands)
        module.operations[name] = Operation("$pos", (bits,))


def _of_outputs(module: RtlModule, registers: Collection[str]) -> dict[str, str]:
    """Wires that are all of an output, which they become, but for those that are kept."""
    names: dict[str, str] = {}
    for port, bits in list(module.outputs.items()):
        wire = whole_wire(module, bits)
        if wire == port:
            del module.outputs[port]
        elif wire is not None and wire not in module.directions and wire not in names and wire not in registers:
            names[wire] = port
            del module.outputs[port]
    return names


def _is_nameless(module: RtlModule, wire: str, name: str) -> bool:
    """True if a wire has no name, or a register only that of what it is connected to."""
    borrowed = wire in module.registers and _borrowed(wire) and not _borrowed(name)
    return wire[0] == "$" or (borrowed and wire not in module.directions)


def _preference(hint: tuple[str, Bits]) -> tuple[bool, int, str]:
    name = hint[0]
    return (_borrowed(name), len(name), name)


def _borrowed(name: str) -> bool:
    """True if a name is only that of a port that a net is connected to, or a number."""
    return name.startswith(("i__", "o__")) or "$" in name or "." in name


# Names as they are written.


def _tokens(name: str, is_top_port: bool) -> list[str]:
    name = re.sub(r"(?<=\w)\$\d+$", "", name).replace("$", "_").replace(".", "__").replace("[", "__").replace("]", "")
    parts = [part for part in name.split("__") if part]
    return parts[1:] if len(parts) > 1 and parts[0] in {"i", "o"} and not is_top_port else parts


def _split(tokens: list[str]) -> tuple[str, int | None]:
    """A name without its number, and that."""
    for index, token in enumerate(tokens):
        if token.isdigit() and index:
            return "_".join(tokens[:index] + tokens[index + 1 :]), int(token)
    for index, token in enumerate(tokens):
        match = re.fullmatch(r"(.+?)_?(\d+)", token)
        if match:
            return "_".join([*tokens[:index], match[1], *tokens[index + 1 :]]), int(match[2])
    return "_".join(tokens), None


def naming(
    module: RtlModule, shown: Iterable[str], is_top: bool, made_up: Mapping[str, str], ports: Mapping[str, Place]
) -> Naming:
    """Choose the names of nets.

    shown: those that are declared. made_up: names for those that have none. ports: how those of the top are written,
    where not by their names.
    """
    names = Naming()
    wires = list(shown)
    taken: set[str] = set(KEYWORDS)
    if is_top:
        for port in module.directions:
            place = names.places[port] = ports.get(port, Place(port))
            taken.add(place.name)
            if place.number is not None:
                names.arrays.setdefault(place.name, []).append(port)
    groups: dict[tuple[str, str, int], list[tuple[int, str]]] = defaultdict(list)
    alone: list[tuple[str, str]] = []
    for wire in wires:
        if wire in names.places:
            continue
        tokens = _tokens(made_up.get(wire, wire), False)
        base, index = _split(tokens)
        if index is None:
            alone.append((wire, "_".join(tokens)))
        else:
            groups[base, _role(module, wire), module.widths[wire]].append((index, wire))
    bases = Counter(base for base, _, _ in groups)
    for (base, role, _), members in groups.items():
        members.sort()
        if len(members) == 1 and members[0][0] == 0 and bases[base] == 1 and _is_only_element(members[0][1]):
            alone.append((members[0][1], base))
            continue
        if len(members) < 2 or [index for index, _ in members] != list(range(len(members))):
            alone += [(wire, "_".join(_tokens(made_up.get(wire, wire), False))) for _, wire in members]
            continue
        name = _free(base, role, taken)
        names.arrays[name] = [wire for _, wire in members]
        names.places |= {wire: Place(name, index) for index, wire in members}
    for wire, name in alone:
        names.places[wire] = Place(_free(name, _role(module, wire), taken))
    names.made_up = [wire for wire in made_up if wire in names.places]
    names.instances = _instances(module, taken)
    return names


def _is_only_element(wire: str) -> bool:
    """True if a wire's number is set off from its name, as that of an element is."""
    return re.search(r"(?:__|_|\[)0(?:\]|__|$)", wire) is not None


def _role(module: RtlModule, wire: str) -> str:
    return module.directions.get(wire) or ("register" if wire in module.registers else "wire")


def _free(name: str, role: str, taken: set[str]) -> str:
    name = re.sub(r"\W", "_", name)
    if name in taken or name[0].isdigit():
        ends = {"input": "_i", "output": "_o", "register": "_q"}
        name += ends.get(role, "_w")
    number, wanted = 2, name
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    taken.add(name)
    return name


def _instances(module: RtlModule, taken: set[str]) -> dict[str, Place]:
    groups: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    places: dict[str, Place] = {}
    for called, instance in module.instances.items():
        base, index = _split(_tokens(called, True))
        if index is None:
            places[called] = Place(_free(f"u_{base}", "wire", taken))
        else:
            groups[base, re.sub(r"\d+", "", instance.module)].append((index, called))
    for (base, _), members in groups.items():
        for index, called in sorted(members):
            places[called] = Place(base, index)
    return places
