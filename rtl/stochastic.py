"""Stochastic rounding: random words from a counter, and numbers rounded with them."""

from __future__ import annotations

from amaranth.hdl import Module, Shape, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hwsim.formats import FloatFormat, overflows
from hwsim.rtl.encode import EncodeTarget
from hwsim.rtl.normalize import Magnitude
from hwsim.rtl.numbers import FieldRange, SumTarget, signed_shape
from hwsim.rtl.products import FloatDecode
from hwsim.rtl.step import DatapathStep, connect, flat
from hwsim.spec.keys import Overflow

ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
PARITY = 0x1BD11BDA
ROUNDS = 20


class Threefry(wiring.Component):
    """A random word for a seed and a counter: the first word of Threefry-2x32 with 20 rounds, low words first.

    A stochastic rounding of n bits takes the word's top n. An adder of 32 bits, a rotation and an exclusive or a round;
    five additions of the key. Combinational, or, with `rounds_per_cycle`, a word a cycle with a register after every so
    many rounds: `word` is that of the counter of `latency` cycles before. The seed is not registered: it must hold
    while words are under way.
    """

    def __init__(self, rounds_per_cycle: int | None = None):
        if rounds_per_cycle is not None and not 1 <= rounds_per_cycle <= ROUNDS:
            raise ValueError(f"rounds_per_cycle must be 1 to {ROUNDS}, not {rounds_per_cycle}")
        self.rounds_per_cycle = rounds_per_cycle
        super().__init__({"seed": In(64), "counter": In(64), "word": Out(32)})

    @property
    def latency(self) -> int:
        """Registers between `counter` and `word`."""
        return 0 if self.rounds_per_cycle is None else -(-ROUNDS // self.rounds_per_cycle)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parity = Signal(32)
        keys: list[Value] = [self.seed[:32], self.seed[32:], parity]
        m.d.comb += parity.eq(PARITY ^ keys[0] ^ keys[1])
        low, high = Signal(32, name="low"), Signal(32, name="high")
        m.d.comb += [low.eq(self.counter[:32] + keys[0]), high.eq(self.counter[32:] + keys[1])]
        for turn in range(ROUNDS):
            low, high = self._round(m, turn, low, high, keys)
            if self.rounds_per_cycle is not None and ((turn + 1) % self.rounds_per_cycle == 0 or turn + 1 == ROUNDS):
                registers = [Signal(32, name=f"{name}{turn}_q", reset_less=True) for name in ("low", "high")]
                m.d.sync += [registers[0].eq(low), registers[1].eq(high)]
                low, high = registers
        m.d.comb += self.word.eq(low)
        return m

    def _round(self, m: Module, turn: int, low: Signal, high: Signal, keys: list[Value]) -> tuple[Signal, Signal]:
        mixed_low, mixed_high = Signal(32, name=f"mixed_low{turn}"), Signal(32, name=f"mixed_high{turn}")
        m.d.comb += [mixed_low.eq(low + high), mixed_high.eq(high.rotate_left(ROTATIONS[turn % 8]) ^ mixed_low)]
        if turn % 4 != 3:
            return mixed_low, mixed_high
        injection = turn // 4 + 1
        keyed_low, keyed_high = Signal(32, name=f"keyed_low{turn}"), Signal(32, name=f"keyed_high{turn}")
        key = Signal(32, name=f"key{turn}")
        m.d.comb += [
            key.eq(keys[(injection + 1) % 3] + injection),
            keyed_low.eq(mixed_low + keys[injection % 3]),
            keyed_high.eq(mixed_high + key),
        ]
        return keyed_low, keyed_high


def _target(
    fmt: FloatFormat, random_bits: int, overflow: Overflow, total: Shape, max_exp: tuple[int, int], unit_exp: int
) -> EncodeTarget:
    """The target of a total that counts 2^(max_exp + unit_exp)s. Raises ValueError for what cannot be rounded to."""
    if not fmt.signed:
        raise ValueError(f"{fmt.name} has no sign")
    if not fmt.subnormals and fmt.underflow != "zero":
        raise ValueError(f"{fmt.name} has neither subnormals nor underflow: zero")
    if overflow not in overflows(fmt):
        raise ValueError(f"{fmt.name} has no overflow {overflow!r}")
    if not 1 <= random_bits <= 32:
        raise ValueError(f"random_bits must be 1 to 32, not {random_bits}")
    # Counted as in `FieldRange`, so that 1 is the least biased exponent in every format.
    offset = unit_exp + total.width - 2 + FieldRange.of(fmt).bias
    return EncodeTarget(
        fmt=fmt, to=fmt, overflow=overflow, total=total, max_exp=max_exp, offset=offset, nan=fmt.canonical_nan or 0,
        rounding="stochastic", missing="nan", random_bits=random_bits,
    )  # fmt: skip


def _rounded(m: Module, target: EncodeTarget, values: dict[str, Value], word: Value) -> DatapathStep:
    """Normalise and round. values: sign, magnitude, top_bexp, and the three of special."""
    m.submodules.normalize, m.submodules.round = normalize, rounded = target.steps()
    m.d.comb += connect("normalize", flat(normalize.i), {**values, "word": word})
    m.d.comb += connect("round", flat(rounded.i), flat(normalize.o))
    return rounded


class StochasticConvert(wiring.Component):
    """A code of a wider float format, without its padding, rounded to a code of another with a random word.

    word: the top `random_bits` of a `Threefry`'s. nan: the result is NaN; in a format without one its code is then 0.
    overflow: as `encode` has it. Combinational.
    """

    def __init__(self, source: FloatFormat, fmt: FloatFormat, random_bits: int, overflow: Overflow = "saturate"):
        exponents = FieldRange.of(source)
        total = signed(source.precision + 1)
        unit_exp = -exponents.bias - source.fraction_bits
        self.source, self.target = source, _target(fmt, random_bits, overflow, total, (1, exponents.most), unit_exp)
        super().__init__({"code": In(source.bits), "word": In(random_bits), "result": Out(fmt.bits), "nan": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.decode = decode = FloatDecode(self.source, padded=False)
        o = decode.o
        top_bexp = Signal(signed_shape(*self.target.top_bexp))
        m.d.comb += [decode.code.eq(self.code), top_bexp.eq(o.bexp + self.target.offset)]
        values = {
            "sign": o.sign,
            "magnitude": o.sig,
            "top_bexp": top_bexp,
            "special_nan": o.nan,
            "special_positive": o.inf & ~o.sign,
            "special_negative": o.inf & o.sign,
        }
        rounded = _rounded(m, self.target, values, self.word)
        m.d.comb += [self.result.eq(rounded.o.code), self.nan.eq(rounded.o.nan)]
        return m


class StochasticRound(wiring.Component):
    """A window's sum, total * 2^(max_exp + unit_exp), rounded to a code with a random word.

    total: its signed shape. max_exp: its least and its largest. word, nan, overflow: as in `StochasticConvert`; nan is
    high for an overflow to NaN alone. Combinational.
    """

    def __init__(
        self,
        total: Shape,
        max_exp: tuple[int, int],
        unit_exp: int,
        fmt: FloatFormat,
        random_bits: int,
        overflow: Overflow = "saturate",
    ):
        self.target = _target(fmt, random_bits, overflow, total, max_exp, unit_exp)
        super().__init__(
            {
                "total": In(total),
                "max_exp": In(signed_shape(*max_exp)),
                "word": In(random_bits),
                "result": Out(fmt.bits),
                "nan": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        target = self.target
        total = SumTarget(
            fmt=target.fmt, overflow=target.overflow, total=target.total, max_exp=target.max_exp, offset=target.offset
        )
        m.submodules.magnitude = magnitude = Magnitude(total)
        m.d.comb += [magnitude.i.total.eq(self.total), magnitude.i.max_exp.eq(self.max_exp)]
        rounded = _rounded(m, self.target, flat(magnitude.o), self.word)
        m.d.comb += [self.result.eq(rounded.o.code), self.nan.eq(rounded.o.nan)]
        return m
