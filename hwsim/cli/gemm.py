"""`hwsim gemm`: a matrix product of arrays in files, checked, computed and written part by part."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

from hwsim.base.arrays import WORD, to_words, words_of
from hwsim.base.errors import InputError, InputTypeError
from hwsim.base.files import refuse_strangers, written
from hwsim.base.resources import Cost, demand_disk
from hwsim.cli import arguments as complete
from hwsim.cli.app import app
from hwsim.cli.arguments import FILE, UnitName
from hwsim.cli.output import announce, say
from hwsim.cli.progress import Progress, interruptible
from hwsim.compute.gemm import gemm as multiply
from hwsim.compute.kernels import supports
from hwsim.compute.kernels.tiles import threads
from hwsim.compute.products import chosen
from hwsim.formats import Format
from hwsim.formats.blocks import scale_shape
from hwsim.formats.codes import Codes
from hwsim.model.definition import definition_of
from hwsim.quantize import get_rule
from hwsim.quantize.layouts import packed_factor
from hwsim.quantize.tensors import (
    NUMBERS,
    MatrixOperand,
    StoredArray,
    are_codes,
    codes,
    codes_shape,
    multiplies,
    operand_codes,
    quantized,
    read,
    refusal,
    suited,
    suits,
)
from hwsim.spec import SparseUnit, Unit, load_one, load_sparse, load_unit
from hwsim.spec.arguments import Shape, check_broadcast, matrix_shape, result_dtype
from hwsim.spec.plan import Number, ProductPlan, load_plan

# The size of a part of the result: bytes, and at least so many rows, because each part prepares B again.
PART, ROWS = 1 << 24, 1024
# Products a second, of a core where they are compiled.
BY_MODEL, COMPILED = 3e5, 1e9


class GivenFactor(NamedTuple):
    """A factor, and its scales, or the name of the rule that quantises its numbers; codes have no rule.

    key: `a` or `b`, as the specification calls it.
    """

    key: Literal["a", "b"]
    stored: StoredArray
    scale: StoredArray | None
    rule: str | None


class Given(NamedTuple):
    """The arrays that a product is computed from; numbers: what steps of a plan take."""

    unit: Unit
    a: GivenFactor
    b: GivenFactor
    c: StoredArray | None
    plan: ProductPlan | None = None
    numbers: Mapping[Number, Any] = {}

    @property
    def shape(self) -> Shape:
        """The result's shape. Raises ValueError, naming the file, for factors that do not fit."""
        files = f"{self.a.stored.name}: ", f"{self.b.stored.name}: "
        return matrix_shape(self.unit, self.a.stored.shape, self.b.stored.shape, files)


