"""A first DUT.yaml for a design, from its ports: guesses by name, direction and width, each of them marked."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, assert_never

from hwsim.base.errors import InputError
from hwsim.cosim.elaborate import Module, Packed, Port, Struct, read_module
from hwsim.cosim.sources import SUFFIXES, DesignSources, read_list
from hwsim.formats.catalog import looks_like_path
from hwsim.model.flags import FlagName, undefined
from hwsim.spec import Unit, load_unit

UNKNOWN = "# ?"
NAME = r"[A-Za-z_]\w*"

# Names by what they are of, without a direction's affix (i_, _i, in_, s_axis_...) and in lower case.
CLOCK = re.compile(r"^(a?clk|clock|ck)$")
OTHER_CLOCK = re.compile(r"^(\w+_)?(a?clk|clock)(?!_?(en|gate))\w*$")
RESET = re.compile(r"^(n_?)?(a?re?se?t|a?reset|rst)(_?[nb])?$")
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
RESULT_SCALE = re.compile(r"^(\w+_)?(scale|shared_exp|exp|exponent)$")
HANDSHAKE: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("input_valid", "in", re.compile(r"valid|vld")),
    ("input_ready", "out", re.compile(r"ready|rdy")),
    ("output_valid", "out", re.compile(r"valid|vld")),
    ("output_ready", "in", re.compile(r"ready|rdy")),
    ("enable", "in", re.compile(r"^(en|ena|enable|ce|clk_?en|stall|hold|freeze)$")),
)
STALL = re.compile(r"stall|hold|freeze")  # enables that are active low
AFFIX = re.compile(r"^(in|out|i|o|io|bits|s_axis|m_axis)_+|_+(in|out|i|o|ni|no)$")
PLAIN_WORD = re.compile(r"[\w./+-]+")
# Status flags, by the names that IEEE 754 and RISC-V have for them.
FLAGS: dict[FlagName, re.Pattern[str]] = {
    "invalid": re.compile(r"^(nv|invalid(_op(eration)?)?)$"),
    "divide_by_zero": re.compile(r"^(dz|div(ide)?_?by_?zero)$"),
    "overflow": re.compile(r"^(of|ovf|overflow)$"),
    "underflow": re.compile(r"^(uf|unf|underflow)$"),
    "inexact": re.compile(r"^(nx|inexact)$"),
    "nan": re.compile(r"^(is_?)?nan$"),
}
INDEXED = re.compile(r"^(.*)\[(\d+)\](\..*)$")
NUMBERED = re.compile(r"^(.*?)_?(\d+)(_(?:i|o|in|out))?$", re.IGNORECASE)


@dataclass
class Guess:
    """The guesses for a design.

    more_clocks: ports that may be the same clock. clear: begins a sum whose end no port says. places: of fields, as
    YAML. scale: stands beside a result, which is then an integer. unknown: keys that the user must answer.
    """

    module: Module
    clock: str = ""
    more_clocks: list[str] = field(default_factory=list)
    clear: str = ""
    reset: tuple[str, bool] | None = None
    handshake: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    scale: str = ""
    flags: dict[FlagName, str] = field(default_factory=dict)
    constants: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class FirstFile:
    """The inputs of a first DUT.yaml.

    given: sources beside those of lists. filelists: lists of files, paths in which start in `base`. top: where the
    sources have several. unit: the name or path of the unit that the design claims to be; without it that is a question
    too. folder: where the file is to stand.
    """

    given: DesignSources
    folder: Path
    filelists: tuple[Path, ...] = ()
    base: Path = Path()
    top: str | None = None
    unit: str | None = None

    def all(self) -> DesignSources:
        """Every source. Raises InputError for a list that cannot be read."""
        sources = self.given
        for path in self.filelists:
            sources = sources.then(read_list(path, self.base))
        if not sources.files:
            raise InputError("dut-init must have a source, or a file list with one")
        return replace(sources, suffixes=sources.suffixes or SUFFIXES)


def first_file(asked: FirstFile) -> tuple[str, list[str]]:
    """A first DUT.yaml, and its keys that are marked as unknown.

    Raises InputError for sources that cannot be read, SpecError for an unknown unit.
    """
    specified = load_unit(asked.unit) if asked.unit is not None else None
    guessed = guess(read_module(asked.all(), asked.top))
    return "\n".join(_lines(guessed, asked, specified)) + "\n", guessed.unknown


# The parts of a float, as fields of a struct.
PART = re.compile("s|sign|sgn|e|exp|exponent|f|frac|fraction|m|man|mant|mantissa|significand")


def bare(name: str) -> str:
    """The name of a port or of a field in lower case, without affixes for its direction."""
    before, name = "", name.lower().rpartition(".")[2]
    while before != name:
        before, name = name, AFFIX.sub("", name) or name
    return name


def guess(module: Module) -> Guess:
    """Guess the roles of a module's ports."""
    guessed = Guess(module)
    bits = [port for port in module.ports if port.direction == "in" and port.width == 1 and not port.arrays]
    clocks = [port.name for pattern in (CLOCK, OTHER_CLOCK) for port in bits if pattern.match(bare(port.name))]
    guessed.clock, *guessed.more_clocks = dict.fromkeys(clocks) or [""]
    leaves = (leaf for port in module.ports for leaf in _leaves(port))
    rest = [leaf for leaf in leaves if not _is_control(guessed, leaf)]
    groups = _numbered(rest)
    for role, direction, pattern in ROLES:
        if role in guessed.places:
            continue
        for key, ports in groups.items():
            if ports[0].direction == direction and pattern.match(bare(key)):
                guessed.places[role] = _place(ports)
                del groups[key]
                break
    if "result" not in guessed.places:
        outputs = [(key, ports) for key, ports in groups.items() if ports[0].direction == "out"]
        if outputs:
            key, ports = max(outputs, key=lambda item: item[1][0].width)
            guessed.places["result"] = _place(ports)
            del groups[key]
    if guessed.clock and "last" not in guessed.places and re.fullmatch(NAME, guessed.places.get("first", "")):
        guessed.clear = guessed.places.pop("first")
    for key, ports in groups.items():
        if len(ports) == 1 and ports[0].direction == "out" and RESULT_SCALE.match(bare(key)):
            guessed.scale = ports[0].name
            del groups[key]
            break
    for name, pattern in FLAGS.items():
        for key, ports in groups.items():
            if ports[0].direction == "out" and len(ports) == ports[0].width == 1 and pattern.match(bare(key)):
                guessed.flags[name] = ports[0].name
                del groups[key]
                break
    guessed.constants = [port.name for ports in groups.values() for port in ports if port.direction == "in"]
    return guessed


