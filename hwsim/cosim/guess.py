"""A first DUT.yaml for a design, from its ports: guesses by name, direction and width, each of them marked."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hwsim.cosim.elaborate import Module, Port, read_module
from hwsim.spec import Unit, load_unit

UNKNOWN = "# ?"
NAME = r"[A-Za-z_]\w*"

# Names by what they are of, without a direction's affix (i_, _i, in_, s_axis_...) and in lower case.
CLOCK = re.compile(r"^(a?clk|clock|ck)$")
RESET = re.compile(r"^(a?re?se?t|a?reset|rst)(_?n)?$")
ROLES: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("scale_a", "in", re.compile(r"^(a_?(scales?|sf|exp)|(scales?|sf|sc|x)_?a)$")),
    ("scale_b", "in", re.compile(r"^(b_?(scales?|sf|exp)|(scales?|sf|sc|x)_?b)$")),
    ("a", "in", re.compile(r"^(a|op_?a|vec_?a|lhs|x|activations?|a_?(vec|data|elems?))$")),
    ("b", "in", re.compile(r"^(b|op_?b|vec_?b|rhs|y|w|weights?|b_?(vec|data|elems?))$")),
    ("c", "in", re.compile(r"^(c|op_?c|addend|acc(umulator|um)?|c_?data|psum)$")),
    ("first", "in", re.compile(r"^(first|start|sof|clear|clr|clear_n|clr_n)$")),
    ("last", "in", re.compile(r"^(last|tlast|eof|done)$")),
    ("context", "in", re.compile(r"^(context|ctx|id|tag|tid)$")),
    ("result_context", "out", re.compile(r"^(context|ctx|id|tag|tid)$")),
    ("result", "out", re.compile(r"^(result|res|d|z|q|y|r|sum|dot|out|data|acc|o)$")),
)
HANDSHAKE: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("input_valid", "in", re.compile(r"valid|vld")),
    ("input_ready", "out", re.compile(r"ready|rdy")),
    ("output_valid", "out", re.compile(r"valid|vld")),
    ("output_ready", "in", re.compile(r"ready|rdy")),
    ("enable", "in", re.compile(r"^(en|ena|enable|ce|clk_?en)$")),
)
AFFIX = re.compile(r"^(in|out|i|o|s_axis|m_axis)_+|_+(in|out|i|o|ni|no)$")
NUMBERED = re.compile(r"^(.*?)_?(\d+)(_[io])?$")


@dataclass
class Guess:
    """What is guessed. clear: begins a sum whose end no port says. places: of fields, as YAML.

    unknown: keys that the user must answer.
    """

    module: Module
    clock: str = ""
    clear: str = ""
    reset: tuple[str, bool] | None = None
    handshake: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    constants: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def first_file(sources: Sequence[Path], top: str | None, unit: str | None, folder: Path) -> tuple[str, list[str]]:
    """A first DUT.yaml, to stand in `folder`, and the keys in it that are marked as not known.

    unit: the name or path of the unit that the design claims to be; without it that is a question too.
    Raises ValueError for sources that cannot be read, SpecError for an unknown unit.
    """
    specified = load_unit(unit) if unit is not None else None
    module = read_module(sources, top, include=tuple({source.parent: None for source in sources}))
    made = guess(module)
    lines = list(_lines(made, sources, unit, specified, folder))
    return "\n".join(lines) + "\n", made.unknown


def bare(name: str) -> str:
    """A port's name in lower case, without what says its direction."""
    before, name = "", name.lower()
    while before != name:
        before, name = name, AFFIX.sub("", name) or name
    return name


def guess(module: Module) -> Guess:
    """What the ports seem to be."""
    made = Guess(module)
    rest = [port for port in module.ports if not _is_control(made, port)]
    groups = _numbered(rest)
    for role, direction, pattern in ROLES:
        if role in made.places:
            continue
        for key, ports in groups.items():
            if ports[0].direction == direction and pattern.match(bare(key)):
                made.places[role] = _place(key, ports)
                del groups[key]
                break
    if "result" not in made.places:
        outputs = [(key, ports) for key, ports in groups.items() if ports[0].direction == "out"]
        if outputs:
            key, ports = max(outputs, key=lambda item: item[1][0].width)
            made.places["result"] = _place(key, ports)
            del groups[key]
    if made.clock and "last" not in made.places and re.fullmatch(NAME, made.places.get("first", "")):
        made.clear = made.places.pop("first")
    made.constants = [port.name for ports in groups.values() for port in ports if port.direction == "in"]
    return made


def _is_control(made: Guess, port: Port) -> bool:
    """Whether a port is clock, reset or handshake, which is then noted."""
    name = bare(port.name)
    if port.width != 1 or port.elements:
        return False
    reset = RESET.match(name)
    if port.direction == "in" and CLOCK.match(name) and not made.clock:
        made.clock = port.name
    elif port.direction == "in" and reset and made.reset is None:
        made.reset = port.name, bool(reset[2]) or port.name.lower().endswith("_ni")
    else:
        for key, direction, pattern in HANDSHAKE:
            if port.direction == direction and pattern.search(name) and key not in made.handshake:
                made.handshake[key] = port.name
                return True
        return False
    return True


