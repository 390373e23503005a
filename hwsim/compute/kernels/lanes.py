"""The inner loop of a window, in vectors: one group of one row of A against 16 columns of B.

For each column it does what a unit does:

1. A product's exponent is the sum of its factors' exponents. max_exp is the largest of these and of the addend's.
2. A product of significands is shifted down by its distance from max_exp. That truncates its magnitude; where
   `sum.lost` is floor, ceil or jam, one is added to it, or its last bit is set, if a bit was lost and the rule asks
   for it.
3. The product takes its sign, and all are summed.

It is written in LLVM's own language because widths decide its speed: exponents stand in lanes of 8 or 16 bits,
magnitudes in lanes of 16 or 32 bits, and every 32 bits of a vector of 512 belong to one column of B. LLVM makes of that
what the processor has. `vectors.vectors_of` proves for a unit that nothing overflows these lanes.

Packed, a group of B (16 columns) and a group of A (one row) are, for every four products k0..k3:

    exponents   B: 16 columns x 4 of 8 bits; or, of 16 bits, two vectors of 16 columns x 2: (k0, k2), (k1, k3)
                A: the same for one column
    significands  B: two vectors of 16 columns x 2 of 16 bits: (k0, k2), (k1, k3)
                A, 16-bit lanes: the same for one column, shifted so that a product is in units of the window at max_exp
                A, 32-bit lanes: (k0, 0), (0, k2), (k1, 0), (0, k3): a product is one pairwise multiply-add
    signs       16-bit lanes. B: two vectors of +1 and -1; A: the same for one column, of what turns them: 0 or 0xFFFE
                32-bit lanes. B: a bit for each column, in 16 bits, for each product; A: 0 or 0xFFFF for each product

each of the three for all products of the group before the next. `VectorLayout` has the offsets."""

from __future__ import annotations

from typing import NamedTuple

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hwsim.compute.kernels.lost import CEIL, FLOOR, JAM, TRUNCATE
from hwsim.compute.kernels.vector_code import I16, I32, V8, V16, V32, VECTOR, Builder, Kind, Value, VectorCode

# Bytes from a sum to that of the next part: those of the sums of four tiles of columns.
PART = 4 * VECTOR

# The largest shift of a lane: whatever was in it, a bit less than it holds, is gone.
DEEP = {16: 15, 32: 31}
# Of a column without a product other than zero.
NO_EXP = -(1 << 20)
# A zero's exponent, others counting from 0: a sum with it is negative.
ZERO_EXP = {8: -64, 16: -8192}
# max_exp is not larger than this in the lanes; every product is lost before.
TOP_EXP = {8: 100, 16: 16000}