def _leaves(port: Port) -> Iterator[Port]:
    """Yield a port, or each field of a struct, of the structs in it, and of arrays of these, as a port of its own."""
    if port.arrays and isinstance(port.shape, Struct):
        span, *others = port.arrays
        for index in span.indices:
            yield from _leaves(replace(port, name=f"{port.name}[{index}]", arrays=tuple(others)))
        return
    match port.shape:
        case Struct(members=members) if all(PART.fullmatch(member.name.lower()) for member in members):
            yield port  # a number by its parts
        case Struct(members=members):
            for member in members:
                yield from _leaves(replace(port, name=f"{port.name}.{member.name}", shape=member.shape))
        case Packed(range=span, element=Struct(members=members) as element):
            if all(PART.fullmatch(member.name.lower()) for member in members):
                yield port
                return
            for index in span.indices:
                yield from _leaves(replace(port, name=f"{port.name}[{index}]", shape=element))
        case Packed():
            yield port
        case _:
            assert_never(port.shape)


def _is_control(made: Guess, port: Port) -> bool:
    """True if a port is clock, reset or handshake, which is then noted."""
    name = bare(port.name)
    if port.width != 1 or port.arrays:
        return False
    reset = RESET.match(name)
    if port.name in (made.clock, *made.more_clocks):
        return True
    if port.direction == "in" and reset and made.reset is None:
        made.reset = port.name, bool(reset[1] or reset[3]) or port.name.lower().endswith("_ni")
    else:
        for key, direction, pattern in HANDSHAKE:
            if port.direction == direction and pattern.search(name) and key not in made.handshake:
                held = STALL.match(name)
                made.handshake[key] = f"{{port: {port.name}, active: low}}" if held else port.name
                return True
        return False
    return True


