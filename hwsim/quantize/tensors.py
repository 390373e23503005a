"""Matrices quantised part by part for a unit, and the scales that are left to multiply its result by."""

from __future__ import annotations

import difflib
import io
import json
import lzma
import math
import re
import struct
import sys
import tokenize
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hwsim.base.arrays import WORD, from_words, words_of
from hwsim.base.errors import InputError, InputTypeError
from hwsim.base.files import named
from hwsim.base.resources import Cost
from hwsim.formats import Format, codes_of, container_dtype, get_format, own_dtype
from hwsim.formats.blocks import BlockScale, scale_shape
from hwsim.formats.codes import Codes
from hwsim.quantize import Apply, Rule, TensorScale, quantize, rules
from hwsim.quantize.rule import is_f32
from hwsim.spec import Unit

# What NumPy and zipfile raise of files that are not what they seem.
UNREADABLE = (
    ValueError,
    EOFError,
    TypeError,
    SyntaxError,
    OverflowError,
    RuntimeError,
    OSError,
    tokenize.TokenError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    zipfile.BadZipFile,
)
PART_BYTES = 1 << 22  # bytes that are converted at a time
MOST_BYTES = np.iinfo(np.intp).max  # of an array, as NumPy counts them
FEW_NAMES = 12  # of members, that an error lists

# A file's own floats: how they are stored, and their dtype's name where NumPy has none.
TENSORS = {
    "F64": ("<f8", None),
    "F32": ("<f4", None),
    "F16": ("<f2", None),
    "BF16": ("<u2", "bfloat16"),
    "F8_E4M3": ("u1", "float8_e4m3fn"),
    "F8_E5M2": ("u1", "float8_e5m2"),
    "F8_E4M3FNUZ": ("u1", "float8_e4m3fnuz"),
    "F8_E5M2FNUZ": ("u1", "float8_e5m2fnuz"),
    "F8_E8M0": ("u1", "float8_e8m0fnu"),
    **{f"{kind}{8 * size}": (f"<{kind.lower()}{size}", None) for kind in "IU" for size in (1, 2, 4, 8)},
}
# Floats that NumPy has no dtype for, as numbers.
DECODED = {
    "bfloat16": "bf16",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "float8_e4m3fnuz": "e4m3fnuz",
    "float8_e5m2fnuz": "e5m2fnuz",
}
NUMBERS = {"float16", "float32", "float64", *DECODED}
_NAMED = re.compile(r"(.*?\.(npy|npz|safetensors))(?::(.+))?", re.DOTALL | re.IGNORECASE)


class StoredArray(NamedTuple):
    """An array in a file. name: as typed. kind: its dtype. array: the bits, where NumPy lacks the dtype."""

    name: str
    array: NDArray[Any]
    kind: str

    @property
    def path(self) -> Path:
        """The file that holds it."""
        return _split(self.name)[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self.array.shape


def read(name: str) -> StoredArray:
    """The array that `FILE.npy`, `FILE.npz[:MEMBER]` or `FILE.safetensors[:TENSOR]` names.

    Mapped, but for a member of a .npz file, which is read whole. Raises OSError, and ValueError for a file that holds
    no such array, naming those that it holds.
    """
    path, ending, member = _split(name)
    with named(path).open("rb"):  # says best why it cannot be read
        pass
    if ending == "safetensors":
        return _tensor(name, path, member)
    array = _member(path, member) if ending == "npz" else _mapped(name, path, member)
    if array.dtype.kind == "V":
        raise InputError(
            f"{name}: has elements of {array.dtype.itemsize} bytes without a type, as NumPy saves ml_dtypes arrays; "
            f"save them in a .safetensors file, or their bits as codes, array.view('uint{8 * array.dtype.itemsize}')"
        )
    if array.dtype.kind not in "iuf":
        raise InputError(f"{name}: must hold integers, which are codes, or floats, not {array.dtype.name}")
    return StoredArray(name, array, array.dtype.name)


def file_of(name: str) -> Path:
    """The file in a name that `read` takes. Raises ValueError for another ending."""
    return _split(name)[0]


def names_a_file(name: str) -> bool:
    """True if a name has the form that `read` takes."""
    return _NAMED.fullmatch(name) is not None


def _split(name: str) -> tuple[Path, str, str | None]:
    match = _NAMED.fullmatch(name)
    if match is None:
        raise InputError(
            f"{name}: must be FILE.npy, FILE.npz, FILE.npz:NAME, FILE.safetensors or FILE.safetensors:NAME"
        )
    return Path(match[1]), match[2].lower(), match[3]


def _mapped(name: str, path: Path, member: str | None) -> NDArray[Any]:
    if member is not None:
        raise InputError(f"{name}: a .npy file holds one array; leave out :{member}")
    try:
        with path.open("rb") as file:
            _check_header(file, path.stat().st_size)
        return np.lib.format.open_memmap(path, mode="r")
    except UNREADABLE as error:
        raise InputError(f"{path}: cannot be read as a .npy file: {_words(error)}") from None


def members(path: Path, names: Sequence[str], data: bytes | None = None) -> list[NDArray[Any]]:
    """Arrays of a .npz file by their names. data: its bytes, where they have been read.

    Raises OSError, and InputError for a file that is none, or has no such array.
    """
    with _archive(path, data) as archive:
        return [_array(archive, path, name) for name in names]


def _member(path: Path, member: str | None) -> NDArray[Any]:
    with _archive(path) as archive:
        return _array(archive, path, member)


def _archive(path: Path, data: bytes | None = None) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path if data is None else io.BytesIO(data))
    except FileNotFoundError:
        raise
    except UNREADABLE as error:
        raise InputError(f"{path}: cannot be read as a .npz file: {_words(error)}") from None


