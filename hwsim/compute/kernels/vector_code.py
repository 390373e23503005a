"""Vectors of 512 bits in LLVM's own language, of which it makes what the processor has: 16 columns of 32 bits each."""

from __future__ import annotations

from typing import Any, TypeAlias

from llvmlite import ir

# llvmlite and Numba, whose builders, values and types these are, say no types.
Builder: TypeAlias = Any
Value: TypeAlias = Any
Kind: TypeAlias = Any

COLUMNS = 16
I8, I16, I32, I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
V8, V16, V32 = ir.VectorType(I8, 64), ir.VectorType(I16, 32), ir.VectorType(I32, 16)
VECTOR = 64


class VectorCode:
    """Code that reads vectors of columns at one address. Methods write instructions, and return what they compute."""

    def __init__(self, builder: Builder, b_at: Value):
        self.b, self.b_at = builder, b_at

    def pairwise(self, x: Value, y: Value) -> Value:
        """x0 y0 + x1 y1 of every two lanes of 16 bits: one instruction where there is one."""
        even = ir.Constant(ir.VectorType(I32, 16), list(range(0, 32, 2)))
        odd = ir.Constant(ir.VectorType(I32, 16), list(range(1, 32, 2)))
        wide = ir.VectorType(I32, 32)
        product = self.b.mul(self.b.sext(x, wide), self.b.sext(y, wide))
        return self.b.add(self.b.shuffle_vector(product, product, even), self.b.shuffle_vector(product, product, odd))

    def splat(self, kind: Kind, value: int) -> Value:
        """The same number in every lane."""
        return ir.Constant(kind, [value] * kind.count)

    def broadcast(self, at: Value, offset: int) -> Value:
        """One 32-bit word in every column."""
        return self.in_columns(self.load(at, offset, I32))

    def in_columns(self, word: Value) -> Value:
        """A 32-bit word in every column."""
        empty = ir.Constant(V32, ir.Undefined)
        first = self.b.insert_element(empty, word, ir.Constant(I32, 0))
        return self.b.shuffle_vector(first, empty, ir.Constant(V32, [0] * 16))

    def vector(self, offset: int, kind: Kind) -> Value:
        return self.load(self.b_at, offset, kind)

    def load(self, at: Value, offset: int, kind: Kind) -> Value:
        loaded = self.b.load(self.pointer(at, offset, kind))
        loaded.align = 1
        return loaded

    def store(self, value: Value, at: Value, offset: int) -> None:
        """Write a value to an address."""
        self.b.store(value, self.pointer(at, offset, value.type)).align = 1

    def pointer(self, at: Value, offset: int, kind: Kind) -> Value:
        return self.b.inttoptr(self.b.add(at, ir.Constant(I64, offset)), kind.as_pointer())

    def call(self, name: str, x: Value, y: Value) -> Value:
        """LLVM's own function of two vectors, as smax."""
        kind = x.type
        full = f"llvm.{name}.v{kind.count}i{kind.element.width}"
        module = self.b.module
        if full not in module.globals:
            ir.Function(module, ir.FunctionType(kind, [kind, kind]), full)
        return self.b.call(module.globals[full], [x, y])