class _Numbered(NamedTuple):
    """A name with a number in it. each: the name with `{}` for the number; alike: the name without it."""

    each: str
    alike: str
    number: int


def _number(name: str) -> _Numbered | None:
    """The number in a name, either an index before a field or digits at its end; None for neither."""
    if match := INDEXED.match(name):
        return _Numbered(f"{match[1]}[{{}}]{match[3]}", f"{match[1]}{match[3]}", int(match[2]))
    if match := NUMBERED.match(name):
        before, after = name[: match.start(2)], name[match.end(2) :]
        return _Numbered(f"{before}{{}}{after}", f"{match[1]}{match[3] or ''}", int(match[2]))
    return None


def _numbered(ports: Sequence[Port]) -> dict[str, list[Port]]:
    """Ports by name; those that differ in a number alone, as `a0` and `a1`, and count from 0, stand together."""
    groups: dict[str, list[Port]] = {}
    for port in ports:
        numbered = _number(port.name)
        groups.setdefault(numbered.alike if numbered else port.name, []).append(port)
    together: dict[str, list[Port]] = {}
    for key, members in groups.items():
        numbers = [numbered.number for port in members if (numbered := _number(port.name))]
        alike = len({(port.direction, port.width) for port in members}) == 1
        if len(members) > 1 and alike and sorted(numbers) == list(range(len(members))):
            together[key] = [port for _, port in sorted(zip(numbers, members, strict=True), key=lambda pair: pair[0])]
        else:
            together |= {port.name: [port] for port in members}
    return together


def _place(ports: list[Port]) -> str:
    numbered = _number(ports[0].name)
    if len(ports) == 1 or numbered is None:
        return ports[0].name
    regular = all(numbered.each.replace("{}", str(index)) == port.name for index, port in enumerate(ports))
    return f'"{numbered.each}"' if regular else f"[{', '.join(_quoted(port.name) for port in ports)}]"


def _quoted(text: str) -> str:
    """A word in YAML: quoted where it would be read as more than a word or a number."""
    return text if PLAIN_WORD.fullmatch(text) else json.dumps(text)


def _list(names: Sequence[str]) -> str:
    """Names in YAML: one as it is, several as a list."""
    return names[0] if len(names) == 1 else f"[{', '.join(names)}]"


def _sources(made: Guess, asked: FirstFile) -> Iterator[str]:
    """Yield the keys of the sources; files in an order that simulators take."""

    def shown(paths: Iterable[Path]) -> str:
        return f"[{', '.join(_quoted(os.path.relpath(path, asked.folder)) for path in paths)}]"

    listed = {source.resolve() for source in asked.given.files}
    ordered = [path for path in made.module.ordered if path.resolve() in listed]
    if ordered:
        yield f"sources: {shown(ordered)}"
    if asked.filelists and asked.base.resolve() == asked.folder.resolve():
        yield f"filelists: {shown(asked.filelists)}"
    elif asked.filelists:
        base = _quoted(os.path.relpath(asked.base, asked.folder))
        named = [_quoted(os.path.relpath(path, asked.folder)) for path in asked.filelists]
        yield f"filelists: [{', '.join(f'{{file: {path}, base: {base}}}' for path in named)}]"
    if asked.given.include:
        yield f"include: {shown(asked.given.include)}"
    if asked.given.libraries:
        yield f"libraries: {shown(asked.given.libraries)}"
    if asked.given.easing:
        yield f"slang: [{', '.join(map(_quoted, asked.given.easing))}]"
    if asked.given.defines:
        pairs = (define.partition("=") for define in asked.given.defines)
        yield f"defines: {{{', '.join(f'{name}: {_quoted(value)}' for name, _, value in pairs)}}}"