def _numbered(ports: Sequence[Port]) -> dict[str, list[Port]]:
    """Ports by name; those that differ in a number alone, `a0`, `a1`, and are numbered from 0, together."""
    groups: dict[str, list[Port]] = {}
    for port in ports:
        found = NUMBERED.match(port.name)
        groups.setdefault(f"{found[1]}{found[3] or ''}" if found else port.name, []).append(port)
    made: dict[str, list[Port]] = {}
    for key, members in groups.items():
        numbers = [int(found[2]) for port in members if (found := NUMBERED.match(port.name))]
        alike = len({(port.direction, port.width) for port in members}) == 1
        if len(members) > 1 and alike and sorted(numbers) == list(range(len(members))):
            made[key] = [port for _, port in sorted(zip(numbers, members, strict=True), key=lambda pair: pair[0])]
        else:
            made |= {port.name: [port] for port in members}
    return made


def _place(key: str, ports: list[Port]) -> str:
    """A field's place as YAML."""
    if len(ports) == 1:
        return ports[0].name
    each = NUMBERED.sub(lambda found: found[0].replace(found[2], "{}"), ports[0].name)
    regular = all(each.replace("{}", str(index)) == port.name for index, port in enumerate(ports))
    return f'"{each}"' if regular else f"[{', '.join(port.name for port in ports)}]"


def _lines(
    made: Guess, sources: Sequence[Path], unit: str | None, specified: Unit | None, folder: Path
) -> Iterator[str]:
    def asked(key: str, why: str) -> str:
        made.unknown.append(key)
        return f"  {UNKNOWN} {why}"

    module = made.module
    yield f"# {module.name}, as its ports look. Lines marked `{UNKNOWN}` are guesses to be answered: `hwsim docs dut`."
    shown = unit if unit is None or specified is None or "/" not in unit else os.path.relpath(unit, folder)
    yield f"unit: {shown or 'hopper-wgmma-e4m3-f32'}" + ("" if shown else asked("unit", "what it claims to be"))
    yield f"sources: [{', '.join(os.path.relpath(source, folder) for source in sources)}]"
    yield f"top: {module.name}"
    if module.parameters:
        yield "# parameters: {" + ", ".join(f"{name}: {value}" for name, value in module.parameters) + "}"
    if made.clock:
        yield f"clock: {made.clock}"
        if made.reset is not None:
            name, low = made.reset
            yield f"reset: {{port: {name}, active: {'low' if low else 'high'}}}"
    yield _protocol(made, asked)
    yield from _ports(made, specified, asked)
    if made.constants:
        named = ", ".join(f"{name}: 0" for name in made.constants)
        yield f"constants: {{{named}}}" + asked("constants", "inputs that no name explains")


def _protocol(made: Guess, asked: Callable[[str, str], str]) -> str:
    """The protocol as a line of YAML."""
    found = made.handshake
    if not made.clock:
        return "protocol: {kind: combinational}"
    if "input_valid" in found and "output_valid" in found and ("input_ready" in found or "output_ready" in found):
        signals = ", ".join(f"{key}: {name}" for key, name in found.items() if key != "enable")
        return f"protocol: {{kind: stream, {signals}}}"
    if made.clear:
        low = ", active: low" if made.clear.endswith(("_n", "_ni")) else ""
        enable = f", enable: {found['enable']}" if "enable" in found else ""
        clear = f"clear: {{port: {made.clear}{low}, when: before}}"
        return f"protocol: {{kind: accumulate, cycles: 1, {clear}{enable}}}" + asked(
            "protocol", "from the last operands to the sum; when it is cleared: before, first, between"
        )
    signals = "".join(f", {key}: {name}" for key, name in found.items() if not key.endswith("ready"))
    return f"protocol: {{kind: latency, cycles: 1{signals}}}" + asked("protocol.cycles", "from operands to result")


def _ports(made: Guess, specified: Unit | None, asked: Callable[[str, str], str]) -> Iterator[str]:
    """The fields as lines of YAML."""
    yield "ports:"
    needed = ["a", "b", "result"]
    if specified is not None and specified.scale is not None:
        needed += ["scale_a", "scale_b"]
    for role, place in made.places.items():
        doubt = ""
        if specified is not None and specified.scale is None and role.startswith("scale_"):
            doubt = asked(f"ports.{role}", f"{specified.name} has no scales")
        elif specified is not None and specified.operands.addend is None and role == "c":
            doubt = asked("ports.c", f"{specified.name} has no addend")
        yield f"  {role}: {place}{doubt}"
    for role in needed:
        if role not in made.places:
            yield f"  {role}: {role}" + asked(f"ports.{role}", "no port of a name like this")
