"""Arrays and tables: PyTorch's tensors as arrays, codes of any length, and files whose bytes depend on these alone.

PyTorch is not imported: who has a tensor has imported it.
"""

from __future__ import annotations

import hashlib
import io
import sys
import zipfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from hwsim.base.errors import InputError, InputTypeError, ToolMissing
from hwsim.base.files import written

# Floats that NumPy does not have, and the integers that hold their bits.
WITHOUT_DTYPE = {
    "bfloat16": "uint16",
    **dict.fromkeys(
        ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"), "uint8"
    ),
}  # fmt: skip


def is_tensor(x: Any) -> TypeGuard[Any]:
    """True if an argument is a tensor of PyTorch, or of a class derived from it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def is_on_gpu(x: Any) -> TypeGuard[Any]:
    """True if an argument is a tensor of PyTorch on a GPU of NVIDIA's; a PyTorch for ROCm calls AMD's CUDA too."""
    return is_tensor(x) and bool(x.is_cuda) and sys.modules["torch"].version.hip is None


def is_pairs(x: Any) -> TypeGuard[Any]:
    """True if an argument is a tensor of PyTorch whose bytes hold two codes of FP4 each."""
    return is_tensor(x) and _name(x) == "float4_e2m1fn_x2"


def pairs_as_bytes(x: Any, label: str) -> NDArray[Any]:
    """The bytes of such a tensor, whatever its strides."""
    return _array(x, label, sys.modules["torch"].uint8)


def as_numbers(x: Any, label: str) -> Any:
    """An argument that NumPy can convert: a tensor as an array, bfloat16 and FP8 as binary32, which has their numbers.

    Gradients are not followed, and tensors of other devices are copied. What has DLPack alone is taken through it;
    anything else is returned as it is. Raises TypeError for a tensor without elements in memory, or of other dtypes.
    """
    if is_tensor(x):
        return _array(x.float() if _name(x) in WITHOUT_DTYPE else x, label)
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        return np.from_dlpack(x)
    return x


def as_bits(x: Any, label: str) -> tuple[NDArray[Any], str]:
    """A tensor's elements, and ""; of bfloat16 and FP8 their bits as integers, and the dtype's name.

    Raises TypeError as `as_numbers` does.
    """
    name = _name(x)
    if name not in WITHOUT_DTYPE:
        return _array(x, label), ""
    # The bits of an unsigned integer of two bytes are those of the signed one, which every version of PyTorch has.
    width = {"uint16": "int16"}.get(WITHOUT_DTYPE[name], WITHOUT_DTYPE[name])
    return _array(x, label, getattr(sys.modules["torch"], width)).view(WITHOUT_DTYPE[name]), name


def _name(given: Any) -> str:
    return str(given.dtype).removeprefix("torch.")


def _array(x: Any, label: str, bits: Any = None) -> NDArray[Any]:
    """The elements, or their bits as another dtype of PyTorch, which has no negation left to do by then."""
    try:
        plain = x.detach().cpu().resolve_conj().resolve_neg()
        return np.asarray((plain if bits is None else plain.contiguous().view(bits)).numpy())
    except (TypeError, RuntimeError, NotImplementedError) as error:
        reason = str(error).partition("\n")[0].partition(". ")[0]
        raise InputTypeError(f"{label} is a tensor of {_name(x)} that has no elements for NumPy: {reason}") from None


WORD = 64


def words_of(bits: int) -> int:
    """The number of words that codes of so many bits take."""
    return -(-bits // WORD)


def objects(values: Sequence[Any]) -> NDArray[np.object_]:
    """A sequence as an array of one dimension, each element as it is."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def code_array(codes: Sequence[int], bits: int = 0) -> NDArray[Any]:
    """Codes (n,): uint64, or Python's integers in an array of objects where one, or `bits`, is more than 64 bits."""
    longest = max([bits, *(code.bit_length() for code in codes)])
    return objects(codes) if longest > WORD else np.array(codes, np.uint64)