class VectorLayout(NamedTuple):
    """Bytes of a packed group.

    quads: its products, by fours. parts: sums that it has, each of as many quads.
    """

    quads: int
    lane_bits: int
    exp_bits: int
    parts: int = 1

    @property
    def exp_vectors(self) -> int:
        """Vectors of exponents for four products."""
        return self.exp_bits // 8

    @property
    def b_sig(self) -> int:
        return VECTOR * self.exp_vectors * self.quads

    @property
    def b_sign(self) -> int:
        return self.b_sig + VECTOR * 2 * self.quads

    @property
    def b_bytes(self) -> int:
        """Bytes of a group of B, whole vectors."""
        signs = 2 * VECTOR * self.quads if self.lane_bits == 16 else self.quads * 8
        return -(-(self.b_sign + signs) // VECTOR) * VECTOR

    @property
    def a_sig(self) -> int:
        return 4 * self.exp_vectors * self.quads

    @property
    def a_sign(self) -> int:
        return self.a_sig + 4 * self.quads * (2 if self.lane_bits == 16 else 4)

    @property
    def a_bytes(self) -> int:
        """Bytes of a group of A."""
        return -(-(self.a_sign + self.quads * 8) // 8) * 8


class _GroupCode(VectorCode):
    def __init__(self, builder: Builder, layout: VectorLayout, lost: int, addresses: Value):
        super().__init__(builder, addresses[0])
        self.layout, self.lost = layout, lost
        _, self.a_at, self.addend_at, self.out_at, self.negative_at, self.exp_at, self.deeper = addresses

    def emit(self) -> None:
        """All of it: max_exp of each column, and the sums of all products, and of the negative ones in 32-bit lanes."""
        lanes = V8 if self.layout.exp_bits == 8 else V16
        exps = [self.b.add(self.vector(i * VECTOR, lanes), self.a_exps(i, lanes)) for i in range(self.count)]
        max_exp = self.call("smax", self.column_max(exps), self.load(self.addend_at, 0, V32))
        self.store(max_exp, self.exp_at, 0)
        top = self.call("smin", max_exp, self.splat(V32, TOP_EXP[self.layout.exp_bits]))
        top = self.spread(self.b.add(top, self.in_columns(self.b.trunc(self.deeper, I32))))
        quads = self.layout.quads // self.layout.parts
        for part in range(self.layout.parts):
            sums: dict[str, Value] = {}
            for quad in range(part * quads, (part + 1) * quads):
                for half in range(2):
                    self.pair(sums, exps, top, quad, half)
            self.store(sums["all"], self.out_at, part * PART)
            if "negative" in sums:
                self.store(sums["negative"], self.negative_at, part * PART)

    @property
    def count(self) -> int:
        """Vectors of exponents of a group."""
        return self.layout.exp_vectors * self.layout.quads

    def a_exps(self, index: int, lanes: Kind) -> Value:
        """Exponents of A, the same for every column."""
        return self.b.bitcast(self.broadcast(self.a_at, 4 * index), lanes)

    def column_max(self, exps: list[Value]) -> Value:
        """The largest exponent of each column; NO_EXP where every product is zero."""
        lanes = V8 if self.layout.exp_bits == 8 else V16
        while len(exps) > 1:
            pairs = [self.call("smax", x, y) for x, y in zip(exps[::2], exps[1::2], strict=False)]
            exps = pairs + exps[len(exps) // 2 * 2 :]
        largest = exps[0]
        for shift in (16, 8)[: 3 - self.layout.exp_vectors]:
            down = self.b.lshr(self.b.bitcast(largest, V32), self.splat(V32, shift))
            largest = self.call("smax", largest, self.b.bitcast(down, lanes))
        # The low lane, with its sign.
        up = self.splat(V32, 32 - self.layout.exp_bits)
        column = self.b.ashr(self.b.shl(self.b.bitcast(largest, V32), up), up)
        some = self.b.icmp_signed(">=", column, self.splat(V32, 0))
        return self.b.select(some, column, self.splat(V32, NO_EXP))

    def spread(self, column: Value) -> Value:
        """A number of each column, in every lane of exponents."""
        step = self.layout.exp_bits // 8
        lanes = V8 if step == 1 else V16
        column = self.b.bitcast(column, lanes)
        mask = [i // (4 // step) * (4 // step) for i in range(lanes.count)]
        return self.b.shuffle_vector(column, column, ir.Constant(ir.VectorType(I32, lanes.count), mask))

    def pair(self, sums: dict[str, Value], exps: list[Value], top: Value, quad: int, half: int) -> None:
        """Two products, k = half and half + 2 of a quad, into the sums."""
        layout, b = self.layout, self.b
        vector = self.vector(layout.b_sig + VECTOR * (2 * quad + half), V16)
        if layout.lane_bits == 16:
            factor = b.bitcast(self.broadcast(self.a_at, layout.a_sig + 4 * (2 * quad + half)), V16)
            shifted = b.lshr(b.mul(factor, vector), self.distance16(exps, top, quad, half))
            signs = self.vector(layout.b_sign + VECTOR * (2 * quad + half), V16)
            flips = b.bitcast(self.broadcast(self.a_at, layout.a_sign + 4 * (2 * quad + half)), V16)
            signs = b.xor(signs, flips)
            self.add(sums, "all", self.pairwise(shifted, signs))
            return
        for which in range(2):
            lane = 2 * half + which
            factor = b.bitcast(self.broadcast(self.a_at, layout.a_sig + 4 * (4 * quad + lane)), V16)
            product = self.pairwise(factor, vector)
            distance = self.distance32(exps, top, quad, half, which)
            byte = 2 * (4 * quad + lane)
            bits = b.xor(
                self.load(self.b_at, layout.b_sign + byte, I16), self.load(self.a_at, layout.a_sign + byte, I16)
            )
            negative = b.bitcast(bits, ir.VectorType(ir.IntType(1), 16))
            shifted = b.lshr(product, distance)
            if self.lost != TRUNCATE:
                inexact = b.icmp_unsigned("!=", b.shl(shifted, distance), product)
                shifted = self.with_lost(shifted, inexact, negative)
            self.add(sums, "all", shifted)
            self.add(sums, "negative", b.select(negative, shifted, self.splat(V32, 0)))

    def with_lost(self, shifted: Value, inexact: Value, negative: Value) -> Value:
        """Magnitudes that were shifted down, with what their lost bits add."""
        b = self.b
        if self.lost == JAM:
            return b.or_(shifted, b.zext(inexact, V32))
        grows = {FLOOR: negative, CEIL: b.not_(negative)}[self.lost]
        return b.add(shifted, b.zext(b.and_(inexact, grows), V32))

    def distance16(self, exps: list[Value], top: Value, quad: int, half: int) -> Value:
        """The distances of two products of each column below max_exp, in lanes of 16 bits."""
        if self.layout.exp_bits == 16:
            return self.distances(exps, top, 2 * quad + half)
        four = self.b.bitcast(self.distances(exps, top, quad), V16)
        return self.b.and_(four, self.splat(V16, 255)) if half == 0 else self.b.lshr(four, self.splat(V16, 8))

    def distances(self, exps: list[Value], top: Value, index: int) -> Value:
        """The distances of products below max_exp, in lanes of their exponents; at most what takes all of a lane."""
        far = self.b.sub(top, exps[index])
        return self.call("umin", far, self.splat(far.type, DEEP[self.layout.lane_bits]))

    def distance32(self, exps: list[Value], top: Value, quad: int, half: int, which: int) -> Value:
        """The distance of a product of each column below max_exp, in lanes of 32 bits."""
        if self.layout.exp_bits == 16:
            two = self.b.bitcast(self.distances(exps, top, 2 * quad + half), V32)
            return self.b.lshr(two, self.splat(V32, 16)) if which else self.b.and_(two, self.splat(V32, 0xFFFF))
        four = self.distances(exps, top, quad)
        byte = half + 2 * which
        # Byte `byte` of every four, and three zeros.
        mask = [i + byte if i % 4 == 0 else 64 for i in range(64)]
        zero = ir.Constant(V8, [0] * 64)
        shuffled = self.b.shuffle_vector(four, zero, ir.Constant(ir.VectorType(I32, 64), mask))
        return self.b.bitcast(shuffled, V32)

    def add(self, sums: dict[str, Value], name: str, value: Value) -> None:
        sums[name] = self.b.add(sums[name], value) if name in sums else value


@intrinsic  # type: ignore[untyped-decorator]
def group(
    typing: Value, quads: Value, lane_bits: Value, exp_bits: Value, parts: Value, lost: Value,
    b_at: Value, a_at: Value, addend_at: Value, out_at: Value, negative_at: Value, exp_at: Value, deeper: Value,
) -> Value:  # fmt: skip
    """One group of one row against 16 columns.

    quads, lane_bits, exp_bits, parts, lost: literals. b_at, a_at: addresses of the packed groups. addend_at: of 16
    int32, the addends' exponents on the scale of the packed ones. out_at: where 16 int32 go, the sums in units of the
    window; of 32-bit lanes the sums of all magnitudes, uint32, and those of the negative ones at negative_at; those of
    a second part PART bytes farther. exp_at: 16 int32, max_exp.
    deeper: what every product is shifted down by besides.
    """
    words = quads, lane_bits, exp_bits, parts
    if not all(isinstance(word, types.IntegerLiteral) for word in (*words, lost)):
        return None
    layout = VectorLayout(*(word.literal_value for word in words))
    how = lost.literal_value

    def codegen(context: Value, builder: Builder, signature: Value, args: Value) -> Value:
        _GroupCode(builder, layout, how, args[5:]).emit()
        return context.get_dummy_value()

    return types.void(*words, lost, *[types.int64] * 7), codegen


class DotsLayout(NamedTuple):
    """Bytes of a packed group of so many products, in parts."""

    lanes: int
    parts: int

    @property
    def a_bits(self) -> int:
        """The byte at which A's words of bits begin."""
        return 2 * self.lanes

    @property
    def b_bits(self) -> int:
        """The byte at which B's words of bits begin."""
        return VECTOR * self.lanes // 2

    @property
    def a_bytes(self) -> int:
        """Bytes of a group of A."""
        return -(-(self.a_bits + 4 * self.parts) // 8) * 8

    @property
    def b_bytes(self) -> int:
        """Bytes of a group of B."""
        return self.b_bits + VECTOR * self.parts


class _DotsCode(VectorCode):
    def __init__(self, builder: Builder, layout: DotsLayout, addresses: Value):
        super().__init__(builder, addresses[0])
        self.layout = layout
        _, self.a_at, self.out_at, self.some_at = addresses

    def emit(self) -> None:
        """The sum of each part, and the bits of its products that are not zero."""
        pairs = self.layout.lanes // self.layout.parts // 2
        for part in range(self.layout.parts):
            total = None
            for pair in range(part * pairs, (part + 1) * pairs):
                factor = self.b.bitcast(self.broadcast(self.a_at, 4 * pair), V16)
                product = self.pairwise(factor, self.vector(VECTOR * pair, V16))
                total = product if total is None else self.b.add(total, product)
            self.store(total, self.out_at, part * PART)
            bits = self.broadcast(self.a_at, self.layout.a_bits + 4 * part)
            some = self.b.and_(bits, self.vector(self.layout.b_bits + VECTOR * part, V32))
            self.store(some, self.some_at, part * PART)


@intrinsic  # type: ignore[untyped-decorator]
def dots(typing: Value, lanes: Value, parts: Value, b_at: Value, a_at: Value, out_at: Value, some_at: Value) -> Value:
    """One group of one row against 16 columns.

    lanes, parts: literals. b_at, a_at: addresses of the packed groups. out_at: where the sums of each part go, 16
    int32, PART bytes from one part to the next. some_at: where its products that are not zero go, as bits, likewise.
    """
    if not all(isinstance(word, types.IntegerLiteral) for word in (lanes, parts)):
        return None
    layout = DotsLayout(lanes.literal_value, parts.literal_value)

    def codegen(context: Value, builder: Builder, signature: Value, args: Value) -> Value:
        _DotsCode(builder, layout, args[2:]).emit()
        return context.get_dummy_value()

    return types.void(lanes, parts, *[types.int64] * 4), codegen
