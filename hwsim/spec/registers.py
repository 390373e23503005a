"""An engine's registers over AXI4-Lite as one table, of which RTL, proofs, header and page are made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from hwsim.spec.engine import Engine
from hwsim.spec.modes import modes_of

ADDRESS_BITS = 9
PREFIX = "s_axil_"
# The ports of AXI4-Lite, without `awprot` and `arprot`, which a subordinate need not have: whether each is an input,
# and its bits.
AXI_LITE: dict[str, tuple[bool, int]] = {
    "awaddr": (True, ADDRESS_BITS), "awvalid": (True, 1), "awready": (False, 1),
    "wdata": (True, 32), "wstrb": (True, 4), "wvalid": (True, 1), "wready": (False, 1),
    "bresp": (False, 2), "bvalid": (False, 1), "bready": (True, 1),
    "araddr": (True, ADDRESS_BITS), "arvalid": (True, 1), "arready": (False, 1),
    "rdata": (False, 32), "rresp": (False, 2), "rvalid": (False, 1), "rready": (True, 1),
}  # fmt: skip
OKAY, SLVERR = 0, 2  # responses
IDENTITY = int.from_bytes(b"HWSM")
VERSION = 1  # of the table
RESET, CLEAR = 0, 1  # bits of `control`
CONTROL, HASH, COUNTERS = 0x08, 0x20, 0x80  # where those begin

Access = Literal["R", "W", "R/W", "R/W1C"]


class Event(NamedTuple):
    """What a counter counts: cycles in which some of the engine's signals are high, and others low."""

    high: tuple[str, ...] = ()
    low: tuple[str, ...] = ()


class EngineRegister(NamedTuple):
    """A word at a byte's address. access: read, written, or cleared where 1 is written. value: of one that is constant.
    counts: of the lower half of a counter; of: of the upper half, which counter's it is.
    """

    name: str
    offset: int
    access: Access
    words: str
    value: int | None = None
    counts: Event | None = None
    of: str = ""


def registers(engine: Engine) -> dict[str, EngineRegister]:
    """An engine's registers by their names, in the order of addresses. What an engine lacks has no address."""
    return {each.name: each for each in (*_known(engine), *_counters(engine))}


def _known(engine: Engine) -> Iterator[EngineRegister]:
    """Yield what stands before the counters."""
    made = EngineRegister
    yield made("id", 0x00, "R", '`"HWSM"`, the first letter in the high byte', IDENTITY)
    yield made("version", 0x04, "R", "of this table", VERSION)
    yield made("control", CONTROL, "W", "1 in bit 0: soft reset in the next cycle; in bit 1: counters become 0")
    yield made("status", 0x0C, "R", "bit 0, busy: a word, an open sum or a result is in the engine")
    yield made("error", 0x10, "R/W1C", "the port `error`; an error that comes as its bit is cleared stays")
    if engine.has_modes:
        yield made("mode", 0x14, "R/W", "of macro tiles that begin; 0 after `rst`. A number of no mode is refused")
    digest = engine.digest
    for word in range(8):
        number = int(digest[8 * word : 8 * word + 8], 16)
        yield made(f"hash_{word}", HASH + 4 * word, "R", f"of the SHA-256, digits {8 * word} to {8 * word + 7}",
                       number)  # fmt: skip
    sizes = {
        "rows": ("elements in a column", engine.rows), "columns": ("elements in a row", engine.columns),
        "reuse_a": ("slices of A in a step", engine.reuse[0]), "reuse_b": ("slices of B", engine.reuse[1]),
        "lanes": ("products of an element in a beat", engine.unit.instruction.lanes),
        "latency": ("cycles of a beat in an element", engine.pipeline.latency),
        "drain": ("tiles of results that can wait", engine.drain),
        "modes": ("modes of the unit", len(modes_of(engine.unit))),
        "a_bits": ("bits of a word of A", engine.ports.a), "b_bits": ("of B", engine.ports.b),
        "c_bits": ("of C; 0 where there is none", engine.ports.c or 0), "d_bits": ("of D", engine.ports.d),
        "scale_a_bits": ("of A's scales; 0 where they stand behind codes", engine.ports.scale_a or 0),
        "scale_b_bits": ("of B's scales", engine.ports.scale_b or 0),
    }  # fmt: skip
    for at, (name, (words, value)) in enumerate(sizes.items()):
        yield made(name, HASH + 0x20 + 4 * at, "R", words, value)


def _counters(engine: Engine) -> Iterator[EngineRegister]:
    """Yield both halves of each counter. The place of one does not depend on which others there are."""
    made = EngineRegister
    offered = ("beat_valid",)
    events = {
        "cycles": ("cycles without a reset", Event()),
        "tiles": ("macro tiles done: words of D with `tlast` that left", Event(("d_tvalid", "d_tready", "d_tlast"))),
        "beats": ("beats that entered the elements", Event(("beat_valid", "beat_ready"))),
        "waits_steps": ("cycles without a whole step of A and B, or its C", Event(("enable",), offered)),
        "waits_sums": ("cycles in which a beat waited for its context's sum: the latency",
                       Event(("enable", *offered), ("beat_ready",))),
        "waits_results": ("cycles in which elements stood still, as results had no room", Event((), ("enable",))),
    }  # fmt: skip
    streams = {"a": "A", "b": "B", "c": "C", "d": "D", "scale_a": "A's scales", "scale_b": "B's scales"}
    for name, up in streams.items():
        valid, ready = f"{name}_tvalid", f"{name}_tready"
        events |= {
            f"words_{name}": (f"words of {up} that were transferred", Event((valid, ready))),
            f"waits_{name}": (f"cycles in which a word of {up} waited for `{ready}`", Event((valid,), (ready,))),
            f"idles_{name}": (f"cycles in which `{ready}` waited for a word of {up}", Event((ready,), (valid,))),
        }  # fmt: skip
    for at, (name, (words, event)) in enumerate(events.items()):
        if name.partition("_")[2] in streams.keys() - {*engine.sizes(), "d"}:
            continue
        offset = COUNTERS + 8 * at
        yield made(name, offset, "R", words, counts=event)
        yield made(f"{name}_upper", offset + 4, "R", f"bits 32 to 63 of the counter of which the lower were read "
                       f"last: `{name}`", of=name)  # fmt: skip


def counters(engine: Engine) -> dict[str, Event]:
    """What each counter counts, by its name."""
    return {each.name: each.counts for each in registers(engine).values() if each.counts is not None}


class Line(NamedTuple):
    """A register as readers see it: eight words of the hash are one, and both halves of a counter."""

    name: str
    first: int
    last: int
    access: Access
    words: str


def register_lines(engine: Engine) -> Iterator[Line]:
    """Yield an engine's registers as a page and a header have them."""
    for each in registers(engine).values():
        if each.name == "hash_0":
            yield Line("hash", each.offset, each.offset + 28, each.access, "the SHA-256, its first eight digits first")
        elif not each.of and not each.name.startswith("hash_"):
            last = each.offset + 4 * (each.counts is not None)
            yield Line(each.name, each.offset, last, each.access, each.words)


def register_rows(engine: Engine) -> Iterator[str]:
    """Yield the lines of the table in Markdown."""
    yield "| address | register | access | what it is |"
    yield "|---|---|---|---|"
    for name, first, last, access, words in register_lines(engine):
        yield f"| `{first:#05x}`{f' to `{last:#05x}`' * (last > first)} | `{name}` | {access} | {words} |"