def to_words(codes: NDArray[Any], words: int = 1) -> NDArray[np.uint64]:
    """Codes (...,), none negative, as words (..., words), the low one first; of more words where one needs more."""
    if codes.dtype != object:
        wide = np.zeros((*codes.shape, words), np.uint64)
        wide[..., 0] = codes
        return wide
    integers = [int(code) for code in codes.ravel()]
    words = max([words, *(words_of(code.bit_length()) for code in integers)])
    data = b"".join(code.to_bytes(words * WORD // 8, "little") for code in integers)
    return np.frombuffer(data, "<u8").astype(np.uint64).reshape(*codes.shape, words)


def from_words(words: NDArray[Any]) -> NDArray[Any]:
    """The codes (...,) of words (..., words): uint64 of one word, Python's integers of more."""
    if words.shape[-1] == 1:
        return words[..., 0]
    rows = words.reshape(-1, words.shape[-1]).astype("<u8")
    return objects([int.from_bytes(row.tobytes(), "little") for row in rows]).reshape(words.shape[:-1])


LARGE = 1 << 30  # bytes of an array whose member has room for a length of 64 bits


def npz(arrays: Mapping[str, NDArray[Any]], compressed: bool = False) -> bytes:
    """The bytes of a .npz file, as `numpy.load` reads it.

    `numpy.savez` gives every member room for a length of 64 bits, which releases of Python write in two ways; here
    only large ones have it. A member's date is the same whenever it is written.
    """
    buffer = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=array.nbytes >= LARGE) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
    return buffer.getvalue()


DIGEST = b"hwsim.digest"


@cache
def arrow(extra: str = "study") -> Any:
    """The module pyarrow, with its Parquet. extra: the extra of hwsim that brings it. Raises ToolMissing."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ToolMissing(
            f"results are kept in Parquet, and {error.name} is missing; install it with: pip install 'hwsim[{extra}]'"
        ) from None
    return pyarrow


def write_table(table: Any, path: Path, aside: bool = False) -> None:
    """A table as a Parquet file, with a digest of what it holds: the same bytes from the same table.

    aside: as of `hwsim.base.files.written`.
    """
    metadata = {**(table.schema.metadata or {}), DIGEST: _digest(table).encode()}
    with written(path, aside) as file:
        arrow().parquet.write_table(
            table.replace_schema_metadata(metadata), file, compression="zstd", version="2.6", store_schema=True
        )


def read_table(path: Path) -> Any:
    """The table that `write_table` wrote. Raises OSError, and InputError for any other file."""
    with path.open("rb"):  # says best why it cannot be read
        pass
    pa = arrow()
    try:
        table = pa.parquet.read_table(path)
        sealed = (table.schema.metadata or {}).get(DIGEST, b"").decode() == _digest(table)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(f"{path}: cannot be read as a Parquet file: {error}") from None
    if not sealed:
        raise InputError(f"{path}: is damaged: it is not as hwsim wrote it")
    return table


def _digest(table: Any) -> str:
    """The SHA-256 of a table's columns and metadata, however a file lays them out."""
    pa = arrow()
    metadata = {key: value for key, value in (table.schema.metadata or {}).items() if key != DIGEST}
    content = hashlib.sha256(repr((table.num_rows, sorted(metadata.items()))).encode())
    for field, column in zip(table.schema, table.columns, strict=True):
        array = column.combine_chunks()
        if pa.types.is_dictionary(field.type):
            array = array.dictionary_decode()
        if pa.types.is_string(array.type):  # told apart first, in the order of rows: columns repeat few words
            coded = array.dictionary_encode()
            content.update(repr((field.name, coded.dictionary.to_pylist())).encode())
            array = coded.indices.fill_null(-1)
        content.update(repr((field.name, str(array.type), array.null_count)).encode())
        content.update(array.to_numpy(zero_copy_only=False).tobytes())
    return content.hexdigest()
