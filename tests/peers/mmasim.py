"""MMA-Sim (PyPI `mmasim`): its instructions and lists, the presets that are theirs, and operands of every kind.

MMA-Sim runs on PyTorch. Here tensors are made of codes' bits and results taken by their bits, so that nothing of
hwsim is between.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hwsim.formats import ExponentFormat, FloatFormat, container_dtype
from hwsim.spec import Unit

Codes = NDArray[Any]

GENERATIONS = {
    "volta": "Volta",
    "turing": "Turing",
    "ampere": "Ampere",
    "ada": "Ada Lovelace",
    "hopper": "Hopper",
    "blackwell": "Blackwell",
    "geforce-blackwell": "RTX Blackwell",
}
# What a tensor of codes is made of: the integers that hold them, and the dtype that they are seen as.
DTYPES = {
    "f64": ("int64", "float64"),
    "f32": ("int32", "float32"),
    "tf32": ("int32", "float32"),
    "f16": ("int16", "float16"),
    "bf16": ("int16", "bfloat16"),
    "e4m3": ("uint8", "float8_e4m3fn"),
    "ue4m3": ("uint8", "float8_e4m3fn"),
    "e5m2": ("uint8", "float8_e5m2"),
    "e4m3fnuz": ("uint8", "float8_e4m3fnuz"),
    "e5m2fnuz": ("uint8", "float8_e5m2fnuz"),
    "e8m0": ("uint8", "float8_e8m0fnu"),
    "e3m2": ("uint8", "uint8"),
    "e2m3": ("uint8", "uint8"),
    "e2m1": ("uint8", "uint8"),
}
UNSIGNED = {"int16": np.uint16, "int32": np.uint32, "int64": np.uint64}
AMD = {"bf16": "bf16", "f16": "f16", "xf32": "xf32", "f32": "f32", "f64": "f64", "e4m3fnuz": "fp8", "e5m2fnuz": "bf8"}
PTX_SCALES = {"e8m0": "ue8m0", "ue4m3": "ue4m3"}


@dataclass(frozen=True)
class Instruction:
    """One of MMA-Sim's operations, by what makes it."""

    module: str
    kind: str
    arch: str
    name: str

    @property
    def packed(self) -> bool:
        """Whether it takes two e2m1 codes in a byte."""
        return "mxf4" in self.name

    def made(self) -> Any:
        """The operation. Imports PyTorch, and compiles MMA-Sim's FMA once."""
        return _made(self)


@cache
def _made(of: Instruction) -> Any:
    from importlib import import_module

    return getattr(import_module(f"mmasim.{of.module}.sim"), of.kind)(of.arch, of.name)


def instruction_of(unit: Unit) -> Instruction | None:
    """The counterpart of a preset, of those that have its arithmetic one with a long K; None where MMA-Sim has none."""
    if not isinstance(unit.operands.a, FloatFormat) or unit.name.endswith("-fours"):  # another publication's rule
        return None
    a, b, result = unit.operands.a.name, unit.operands.b.name, RESULTS[unit.result.format.container_bits]
    if found := re.match(r"([a-z-]+)-mma-(?:k(\d+)-)?", unit.name):
        return _mma(unit, found[1], found[2], f"{result}.{a}.{b}")
    if unit.name.startswith("hopper-wgmma-"):
        return Instruction("nv_ptx", "WGMMA", "Hopper", f"m64n8k{_bytes_32(a)}.{result}.{a}.{b}")
    if unit.name.startswith("blackwell-tcgen05-"):
        kind = "f16" if a == "bf16" else a if a in ("f16", "tf32") else "f8f6f4"
        return Instruction("nv_ptx", "TCGen05MMA", "Blackwell", f"m64n8k{_bytes_32(a)}.kind::{kind}.{result}.{a}.{b}")
    if (found := re.match(r"blackwell-(mx\w+?)-", unit.name)) and unit.scale is not None:
        k, block = (32, 32) if found[1] == "mxf8f6f4" else (64, unit.scale.length("a"))
        scale = PTX_SCALES[unit.scale.of("a").format.name]
        name = f"m16n8k{k}.kind::{found[1]}.block{block}.f32.{a}.{b}.f32.{scale}"
        return Instruction("nv_ptx", "MMABlockScale", "RTX Blackwell", name)
    if (found := re.match(r"cdna([123])-mfma(1k)?-(?:k\d+-)?(\w+?)-", unit.name)) and not unit.name.endswith("-tree"):
        return Instruction("amd", "MFMA", f"CDNA{found[1]}", _amd(found[1], found[3], bool(found[2]), unit))
    return None