def _lines(made: Guess, given: FirstFile, specified: Unit | None) -> Iterator[str]:
    def asked(key: str, why: str) -> str:
        made.unknown.append(key)
        return f"  {UNKNOWN} {why}"

    module, unit = made.module, given.unit
    yield f"# {module.name}, as its ports look. Lines marked `{UNKNOWN}` are guesses to be answered: `hwsim docs dut`."
    shown = (
        unit if unit is None or specified is None or not looks_like_path(unit) else os.path.relpath(unit, given.folder)
    )
    yield f"unit: {shown or 'hopper-wgmma-e4m3-f32'}" + ("" if shown else asked("unit", "what it claims to be"))
    yield from _sources(made, given)
    yield f"top: {module.name}"
    if module.parameters:
        yield "# parameters: {" + ", ".join(f"{name}: {value}" for name, value in module.parameters) + "}"
    if made.clock:
        doubt = asked("clock", "one clock, or others too") if made.more_clocks else ""
        yield f"clock: {_list([made.clock, *made.more_clocks])}{doubt}"
        if made.reset is not None:
            name, low = made.reset
            yield f"reset: {{port: {name}, active: {'low' if low else 'high'}}}"
    yield _protocol(made, asked)
    yield from _ports(made, specified, asked)
    if flags := _defined(made, specified):
        doubt = "" if specified is not None else asked("flags", "where the unit defines them")
        yield f"flags: {{{', '.join(f'{name}: {_quoted(port)}' for name, port in flags.items())}}}{doubt}"
    if made.constants:
        named = ", ".join(f"{_quoted(name)}: 0" for name in made.constants)
        yield f"constants: {{{named}}}" + asked("constants", "inputs that no name explains")


def _defined(made: Guess, unit: Unit | None) -> dict[FlagName, str]:
    """The flags that a unit defines; all of them for an unknown unit."""
    if unit is None:
        return made.flags
    products = None if "last" in made.places else unit.instruction.fill
    return {name: port for name, port in made.flags.items() if not undefined(unit, name, products)}


def _protocol(made: Guess, asked: Callable[[str, str], str]) -> str:
    handshake = made.handshake
    if not made.clock:
        return "protocol: {kind: combinational}"
    if (
        "input_valid" in handshake
        and "output_valid" in handshake
        and ("input_ready" in handshake or "output_ready" in handshake)
    ):
        signals = ", ".join(f"{key}: {name}" for key, name in handshake.items() if key != "enable")
        return f"protocol: {{kind: stream, {signals}}}"
    if made.clear:
        low = ", active: low" if made.clear.endswith(("_n", "_ni")) else ""
        enable = f", enable: {handshake['enable']}" if "enable" in handshake else ""
        clear = f"clear: {{port: {made.clear}{low}, when: before}}"
        return f"protocol: {{kind: accumulate, cycles: 1, {clear}{enable}}}" + asked(
            "protocol", "from the last operands to the sum; when it is cleared: before, first, between"
        )
    signals = "".join(f", {key}: {name}" for key, name in handshake.items() if not key.endswith("ready"))
    return f"protocol: {{kind: latency, cycles: 1{signals}}}" + asked("protocol.cycles", "from operands to result")


def _ports(made: Guess, specified: Unit | None, asked: Callable[[str, str], str]) -> Iterator[str]:
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
        elif role == "result" and made.scale:
            place = f"{{port: {place}, scale: {{port: {_quoted(made.scale)}, bias: 0}}}}"
            doubt = asked("ports.result.scale.bias", "the integer times 2^(scale - bias)")
        yield f"  {role}: {place}{doubt}"
    for role in needed:
        if role not in made.places:
            yield f"  {role}: {role}" + asked(f"ports.{role}", "no port of a name like this")