def _array(archive: zipfile.ZipFile, path: Path, member: str | None) -> NDArray[Any]:
    """The array of that name, read whole; the only one of the file without a name."""
    listed = archive.namelist()
    entries = {entry.removesuffix(".npy"): entry for entry in listed}
    if len(entries) < len(listed):
        twice = next(
            name for name, count in Counter(entry.removesuffix(".npy") for entry in listed).items() if count > 1
        )
        raise InputError(f"{path}: holds {twice!r} more than once")
    chosen = _chosen(path, list(entries), member)
    try:
        entry = archive.getinfo(entries[chosen])
        Cost(f"{path}: {chosen}", entry.file_size).demand()
        with archive.open(entry) as file:
            _check_header(file, entry.file_size)
        with archive.open(entry) as file:
            array = np.asarray(np.lib.format.read_array(file, allow_pickle=False))
        # NumPy makes characters of any number, and Python then fails at whatever is done with them.
        if array.dtype.kind == "U" and array.nbytes:
            characters = np.frombuffer(array.astype(array.dtype.newbyteorder("=")).tobytes(), np.uint32)
            if characters.max() > sys.maxunicode:
                raise InputError(f"{path}: {chosen} holds characters that are none")
        return array
    except InputError:
        raise
    except UNREADABLE as error:
        raise InputError(f"{path}: {chosen} cannot be read: {_words(error)}") from None


def _words(error: Exception) -> str:
    """An error's message, without the system's number of it, or what Python calls the pieces of a header."""
    text = (isinstance(error, OSError) and error.strerror) or str(error)
    return "its header is no description of an array" if re.search(" object at 0x|max_header_size", text) else text


def _check_header(file: IO[bytes], size: int) -> None:
    """Raise ValueError where a .npy file of so many bytes does not hold the array that its header promises.

    NumPy believes a header, and asks for as much memory as it says.
    """
    major, _ = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
    try:
        shape, _, dtype = read(file)
    except (TypeError, SyntaxError, RecursionError, tokenize.TokenError) as error:  # in words of Python's parser
        raise ValueError("its header is no description of an array") from error
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    if (promised := math.prod(shape) * dtype.itemsize) > (there := size - file.tell()):
        raise ValueError(f"its header promises {promised:,} bytes of {dtype}, shape {shape}; it has {there:,}")
    if math.prod(filter(None, shape)) * dtype.itemsize > MOST_BYTES:  # an axis of length 0 beside huge ones
        raise ValueError(f"its header has the shape {shape}, which no array can have")