RESULTS = {16: "f16", 32: "f32", 64: "f64"}


def _bytes_32(fmt: str) -> int:
    """K of the instructions that take 32 bytes of a row."""
    return 32 * 8 // {"f16": 16, "bf16": 16, "tf32": 32}.get(fmt, 8)


def _mma(unit: Unit, arch: str, k: str | None, types: str) -> Instruction | None:
    a, addend = unit.operands.a.name, unit.operands.addend
    assert addend is not None
    eight = a not in ("f16", "bf16", "tf32", "f64")
    if eight and arch in ("hopper", "blackwell"):
        return None  # emulated through f16, which MMA-Sim does not have
    if arch == "volta" or a == "f64":
        shape = "m8n8k4"
    elif k is None:
        shape = f"m16n8k{unit.instruction.k}"
    else:
        shape = f"m16n8k{k}"
    kind = ".kind::f8f6f4" if eight and arch == "geforce-blackwell" and k is None else ""
    return Instruction("nv_ptx", "MMA", GENERATIONS[arch], f"{shape}{kind}.{types}.{addend.name}")


def _amd(generation: str, kind: str, wide: bool, unit: Unit) -> str:
    a, b, short = unit.operands.a.name, unit.operands.b.name, "-k4-" in unit.name
    if kind == "f64":
        return "f64_16x16x4_f64" if generation == "3" else "f64_16x16x4f64"
    if kind == "f32":
        return "f32_16x16x4_f32" if generation == "3" else "f32_16x16x4f32"
    if generation != "3":
        return f"f32_16x16x{16 if kind == 'f16' or wide else 8}{AMD[kind]}{'_1k' if wide else ''}"
    if kind == "xf32":
        return "f32_16x16x8_xf32"
    if kind in ("f16", "bf16"):
        return f"f32_16x16x4_4b_{kind}" if short else f"f32_16x16x16_{kind}"
    return f"f32_16x16x32_{AMD[a]}_{AMD[b]}"


def run(
    made: Instruction,
    unit: Unit,
    a: Codes,
    b: Codes,
    c: Codes,
    scale_a: Codes | None = None,
    scale_b: Codes | None = None,
) -> Codes:
    """An instruction's result codes of n dot products in a unit's formats.

    a, b: (n, K); c: (n,); scales: (n, blocks).
    """
    operands = unit.operands
    given = [_factor(operands.a.name, a, made.packed), _factor(operands.b.name, b, made.packed)]
    if operands.addend is not None:
        given.append(tensor(operands.addend.name, c))
    if unit.scale is not None and scale_a is not None and scale_b is not None:
        given += [tensor(unit.scale.of("a").format.name, scale_a), tensor(unit.scale.of("b").format.name, scale_b)]
    return bits(made.made().dpa(*given))


def _factor(fmt: str, codes: Codes, packed: bool) -> Any:
    if packed:
        pairs = codes.reshape(*codes.shape[:-1], -1, 2)
        return tensor("e2m1", pairs[..., 0] << 4 | pairs[..., 1])
    # Four bits stand in bits 5 to 2.
    return tensor(fmt, codes << 2 if fmt == "e2m1" else codes)


def tensor(fmt: str, codes: Codes) -> Any:
    """Codes as a tensor, by their bits."""
    import torch

    held, seen = DTYPES[fmt]
    plain = np.ascontiguousarray(codes.astype(np.dtype(held.replace("int", "uint") if held[0] == "i" else held)))
    return torch.from_numpy(plain.view(held).copy()).view(getattr(torch, seen))


def bits(result: Any) -> Codes:
    """A tensor's bits as unsigned integers."""
    import torch

    held = {torch.float64: torch.int64, torch.float32: torch.int32, torch.float16: torch.int16}[result.dtype]
    found: Codes = result.contiguous().view(held).numpy()
    return found.view(UNSIGNED[found.dtype.name])