class MatrixProduct(NamedTuple):
    """A product, ready to be computed. c: the addends' codes, or None; numbers: what steps of a plan take."""

    unit: Unit
    a: MatrixOperand
    b: MatrixOperand
    c: Codes | None
    shape: Shape
    plan: ProductPlan | None = None
    numbers: Mapping[Number, Any] = {}

    @property
    def products(self) -> int:
        """The number of products in all sums."""
        return math.prod(self.shape) * int(self.a.codes.shape[-1])

    @property
    def by_model(self) -> bool:
        """True if the model computes it; otherwise compiled code does, even for small parts."""
        return chosen(self.unit, self.products, self.a.codes.shape[-1]) is None

    def parts(self) -> Iterator[slice]:
        """Slices of the rows that are computed at once, of equal height except the last."""
        m, n = self.shape[-2:]
        most = max(ROWS, PART // max(n * self.dtype.itemsize, 1))
        across = self.unit.scale.a.block[0] if self.unit.scale else 1
        height = -(-m // max(-(-m // most) * across, 1)) * across
        return (slice(first, min(first + height, m)) for first in range(0, m, max(height, 1)))

    @property
    def long_words(self) -> int:
        """Words of 64 bits of a result that has more bits than one, as a file has it; else 0."""
        return words_of(self.unit.output.container_bits) if self.dtype == object else 0

    @property
    def dtype(self) -> np.dtype[Any]:
        """The result's dtype: that of `hwsim.gemm`, or float32 where it is multiplied by scales."""
        if self.a.factor is not None or self.b.factor is not None:
            return np.dtype(np.float32)
        return result_dtype(self.unit.output if self.plan is None else self.plan.output(self.unit))


def unpacked(unit: Unit, key: Literal["a", "b"], stored: StoredArray, packed: str, axis: int) -> StoredArray:
    """A factor's array with a code in each element, where `packed` names it; axis: that of K."""
    if key not in packed:
        return stored
    fmt, label = unit.operands.factor(key), f"{stored.name}: {key.upper()}"
    return stored._replace(array=packed_factor(stored.array, fmt, label, axis))


def swapped(stored: StoredArray, fmt: Format | None) -> StoredArray:
    """An array with its last two axes swapped, without a copy.

    fmt: of codes, whose words may have an axis of their own; None for others. Raises ValueError, naming the file, for
    one that has fewer axes.
    """
    words = fmt is not None and fmt.container_bits > WORD
    if stored.array.ndim < 2 + words:
        raise InputError(f"{stored.name}: must have two axes or more to be transposed, not {stored.array.ndim - words}")
    array = stored.array.swapaxes(-2, -3) if words else stored.array.swapaxes(-1, -2)
    return stored._replace(array=np.ascontiguousarray(array) if words else array)


def check(given: Given) -> None:
    """Raise ValueError or TypeError, naming file or option, for shapes, dtypes and rules that do not go together."""
    unit, shape = given.unit, given.shape
    for factor in (given.a, given.b):
        _check_rule(unit, factor)
        _check_scale(unit, factor, shape[:-2])
    if given.c is None:
        return
    if unit.operands.addend is None:
        raise InputError(f"{given.c.name}: C must be left out, because {unit.name} has operands.addend none")
    check_broadcast(f"{given.c.name}: C", codes_shape(unit.operands.addend, given.c), shape)
    for factor in (given.a, given.b):
        if factor.rule is not None and multiplies(unit, get_rule(factor.rule)):
            raise InputError(
                f"--addend must be left out with {factor.rule}: {unit.name} would add it to the codes' products, "
                "which the scales multiply afterwards"
            )


def _check_rule(unit: Unit, factor: GivenFactor) -> None:
    fmt, what, stored, name = unit.operands.factor(factor.key), factor.key.upper(), factor.stored, factor.rule
    if are_codes(fmt, stored):
        return
    if name is None:
        rules = suited(unit, factor.key)
        hint = f"; --quantize RULE quantises it: {', '.join(rules)}" if rules else ""
        raise InputTypeError(f"{stored.name}: {what} is {stored.kind}, not codes of {fmt.name}{hint}")
    if stored.kind not in NUMBERS:
        raise InputTypeError(
            f"{stored.name}: {what} must be one of {', '.join(sorted(NUMBERS))} to be quantised, not {stored.kind}"
        )
    rule = get_rule(name)
    if not suits(unit, factor.key, rule):
        raise InputError(f"{stored.name}: {refusal(unit, factor.key, name, rule)}")
    if factor.scale is not None:
        raise InputError(f"--scale-{factor.key} must be left out, because {name} finds the scales of {what}")


def _check_scale(unit: Unit, factor: GivenFactor, batch: Shape) -> None:
    what, stored, scale = f"scale_{factor.key}", factor.stored, factor.scale
    if unit.scale is None:
        if scale is not None:
            raise InputError(f"{scale.name}: {what} must be left out, because {unit.name} has scale none")
        return
    of = unit.scale.of(factor.key)
    shape = scale_shape(stored.shape[-2], stored.shape[-1], of.block)
    if scale is not None:
        check_broadcast(f"{scale.name}: {what}", scale.shape, (*batch, *shape))
    elif factor.rule is None:
        raise InputError(
            f"--scale-{factor.key} is missing: {unit.name} takes a scale in {of.format.name} for every block, "
            f"shape {shape}"
        )


def product(given: Given, allow_nan: bool) -> MatrixProduct:
    """A product, ready to be computed, with numbers quantised. given: checked. allow_nan: as in `quantized`."""
    unit, c = given.unit, None
    a, b = (_operand(unit, factor, allow_nan) for factor in (given.a, given.b))
    if given.c is not None and unit.operands.addend is not None:
        c = codes(unit.operands.addend, given.c, "C")
    return MatrixProduct(unit, a, b, c, given.shape, given.plan, given.numbers)


def cost(given: Given) -> Cost:
    """The cost of a product: the codes of both factors in memory, and the time of compiled code, or of the model."""
    unit, m_n = given.unit, given.shape
    k = int(given.a.stored.shape[-1])
    products = math.prod(m_n) * k
    memory = 2 * sum(factor.stored.array.size for factor in (given.a, given.b)) + PART
    rate = COMPILED * threads() if supports(unit) else BY_MODEL
    return Cost(f"a product of {' x '.join(map(str, m_n))} with K {k:,}", memory, products / rate)


def _operand(unit: Unit, factor: GivenFactor, allow_nan: bool) -> MatrixOperand:
    """A factor as codes and scales, quantised if it holds numbers."""
    if factor.rule is not None:
        return quantized(unit, factor.key, factor.stored, get_rule(factor.rule), allow_nan)
    scales = None
    if factor.scale is not None and unit.scale is not None:
        scales = codes(unit.scale.of(factor.key).format, factor.scale, f"scale_{factor.key}")
    return MatrixOperand(codes(unit.operands.factor(factor.key), factor.stored, factor.key.upper()), scales)


def write(product: MatrixProduct, file: BinaryIO, progress: Callable[[int], None]) -> None:
    """Compute a product, and write it as a .npy file, part by part.

    Codes of more than 64 bits are written as words of 64, the low one first, in a last axis.
    """
    long, dtype = product.long_words, np.dtype(np.uint64) if product.long_words else product.dtype
    shape = (*product.shape, long) if long else product.shape
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    batch = product.shape[:-2]
    a, b = (_batched(side, batch) for side in (product.a, product.b))
    c = None if product.c is None else np.broadcast_to(product.c, product.shape)
    for index in np.ndindex(*batch):
        for rows in product.parts():
            of_a = _rows(a, index, rows, product.unit)
            of_b, of_c = (None if array is None else array[index] for array in (b.scales, c))
            beside: dict[str, Any] = {
                "C": None if of_c is None else of_c[rows],
                "scale_a": of_a.scales,
                "scale_b": of_b,
            }
            for name, value in product.numbers.items():
                beside["C" if name == "c" else name] = rows_of(name, value, rows)
            results = multiply(product.unit, of_a.codes, b.codes[index], **beside, plan=product.plan, progress=progress)
            scaled = _multiplied(product.unit, results, of_a.factor, None if b.factor is None else b.factor[index])
            file.write(np.ascontiguousarray(to_words(scaled, long) if long else scaled).data)


def rows_of(name: Number, value: Any, rows: slice) -> Any:
    """The part of a plan's number that belongs to some rows of a matrix."""
    array = np.asarray(value)
    return array[rows] if name in ("scale_a", "c") and array.ndim == 2 and len(array) > 1 else value


def _batched(operand: MatrixOperand, batch: Sequence[int]) -> MatrixOperand:
    def to_batch(array: NDArray[Any]) -> NDArray[Any]:
        return np.broadcast_to(array, (*batch, *array.shape[-2:]))

    scales, factor = (None if array is None else to_batch(array) for array in (operand.scales, operand.factor))
    return MatrixOperand(to_batch(operand.codes), scales, factor)


def _rows(a: MatrixOperand, at: Shape, rows: slice, unit: Unit) -> MatrixOperand:
    """Some rows of a matrix in a batch; they begin where a block of scales begins."""
    scales, factor = (None if array is None else array[at] for array in (a.scales, a.factor))
    if scales is not None and unit.scale is not None:
        across = unit.scale.a.block[0]
        scales = scales[rows.start // across : -(-rows.stop // across)]
    if factor is not None and len(factor) > 1:
        factor = factor[rows]
    return MatrixOperand(a.codes[at][rows], scales, factor)


def _multiplied(unit: Unit, results: NDArray[Any], *factors: NDArray[np.float32] | None) -> NDArray[Any]:
    """Results times their scales, with every product in binary32, to nearest even; unchanged without scales."""
    present = [factor for factor in factors if factor is not None]
    if not present:
        return results
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        values = results if results.dtype.kind == "f" else unit.output.decode(results)
        scale = present[0] if len(present) == 1 else present[0] * present[1]
        return np.multiply(values.astype(np.float32), scale)


@app.command()
def gemm(
    unit: UnitName,
    a: Annotated[str, typer.Argument(metavar="A", help=f"(..., M, K): {FILE}.")],
    b: Annotated[str, typer.Argument(metavar="B", help="(..., K, N), in the same way.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="D.npy", help="Where the result goes.")],
    addend: Annotated[
        str | None, typer.Option(metavar="C", help="(..., M, N), added by the unit; +0 unless given.")
    ] = None,
    scale_a: Annotated[
        str | None, typer.Option(metavar="FILE", help="The shared scales of A: codes, or float32.")
    ] = None,
    scale_b: Annotated[str | None, typer.Option(metavar="FILE", help="Those of B.")] = None,
    quantize: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="How floats become codes and scales: a rule of hwsim.quantize.",
            autocompletion=complete.rules,
        ),
    ] = None,
    quantize_b: Annotated[
        str | None,
        typer.Option(metavar="RULE", help="The same of B, where it is another.", autocompletion=complete.rules),
    ] = None,
    transposed: Annotated[
        bool, typer.Option("--transposed", help="B is (..., N, K), as layers keep weights, and its scales lie so too.")
    ] = False,
    packed: Annotated[
        str, typer.Option(metavar="a|b|ab", help="Factors of FP4 or FP6 codes without gaps, in bytes along K.")
    ] = "",
    allow_nan: Annotated[
        bool, typer.Option("--allow-nan", help="Quantise NaNs and infinities as the rule says; else they are refused.")
    ] = False,
    plan: Annotated[
        Path | None, typer.Option(metavar="PLAN.yaml", help="How a library cuts K, adds, scales and rounds.")
    ] = None,
    bias: Annotated[str | None, typer.Option(metavar="FILE", help="(N,) floats that a plan's step adds.")] = None,
    alpha: Annotated[float | None, typer.Option(help="A number of a plan's steps.")] = None,
    beta: Annotated[float | None, typer.Option(help="Another.")] = None,
    metadata: Annotated[
        str | None, typer.Option(metavar="FILE", help="Of a sparse unit: an index for each factor that A keeps.")
    ] = None,
) -> None:
    """Multiply matrices in files: A @ B + C, every element bit for bit as the unit returns it.

    \b
    hwsim gemm hopper-wgmma-e4m3-f32 a.npy b.npy -o d.npy
    hwsim gemm hopper-wgmma-e4m3-f32 model.safetensors:x model.safetensors:w -o d.npy --addend c.npy
    hwsim gemm mxfp8-e4m3-f32 a.npy b.npy -o d.npy --scale-a scales.npz:a --scale-b scales.npz:b
    hwsim gemm mxfp8-e4m3-f32 x.npy w.npy -o d.npy --quantize mxfp8-e4m3
    hwsim gemm deepseek-v3-e4m3-f32-scaled x.npy w.npy -o d.npy --quantize deepseek-v3-1x128
        --quantize-b deepseek-v3-128x128
    hwsim gemm hopper-wgmma-e4m3-f32 x.npy w.npy -o d.npy --quantize tensor-e4m3
    hwsim gemm hopper-wgmma-e4m3-f32 a.npy b.npy -o d.npy --plan plan.yaml --scale-a 0.37 --scale-b 1.9
    hwsim gemm blackwell-mxf4nvf4-e2m1-f32 x.npy layer.safetensors:weight -o d.npy --packed ab --transposed
        --scale-a xs.npy --scale-b layer.safetensors:weight_scale
    hwsim gemm hopper-wgmma-sp-e4m3-f32 kept.npy b.npy -o d.npy --metadata metadata.npy

    \b
    Integers are codes, and floats of the format's own dtype (F8_E4M3, F8_E5M2, BF16, F16, F32) too, by their bits.
    Other floats are quantised along K by a rule, whose scales the unit takes. One scale of a matrix, a row of A or a
    column of B that it does not take multiplies the result: D = RNE(d * RNE(scale_a * scale_b)), in binary32.
    Packed codes are two of FP4 a byte, the first in the low bits, or four of FP6 in three bytes.
    D is float32 or float16, or the codes of another result format. As many threads compute as NUMBA_NUM_THREADS says.
    """
    if isinstance(sparse := load_one(unit), SparseUnit) or metadata is not None:
        others: dict[str, Any] = {
            "--scale-a": scale_a,
            "--scale-b": scale_b,
            "--quantize": quantize,
            "--quantize-b": quantize_b,
            "--allow-nan": allow_nan or None,
        }
        others |= {"--plan": plan, "--bias": bias, "--alpha": alpha, "--beta": beta, "--packed": packed or None}
        _multiply_sparse(load_sparse(sparse), a, b, addend, metadata, others, output, transposed)
        return
    specified = load_unit(unit)
    definition_of(specified)
    if output.suffix != ".npy" or output.is_dir():
        raise InputError(f"--output must be a .npy file, not {output}")
    stored, loaded = (read(a), read(b)), None if plan is None else load_plan(plan)
    named: dict[Number, Any] = {"scale_a": scale_a, "scale_b": scale_b, "c": addend, "bias": bias}
    numbers = _numbers(loaded, {**named, "alpha": alpha, "beta": beta}, quantize or quantize_b)
    given_to_unit = (None if name in numbers else named[name] for name in ("c", "scale_a", "scale_b"))
    c, *scales = (None if name is None else read(name) for name in given_to_unit)
    for array in (*stored, c, *scales):
        if array is not None and output.exists() and output.samefile(array.path):
            raise InputError(f"--output {output} is where {array.name} is read from: name another file")
    refuse_strangers(output)
    if packed not in ("", "a", "b", "ab"):
        raise InputError(f"--packed must be a, b or ab, the factors that are, not {packed}")
    stored = unpacked(specified, "a", stored[0], packed, -1), stored[1]
    stored = stored[0], unpacked(specified, "b", stored[1], packed, -1 if transposed else -2)
    if transposed:
        stored = stored[0], swapped(stored[1], specified.operands.b)
        scales[1] = None if scales[1] is None else swapped(scales[1], None)
    rules = _rules(specified, stored, quantize, quantize_b)
    of_a = GivenFactor("a", stored[0], scales[0], rules[0])
    inputs = Given(specified, of_a, GivenFactor("b", stored[1], scales[1], rules[1]), c, loaded, numbers)
    check(inputs)
    announce(cost(inputs))
    with interruptible(), Progress("reading", products=True) as bar:
        ready = product(inputs, allow_nan)
        by = "the model, element by element" if ready.by_model else "compiled code"
        bar.plan(ready.products, "multiplying")
        demand_disk(output, math.prod(ready.shape) * ready.dtype.itemsize * max(ready.long_words, 1))
        started = time.monotonic()
        try:
            with written(output) as file:
                write(ready, file, bar.advance)
        except OSError as error:
            error.filename = str(output)  # not the scratch file beside it
            raise
        seconds = time.monotonic() - started
    _say_rules(inputs)
    shape, rate = " x ".join(map(str, ready.shape)), float(f"{ready.products / max(seconds, 1e-9):.3g}")
    speed = f"{ready.products:,} products in {seconds:,.2f} s, {rate:,.0f} a second"
    kind = f"codes of {specified.output.container_bits} bits" if ready.dtype == object else ready.dtype.name
    say(f"{output}: {shape} {kind}, {speed}, by {by}")


def _multiply_sparse(
    unit: SparseUnit, a: str, b: str, addend: str | None, metadata: str | None, others: Mapping[str, Any],
    output: Path, transposed: bool,
) -> None:  # fmt: skip
    """Multiply by a sparse unit, whose matrices are read as a whole. others: what it does not take."""
    if metadata is None:
        raise InputError(f"--metadata is missing: {unit.name} is sparse")
    for name in (name for name, value in others.items() if value is not None):
        raise InputError(f"{name} does not go with a sparse unit")
    if output.suffix != ".npy" or output.is_dir():
        raise InputError(f"--output must be a .npy file, not {output}")
    stored = [read(name) for name in (a, b, addend, metadata) if name is not None]
    for array in stored:
        if output.exists() and output.samefile(array.path):
            raise InputError(f"--output {output} is where {array.name} is read from: name another file")
    refuse_strangers(output)
    given = {"a": a, "b": b, "c": addend}
    A, B, C = (None if file is None else operand_codes(unit.dense, name, file) for name, file in given.items())
    with interruptible(), Progress("multiplying", products=True) as bar:
        result = multiply(
            unit, A, B, C, metadata=stored[-1].array, transposed=transposed, progress=bar.advance
        )  # fmt: skip
        with written(output) as file:
            np.save(file, result)
    say(f"{output}: {' x '.join(map(str, result.shape))} {result.dtype.name}")


def _numbers(plan: ProductPlan | None, given: Mapping[Number, Any], rule: str | None) -> dict[Number, Any]:
    """The numbers that the steps of a plan take: as they are typed, or arrays in files."""
    if plan is None:
        for name in ("bias", "alpha", "beta"):
            if given[name] is not None:
                raise InputError(f"--{name} must be left out without a --plan that takes it")
        return {}
    if rule is not None:
        raise InputError(
            f"--quantize must be left out with --plan, whose steps multiply by scales: quantise before, by {rule}"
        )
    return {name: _number(given[name]) for name in plan.numbers if given[name] is not None}


def _number(given: str | float) -> Any:
    try:
        return float(given)
    except ValueError:
        return read(str(given)).array


def _rules(
    unit: Unit, stored: tuple[StoredArray, StoredArray], quantize: str | None, quantize_b: str | None
) -> tuple[str | None, str | None]:
    """The rules of a and of b; None for codes, which need none. Raises ValueError for a rule that is not used."""
    for rule in (quantize, quantize_b):
        if rule is not None:
            get_rule(rule)
    rule_a = None if are_codes(unit.operands.a, stored[0]) else quantize
    rule_b = None if are_codes(unit.operands.b, stored[1]) else quantize_b or quantize
    for option, rule in (("--quantize-b", quantize_b), ("--quantize", quantize)):
        if rule is not None and rule not in (rule_a, rule_b):
            raise InputError(
                f"{option} {rule} finds nothing to quantise: codes, and floats of the format's own dtype, are taken as "
                "they are"
            )
    return rule_a, rule_b


def _say_rules(given: Given) -> None:
    """Print the rules that were applied, and whether their scales multiplied the result."""
    for factor in (given.a, given.b):
        if factor.rule is not None:
            left = "; the result was multiplied by its scale" if multiplies(given.unit, get_rule(factor.rule)) else ""
            say(f"{factor.stored.name}: quantised by {factor.rule}{left}")