def _tensor(name: str, path: Path, member: str | None) -> StoredArray:
    """A tensor of a .safetensors file, mapped. The safetensors package checks the file but cannot return FP8."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np") as file:
            names = list(file.keys())
            chosen = _chosen(path, names, member)
            shape, kind = tuple(file.get_slice(chosen).get_shape()), file.get_slice(chosen).get_dtype()
    except SafetensorError as error:
        raise InputError(f"{path}: cannot be read as a .safetensors file: {error}") from None
    if kind not in TENSORS:
        packed = "; give its bytes as U8, with --packed, or one code a byte" if kind.startswith(("F4", "F6")) else ""
        raise InputError(f"{name}: a tensor must be one of {', '.join(TENSORS)}, not {kind}{packed}")
    stored, known = TENSORS[kind]
    dtype = np.dtype(stored)
    with path.open("rb") as raw:
        size = int.from_bytes(raw.read(8), "little")
        first = json.loads(raw.read(size))[chosen]["data_offsets"][0]
    empty = 0 in shape
    array = np.empty(shape, dtype) if empty else np.memmap(path, dtype, "r", offset=8 + size + first, shape=shape)
    return StoredArray(name, array, known or dtype.name)


def _chosen(path: Path, names: Sequence[str], wanted: str | None) -> str:
    """The member of that name; without a name, the file's only member."""
    if wanted in names:
        return str(wanted)
    if wanted is None and len(names) == 1:
        return names[0]
    if not names:
        raise InputError(f"{path}: holds no array")
    listed = ", ".join(names[:FEW_NAMES]) + (f" and {len(names) - FEW_NAMES} more" if len(names) > FEW_NAMES else "")
    if wanted is None:
        raise InputError(f"{path}: holds {len(names)} arrays, name one, as {path}:{names[0]}: {listed}")
    close = difflib.get_close_matches(wanted, names, n=3)
    hint = f"did you mean {', '.join(close)}?" if close and len(names) > FEW_NAMES else f"it holds {listed}"
    raise InputError(f"{path}: holds no {wanted!r}; {hint}")


def are_codes(fmt: Format, stored: StoredArray) -> bool:
    """True if an array holds codes of a format: integers, or floats of the format's own dtype."""
    return not (stored.kind.startswith(("float", "bfloat"))) or stored.kind == own_dtype(fmt)


def codes(fmt: Format, stored: StoredArray, name: str) -> Codes:
    """An array's codes, of the container's dtype; mapped still where they are stored in it.

    Raises TypeError for floats of another dtype than the format's own; ValueError as `codes_of`; both name the file.
    """
    label, array = f"{stored.name}: {name}", stored.array
    if fmt.container_bits > WORD:
        return _long_codes(fmt, stored, label)
    if not are_codes(fmt, stored):
        native = own_dtype(fmt)
        raise InputTypeError(
            f"{label} must be integer {fmt.name} codes{f' or a {native} array' if native else ''}, not {stored.kind}"
        )
    if array.dtype.kind == "f":
        array = array.view(np.dtype(f"u{array.itemsize}").newbyteorder(array.dtype.byteorder))
    dtype = container_dtype(fmt)
    result = array if array.dtype == dtype else np.empty(array.shape, dtype)
    try:
        for section in parts(array):
            part = codes_of(fmt, array[section], label)
            if result is not array:
                result[section] = part
    except ValueError:
        codes_of(fmt, array, label)  # its message has the index in the whole array
        raise
    return result


def operand_codes(unit: Unit, name: str, file: str) -> Codes:
    """The codes of an operand in a file: a, b, c, scale_a or scale_b. Raises InputError where the unit has none."""
    if name in ("a", "b"):
        fmt: Any = unit.operands.factor(name)  # type: ignore[arg-type]
    elif name == "c":
        fmt = unit.operands.addend
    else:
        fmt = None if unit.scale is None else unit.scale.of("a" if name == "scale_a" else "b").format
    if fmt is None:
        raise InputError(f"--{name.replace('_', '-')} must not be given: {unit.name} has none")
    return codes(fmt, read(file), name)


def codes_shape(fmt: Format, stored: StoredArray) -> tuple[int, ...]:
    """The shape of an array's codes: its own, without the last axis of words where codes have more than 64 bits."""
    return stored.shape[:-1] if fmt.container_bits > WORD else stored.shape


def _long_codes(fmt: Format, stored: StoredArray, label: str) -> Codes:
    """Codes of more than 64 bits, which files have as words of 64, the low one first, in a last axis."""
    array, words = stored.array, words_of(fmt.container_bits)
    if array.dtype.kind != "u" or array.dtype.itemsize != WORD // 8 or array.ndim == 0 or array.shape[-1] != words:
        held = f"{stored.kind} of shape {array.shape}"
        raise InputTypeError(f"{label} must be uint64 (..., {words}), words of {fmt.name} codes, not {held}")
    return codes_of(fmt, from_words(array), label)


def numbers(kind: str, array: NDArray[Any]) -> NDArray[Any]:
    """A part of an array, exactly, as float32 or float64. kind: one of NUMBERS."""
    if kind in DECODED:
        return np.asarray(get_format(DECODED[kind]).decode(array)).astype(np.float32)
    return np.asarray(array, np.float64 if kind == "float64" else np.float32)