SLUGS = {arch: slug for slug, arch in GENERATIONS.items()}
# From this K on, the groups of an architecture's `mma` are as long as its hardware has them: of 16 bits, and of 32.
WHOLE = {"turing": (8, 4), "ampere": (8, 4), "ada": (8, 4)}
WHOLE_LATER = (16, 8)
FNUZ = {"fp8": "e4m3fnuz", "bf8": "e5m2fnuz"}


def every_instruction() -> Iterator[Instruction]:
    """Every architecture's every shape and type, of every kind of instruction. Imports PyTorch."""
    from mmasim.amd.isa_mfma import arch_mfma_suffix
    from mmasim.nv_ptx import isa_mma, isa_tcgen05mma, isa_wgmma

    lists: dict[tuple[str, str], dict[str, list[str]]] = {
        ("nv_ptx", "MMA"): isa_mma.mma_shape_and_type,
        ("nv_ptx", "MMABlockScale"): isa_mma.mma_block_scale_shape_and_type,
        ("nv_ptx", "WGMMA"): isa_wgmma.wgmma_shape_and_type,
        ("nv_ptx", "TCGen05MMA"): isa_tcgen05mma.tcgen05mma_shape_and_type,
        ("nv_ptx", "TCGen05MMABlockScale"): isa_tcgen05mma.tcgen05mma_block_scale_shape_and_type,
        ("amd", "MFMA"): arch_mfma_suffix,
    }
    for (module, kind), architectures in lists.items():
        for arch, names in architectures.items():
            yield from (Instruction(module, kind, arch, name) for name in names)


def preset_of(instruction: Instruction) -> str:
    """The name of the preset that has an instruction's arithmetic."""
    parts = instruction.name.split(".")
    match instruction.kind:
        case "MMA":
            *_, result, a, b, addend = parts
            return _mma_preset(SLUGS[instruction.arch], parts[0], result, _pair(a, b), addend)
        case "WGMMA":
            _, result, a, b = parts
            return f"hopper-wgmma-{_pair(a, b)}-{result}"
        case "TCGen05MMA":
            _, _, result, a, b = parts
            return f"blackwell-tcgen05-{_pair(a, b)}-{result}"
        case "MMABlockScale" | "TCGen05MMABlockScale":
            _, kind, block, result, a, b, *_, scale = parts
            return _scaled(kind.removeprefix("kind::"), block, result, _pair(a, b), scale)
        case "MFMA":
            return _mfma(instruction.arch.lower(), instruction.name)
        case other:
            raise LookupError(f"no rule for {other}")


def _pair(a: str, b: str) -> str:
    return a if a == b else f"{a}x{b}"


def k_of(instruction: Instruction) -> int:
    """Products of one instruction."""
    if instruction.module == "amd":
        return int(re.search(r"_\d+x\d+x(\d+)", instruction.name)[1])  # type: ignore[index]
    return int(re.match(r"m\d+n\d+k(\d+)", instruction.name)[1])  # type: ignore[index]


def _mma_preset(arch: str, shape: str, result: str, factors: str, addend: str) -> str:
    if factors == "f64":
        return f"{arch}-mma-f64-f64"
    if shape == "m8n8k4":  # Turing's too
        return f"volta-mma-f16-{result}" + (f"-addend-{addend}" if addend != result else "")
    k = int(shape.partition("k")[2])
    if factors in ("f16", "bf16", "tf32"):
        short = k < WHOLE.get(arch, WHOLE_LATER)[factors == "tf32"]
    else:
        short = arch == "geforce-blackwell" and k < 32
    return f"{arch}-mma-{f'k{k}-' if short else ''}{factors}-{result}"


def _scaled(kind: str, block: str, result: str, factors: str, scale: str) -> str:
    if kind == "mxf4nvf4" and scale == "ue8m0":
        # With blocks of 32 it is mxf4.
        return (
            f"blackwell-mxf4-{factors}-{result}"
            if block == "block32"
            else f"blackwell-mxf4nvf4-{factors}-e8m0-{result}"
        )
    return f"blackwell-{kind}-{factors}-{result}"


