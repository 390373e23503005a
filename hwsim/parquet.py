"""Tables in Parquet files: written whole, sealed with a digest, and read only as they were written."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from hwsim.errors import InputError, ToolMissing
from hwsim.outputs import written

DIGEST = b"hwsim.digest"


@cache
def arrow(extra: str = "study") -> Any:
    """pyarrow with its Parquet. extra: which brings it. Raises ToolMissing."""
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

    aside: as of `hwsim.files.written`.
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