def parts(array: NDArray[Any], of: int = PART_BYTES) -> Iterator[slice]:
    """Slices of the first axis, of about `of` bytes each."""
    count = array.shape[0] if array.ndim else 0
    step = max(1, of * count // max(array.nbytes, 1))
    return (slice(first, min(first + step, count)) for first in range(0, count, step))


PART = 1 << 20  # numbers that are quantised at a time


class MatrixOperand(NamedTuple):
    """A factor of a matrix product, ready for `hwsim.gemm`.

    factor: binary32 numbers that the result is to be multiplied by, in a shape that broadcasts with it; or None.
    """

    codes: Codes
    scales: NDArray[Any] | None
    factor: NDArray[np.float32] | None = None


def suited(unit: Unit, side: str) -> list[str]:
    """The names of the rules whose codes and scales a unit takes as its factor a or b."""
    return [name for name, rule in rules().items() if suits(unit, side, rule)]


def suits(unit: Unit, side: str, rule: Rule) -> bool:
    """True if a unit takes a rule's codes and scales; scales of a row of A, a column of B or a matrix may be left."""
    if not _same(rule.element, getattr(unit.operands, side)):
        return False
    if unit.scale is None:
        return rule.block in ((1, None), (None, None)) and is_f32(rule.scale_format)
    scale: BlockScale = getattr(unit.scale, side)
    across, along = scale.block if side == "a" else reversed(scale.block)
    return _same(rule.scale_format, scale.format) and rule.block == (across, along)


def multiplies(unit: Unit, rule: Rule) -> bool:
    """True if the result must be multiplied by a scale of the rule that the unit does not take. rule: suits it."""
    return unit.scale is None or rule.tensor_scale is not TensorScale.NONE


def refusal(unit: Unit, side: str, name: str, rule: Rule) -> str:
    """A message that says why a unit does not take a rule's codes and scales, and which rules it takes."""
    across, along = rule.block
    if along is None:
        where = "one for the whole matrix" if across is None else f"one for every {'row' if side == 'a' else 'column'}"
    else:
        where = "blocks of " + _size((across or 1, along) if side == "a" else (along, across or 1))
    takes = "no scales"
    if unit.scale is not None:
        scale: BlockScale = getattr(unit.scale, side)
        takes = f"scales in {scale.format.name}, blocks of {_size(scale.block)}"
    suitable = suited(unit, side)
    return (
        f"{name} gives elements in {rule.element.name} and scales in {rule.scale_format.name}, {where}; {unit.name} "
        f"takes {getattr(unit.operands, side).name} and {takes}"
        + (f": {', '.join(suitable)}" if suitable else "; no rule suits it")
    )


def _size(block: tuple[int, int]) -> str:
    return f"{block[0]} x {block[1]}"


def _same(fmt: Format, other: Format) -> bool:
    """True if two formats have the same codes, whatever they are called."""
    names = {"name", "summary", "source"}
    return type(fmt) is type(other) and fmt.model_dump(exclude=names) == other.model_dump(exclude=names)


def quantized(unit: Unit, side: str, stored: StoredArray, rule: Rule, allow_nan: bool) -> MatrixOperand:
    """A unit's factor, quantised along K in parts, with the codes and scales of `hwsim.quantize` of the whole matrix.

    rule: one that `suits`. allow_nan: let the rule say what NaNs and infinities become; else they are a ValueError
    that names the first.
    """
    matrix = _Matrix(stored, rule, side)
    finite, amax = matrix.surveyed(allow_nan)
    codes, scales, g = matrix.by_parts(amax) if finite and stored.array.size else matrix.at_once()
    if unit.scale is None:
        return MatrixOperand(codes, None, scales)
    return MatrixOperand(codes, scales, None if g is None else np.full((1, 1), g))


QuantizedParts = tuple[Codes, NDArray[Any], np.float32 | None]  # codes, scales, the tensor's scale
At = tuple[int | slice, ...]


class _Matrix:
    """A matrix of numbers, or a batch of them, that is quantised along K."""

    def __init__(self, stored: StoredArray, rule: Rule, side: str):
        self.stored, self.rule = stored, rule
        self.what, self.axis = ("A", -1) if side == "a" else ("B", -2)
        across, along = rule.block
        self.block = (across, along) if side == "a" else (along, across)
        # Scales of the whole matrix need the largest magnitude of all parts in each part.
        self.one_scale = across is None
        self.needs_largest = self.one_scale or rule.tensor_scale is not TensorScale.NONE
        # Rows are contiguous. They are cut where blocks end, or anywhere under a single scale.
        self.by_rows = self.one_scale or self.block[0] is not None
        self.step = 1 if self.one_scale else self.block[0] or self.block[1] or 1

    def surveyed(self, allow_nan: bool) -> tuple[bool, float]:
        """A flag, True if all numbers are finite, and the largest magnitude. Raises ValueError, as in `quantized`."""
        finite, amax = True, 0.0
        for section in self.parts():
            part = self.numbers(section)
            largest = float(np.max(np.abs(part), initial=0))
            if not np.isfinite(largest):
                finite = False
                if not allow_nan:
                    raise self.refused(part, section)
            amax = max(amax, largest)
        return finite, amax

    def parts(self) -> Iterator[At]:
        """The parts as indices of the array."""
        *batch, rows, columns = self.stored.shape
        count, length = (rows, columns) if self.by_rows else (columns, rows)
        size = max(1, PART // max(length * self.step, 1)) * self.step
        for index in np.ndindex(*batch):
            for first in range(0, count, size):
                cut = slice(first, min(first + size, count))
                yield (*index, cut, slice(None)) if self.by_rows else (*index, slice(None), cut)

    def numbers(self, section: At) -> NDArray[Any]:
        """A part's numbers; in binary32 where the rule computes in it."""
        part = numbers(self.stored.kind, self.stored.array[section])
        if self.rule.apply is not Apply.EXACT:
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                part = part.astype(np.float32, copy=False)
        return part

    def refused(self, part: NDArray[Any], section: At) -> InputError:
        """The error for a part's first number that is not finite."""
        where = np.argwhere(~np.isfinite(part))[0].tolist()
        cut = [index.start or 0 for index in section if isinstance(index, slice)]
        place = (
            *(index for index in section if isinstance(index, int)),
            *(i + start for i, start in zip(where, cut, strict=True)),
        )
        value = numbers(self.stored.kind, self.stored.array[place])
        beyond = ", which binary32 does not hold" if np.isfinite(value) else ""
        return InputError(
            f"{self.stored.name}: {self.what}{list(place)} is {value}{beyond}; under --allow-nan the rule says what "
            "becomes of it"
        )

    def at_once(self) -> QuantizedParts:
        """The whole matrix, quantised in memory."""
        whole = quantize(numbers(self.stored.kind, self.stored.array), self.rule, self.axis)
        single = self.one_scale and whole.scales.size == 1
        return whole.codes, whole.scales.reshape(1, 1) if single else whole.scales, whole.tensor_scale

    def by_parts(self, amax: float) -> QuantizedParts:
        """The matrix quantised part by part; all numbers are finite. amax: their largest magnitude."""
        *batch, rows, columns = self.stored.shape
        block = self.block[0] or rows, self.block[1] or columns
        shape = (1, 1) if self.one_scale else (*batch, *scale_shape(rows, columns, block))
        codes = np.empty(self.stored.shape, container_dtype(self.rule.element))
        scales = np.empty(
            shape, np.float32 if is_f32(self.rule.scale_format) else container_dtype(self.rule.scale_format)
        )
        for section in self.parts():
            part = self.numbers(section)
            part_shape = part.shape
            result = quantize(
                _with(part, amax, -2 if self.by_rows else -1) if self.needs_largest else part, self.rule, self.axis
            )
            codes[section] = result.codes[: part_shape[0], : part_shape[1]]
            if self.one_scale:
                scales[...] = result.scales
            else:
                into = tuple(self.blocks(index) if isinstance(index, slice) else index for index in section)
                count = scale_shape(part_shape[0], part_shape[1], block)
                scales[into] = result.scales[: count[0], : count[1]]
        return codes, scales, result.tensor_scale

    def blocks(self, cut: slice) -> slice:
        """The blocks that hold a part's numbers."""
        return cut if cut.stop is None else slice(cut.start // self.step, -(-cut.stop // self.step))


def _with(part: NDArray[Any], amax: float, axis: int) -> NDArray[Any]:
    """A part with a further row or column, which holds the largest magnitude of all parts."""
    size = (1, part.shape[1]) if axis == -2 else (part.shape[0], 1)
    further = np.zeros(size, part.dtype)
    further[0, 0] = amax
    return np.concatenate([part, further], axis)