def _mfma(arch: str, name: str) -> str:
    types = re.fullmatch(r"(f\d+)_\d+x\d+x(\d+)(?:_\d+b)?_?(x?b?f\w+?)(_1k)?", name)
    assert types is not None, name
    result, k, factors, wide = types.groups()
    a, _, b = factors.partition("_")
    named = _pair(FNUZ.get(a, a), FNUZ.get(b or a, b or a))
    short = arch == "cdna3" and factors in ("f16", "bf16") and int(k) < 8
    return f"{arch}-mfma{'1k' if wide else ''}-{f'k{k}-' if short else ''}{named}-{result}"


def arithmetic(instruction: Instruction) -> tuple[Any, ...]:
    """What instructions of other rows and columns, or of another architecture, have in common: operation and K."""
    made = instruction.made()
    operation = made.arithmetic_op
    settings = tuple(sorted((key, str(value)) for key, value in vars(operation).items()))
    return type(operation).__name__, settings, str(made.a_type), str(made.b_type), str(made.c_type), k_of(instruction)


Rng = np.random.Generator


@dataclass(frozen=True)
class Operands:
    """n dot products. a, b: (n, K); c: (n,); scale_a, scale_b: (n, blocks), None of an unscaled unit. Codes."""

    a: Codes
    b: Codes
    c: Codes
    scale_a: Codes | None = None
    scale_b: Codes | None = None


def join(parts: list[Operands]) -> Operands:
    """All rows, one part after the other."""
    names = ("a", "b", "c", "scale_a", "scale_b")
    columns = {name: [getattr(part, name) for part in parts] for name in names}
    return Operands(**{name: None if each[0] is None else np.concatenate(each) for name, each in columns.items()})


def uniform(fmt: Any, shape: tuple[int, ...], rng: Rng) -> Codes:
    """Any codes, special ones included."""
    if isinstance(fmt, ExponentFormat):
        return rng.integers(0, 1 << fmt.bits, shape).astype(np.uint8)
    return rng.integers(0, 1 << fmt.bits, shape, np.uint64).astype(container_dtype(fmt)) << fmt.padding


def numbers(fmt: FloatFormat, exps: Codes, rng: Rng) -> Codes:
    """Numbers of these exponents, as near as the format has them, of any fraction and sign. Subnormals below."""
    most = fmt.max_magnitude >> fmt.fraction_bits
    field = np.clip(exps + fmt.bias, 0, most)
    magnitude = np.minimum(field << fmt.fraction_bits | _fraction(fmt, exps.shape, rng), fmt.max_magnitude)
    return magnitude.astype(container_dtype(fmt)) << fmt.padding | signs(fmt, exps.shape, rng)


def signs(fmt: FloatFormat, shape: tuple[int, ...], rng: Rng) -> Codes:
    """Zeros of both signs, where the format has signs."""
    sign = np.array(fmt.sign_bit << fmt.padding if fmt.signed else 0, container_dtype(fmt))
    return np.where(rng.integers(0, 2, shape) == 1, sign, 0 * sign)


def _fraction(fmt: FloatFormat, shape: tuple[int, ...], rng: Rng) -> Codes:
    """Fractions, half of them with few bits."""
    any_one = rng.integers(0, 1 << fmt.fraction_bits, shape)
    few = any_one & rng.integers(0, 1 << fmt.fraction_bits, shape) & rng.integers(0, 1 << fmt.fraction_bits, shape)
    return np.where(rng.random(shape) < 0.5, any_one, few)


def negated(fmt: FloatFormat, codes: Codes) -> Codes:
    """The same with the other sign."""
    return codes ^ codes.dtype.type(fmt.sign_bit << fmt.padding)


class Drawn:
    """Draws of one unit. n: dot products of each kind. k: products of each."""

    def __init__(self, unit: Unit, n: int, rng: Rng, k: int):
        self.unit, self.n, self.rng, self.k = unit, n, rng, k
        operands = unit.operands
        self.formats: tuple[Any, Any, Any] = (operands.a, operands.b, operands.addend)
        self.shapes = ((n, self.k), (n, self.k), (n,))

    def of(self, spread: float, centre: int = 0, c: Codes | None = None, *, scales: int | None = 0) -> Operands:
        """Numbers of exponents about a centre. scales: about which scales' exponents are, or None for any codes."""
        a, b, addend = (
            numbers(fmt, np.rint(self.rng.normal(centre, spread, shape)).astype(np.int64), self.rng)
            for fmt, shape in zip(self.formats, self.shapes, strict=True)
        )
        return Operands(a, b, addend if c is None else c, *self.scales(scales))

    def scales(self, exp: int | Codes | None = 0, spread: int = 2) -> tuple[Codes | None, Codes | None]:
        """Scales of each side, about 2^exp, or of any codes."""
        scale = self.unit.scale
        if scale is None:
            return None, None
        drawn = []
        for side in ("a", "b"):
            fmt, shape = scale.of(side).format, (self.n, self.k // scale.length(side))
            if exp is None:
                drawn.append(uniform(fmt, shape, self.rng))
                continue
            exps = np.broadcast_to(np.asarray(exp).reshape(-1, 1), shape) + self.rng.integers(
                -spread, spread + 1, shape
            )
            if isinstance(fmt, ExponentFormat):
                drawn.append(np.clip(exps + fmt.bias, fmt.min_code, fmt.max_code).astype(np.uint8))
            else:
                drawn.append(numbers(fmt, exps, self.rng))
        return drawn[0], drawn[1]

    def any(self) -> Operands:
        """Any codes, most of which are numbers where a format has few others."""
        a, b, c = (uniform(fmt, shape, self.rng) for fmt, shape in zip(self.formats, self.shapes, strict=True))
        return Operands(a, b, c, *self.scales(None if self.rng.random() < 0.5 else 0))

    def normal(self) -> Operands:
        """Numbers as of data."""
        return self.of(1.5)

    def cancelling(self) -> Operands:
        """Narrow exponents; products have their opposites beside them, in some rows nearly all."""
        drawn = self.of(0.6)
        self._opposed(drawn, self.rng.choice([0.7, 0.95, 1.0], (self.n, 1)))
        return drawn

    def _opposed(self, drawn: Operands, share: Codes | float) -> None:
        """That share of the products in odd lanes becomes the opposite of the one before."""
        at = self.rng.random((self.n, self.k // 2)) < share
        drawn.a[:, 1::2] = np.where(at, negated(self.formats[0], drawn.a[:, ::2]), drawn.a[:, 1::2])
        drawn.b[:, 1::2] = np.where(at, drawn.b[:, ::2], drawn.b[:, 1::2])

    def zeros(self) -> Operands:
        """Many zeros of both signs, in factors and addends."""
        drawn = self.of(4)
        for fmt, codes in zip(self.formats, (drawn.a, drawn.b, drawn.c), strict=True):
            codes[...] = np.where(self.rng.random(codes.shape) < 0.6, signs(fmt, codes.shape, self.rng), codes)
        sign_bit = self.formats[0].sign_bit << self.formats[0].padding
        drawn.a[self.rng.random(self.n) < 0.3] &= drawn.a.dtype.type(sign_bit)
        return drawn

    def extremes(self) -> Operands:
        """The largest and the least numbers."""
        a, b, c = (
            numbers(fmt, np.where(self.rng.random(shape) < 0.5, fmt.emax, fmt.emin - 1), self.rng)
            for fmt, shape in zip(self.formats, self.shapes, strict=True)
        )
        return Operands(a, b, c, *self.scales(None))

    def with_addend(self, magnitudes: Callable[[FloatFormat], list[int]]) -> Operands:
        """Addends of these magnitudes in both signs, beside products of any size that a format has."""
        fmt = self.formats[2]
        c = self.rng.choice(np.array(magnitudes(fmt), container_dtype(fmt)), self.n) << fmt.padding
        return self.of(6, c=c | signs(fmt, c.shape, self.rng))

    def scaled(self) -> Operands:
        """Any scales; numbers of any exponents where there are none."""
        return self.of(2 if self.unit.scale is not None else 30, scales=None)

    def deep(self) -> Operands:
        """Few products, around the exponents at which zero terms count, with opposites; the addend 0 or tiny."""
        n, k, rng, (a, b, addend) = self.n, self.k, self.rng, self.formats
        least = {16: -20, 32: -132, 64: -1050}[self.unit.result.format.container_bits]
        target = least + rng.integers(-32, 6, (n, 1))
        if self.unit.scale is None:
            exps_a = np.repeat(target // 2 + rng.integers(-8, 9, (n, 1)), k, axis=1)
            exps_b = target - exps_a - rng.integers(0, 20, (n, k))
        else:
            exps_a, exps_b = rng.integers(-1, 3, (2, n, k))
        c = np.where(rng.random(n) < 0.7, 0, rng.integers(0, 4, n)).astype(container_dtype(addend))
        drawn = Operands(numbers(a, exps_a, rng), numbers(b, exps_b, rng), c, *self.scales(target[:, 0] // 2, 3))
        drawn.a[rng.random((n, k)) < rng.random((n, 1))] = 0
        self._opposed(drawn, 0.3)
        return drawn

    def floor(self) -> Operands:
        """Sums at a number or a midpoint of the result, and a term so small that a floor of max_exp may cut it off."""
        n, rng, result = self.n, self.rng, self.unit.result
        a, b, c = (np.zeros(shape, container_dtype(fmt)) for fmt, shape in zip(self.formats, self.shapes, strict=True))
        at = np.full(n, result.format.emin - result.format.fraction_bits)
        scale_a, scale_b = self.scales()
        if self.unit.scale is None or scale_a is None or scale_b is None:
            at += rng.integers(-(result.rounding == "rne"), 2, n)
            products = ((0, at), (min(1, self.k - 1), at - rng.integers(9, 27, n)))
        else:
            # Sixteen products of 2^4 under the first scales, and a small one under the last.
            at -= 8
            last = at - (rng.integers(16, 28, n) if scale_a.shape[1] > 1 else 0)
            for exps, block in ((at, 0), (last, -1)):
                for codes, half in ((scale_a, exps // 2), (scale_b, exps - exps // 2)):
                    codes[:, block] = np.clip(half + 127, 0, 254)
            products = (*((lane, np.full(n, 4)) for lane in range(16)), (self.k - 1, -2 - rng.integers(0, 12, n)))
        sign = signs(self.formats[0], (n,), rng)
        for lane, exps in products:
            half = exps // 2
            a[:, lane], b[:, lane] = self._powers(0, half), self._powers(1, exps - half)
            a[:, lane] |= (
                sign if lane < self.k - 1 and self.unit.scale is not None else signs(self.formats[0], (n,), rng)
            )
        return Operands(a, b, c, scale_a, scale_b)

    def _powers(self, side: int, exps: Codes) -> Codes:
        """Powers of two, as near as a factor's format has them."""
        fmt = self.formats[side]
        codes: Codes = fmt.encode(np.ldexp(1.0, np.clip(exps, fmt.quantum_exp, fmt.emax)))
        return codes


def _tiny(fmt: FloatFormat) -> list[int]:
    hidden = 1 << fmt.fraction_bits
    return [1, 2, 3, hidden - 1, hidden, hidden + 1, 5 * hidden]


def _huge(fmt: FloatFormat) -> list[int]:
    return [fmt.max_magnitude, fmt.max_magnitude - 1, fmt.max_magnitude >> fmt.fraction_bits << fmt.fraction_bits]


KINDS: dict[str, Callable[[Drawn], Operands]] = {
    "any codes": Drawn.any,
    "normal": Drawn.normal,
    "cancelling": Drawn.cancelling,
    "zeros": Drawn.zeros,
    "extremes": Drawn.extremes,
    "addend zero": lambda drawn: drawn.with_addend(lambda fmt: [0]),
    "addend tiny": lambda drawn: drawn.with_addend(_tiny),
    "addend huge": lambda drawn: drawn.with_addend(_huge),
    "addend infinite": lambda drawn: drawn.with_addend(lambda fmt: [fmt.infinity_magnitude or 0]),
    "addend NaN": lambda drawn: drawn.with_addend(lambda fmt: [(fmt.infinity_magnitude or 0) + 1, fmt.sign_bit - 1]),
    "scales": Drawn.scaled,
    "deep": Drawn.deep,
    "floor": Drawn.floor,
}


def drawn(unit: Unit, count: int, seed: int, k: int | None = None) -> Operands:
    """`count` dot products or a few more, as many of each kind. k: products of each; None for an instruction's."""
    rng = np.random.default_rng([seed, *unit.name.encode()])
    each = Drawn(unit, -(-count // len(KINDS)), rng, k or unit.instruction.k)
    return join([draw(each) for draw in KINDS.values()])
