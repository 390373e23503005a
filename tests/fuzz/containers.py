"""Mutations of files that hold arrays: .npy, .npz, .safetensors and Parquet, by their parts."""

from __future__ import annotations

import ast
import io
import json
import struct
import warnings
import zipfile
from random import Random
from typing import Any

from fuzz import octets, trees

DTYPES = (
    "<f4", "|u1", "<f2", "<f8", "<i8", ">u2", ">f4", "|b1", "<c8", "|O", "<U4", "|S3", "|V1", "|V8", "<M8[s]", "<m8",
    "<f16", "", "f", "x", "|u0", "|u3", "<U0", [["a", "<f4"]], [("a", "|u1")], "|i1", "u1,u1",
)  # fmt: skip
SHAPES = (
    (), (0,), (1,), (-1,), (4, -1), (0, 8), (8, 0), (4, 8, 1), (1, 4, 8), (2**31, 2**31), (2**62, 4), (2**63,),
    (10**30,),
    (True, 8), (4.0, 8), ("4", 8), [4, 8], 8, None, (1,) * 33, (1,) * 70, (4, (8,)), (32,), (10**9, 0),
    (2**40, 2**30, 0),
)  # fmt: skip
MAGIC = b"\x93NUMPY"


def npy(data: bytes, rng: Random) -> bytes:
    """A .npy file with another header, or with other data below it."""
    try:
        (size,) = struct.unpack("<H", data[8:10])
        header: dict[Any, Any] = ast.literal_eval(data[10 : 10 + size].decode())
        body = data[10 + size :]
    except (struct.error, ValueError, SyntaxError):
        return octets.mutated(data, rng)
    version = (1, 0)
    match rng.randrange(9):
        case 0 | 1:
            header["descr"] = rng.choice(DTYPES)
        case 2 | 3:
            header["shape"] = rng.choice(SHAPES)
        case 4:
            header["fortran_order"] = rng.choice((True, 1, "x", None))
        case 5:
            header = trees.mutate(header, rng, {})
        case 6:
            version = rng.choice(((2, 0), (3, 0), (0, 0), (4, 0), (255, 255)))
        case 7:
            body = rng.choice((body[:-1], body * 2, b"", octets.mutated(body, rng), b"\xff" * len(body)))
        case _:
            return octets.mutated(data, rng)
    text = repr(header).encode("utf-8", "surrogatepass")[:60_000] + b" " * rng.choice((0, 0, 5, 5000)) + b"\n"
    length = len(text) if rng.random() < 0.95 else rng.choice((0, 1, 65_535))
    sized = struct.pack("<H", length) if version[0] == 1 else struct.pack("<I", length)
    return MAGIC + bytes(version) + sized + text + body


def npz(data: bytes, rng: Random) -> bytes:
    """A .npz file whose members are dropped, repeated, renamed, changed or compressed."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(name, archive.read(name)) for name in archive.namelist()]
    except zipfile.BadZipFile:
        return octets.mutated(data, rng)
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(members)) if members else 0
        match rng.randrange(8):
            case 0:
                del members[at : at + 1]
            case 1:
                members += members[at : at + 1]
            case 2 if members:
                new = rng.choice(
                    ("", "x", "../x.npy", "/x.npy", "é.npy", "a\0.npy", "a.npy.npy", ".npy", "b.npy", "x" * 300)
                )
                members[at] = (new, members[at][1])
            case 3 if len(members) > 1:
                other = rng.randrange(len(members))
                members[at] = (members[at][0], members[other][1])
            case _ if members:
                name, body = members[at]
                members[at] = (name, npy(body, rng) if rng.random() < 0.8 else octets.mutated(body, rng))
    made = io.BytesIO()
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    with warnings.catch_warnings(), zipfile.ZipFile(made, "w", method) as archive:
        warnings.simplefilter("ignore")
        for name, body in members:
            archive.writestr(name or "/", body)
    found = made.getvalue()
    return found if rng.random() < 0.8 else octets.mutated(found, rng)


def safetensors(data: bytes, rng: Random) -> bytes:
    """A .safetensors file with another header, or with other data below it."""
    try:
        size = int.from_bytes(data[:8], "little")
        header, body = json.loads(data[8 : 8 + size]), data[8 + size :]
    except ValueError:
        return octets.mutated(data, rng)
    pool: dict[str, list[Any]] = {
        "dtype": ["F32", "U8", "BOOL", "F4", "F8_E4M3", "BF16", "I64", "x", "F64", "F8_E8M0", "C64"],
        "shape": [list(shape) for shape in SHAPES if isinstance(shape, tuple)],
        "data_offsets": [[0, 0], [0, 1], [128, 0], [-1, 128], [0, 2**63], [2**63, 2**64], [1, 129], [0], [0, 128, 256]],
        "__metadata__": [{"a": "b"}, {"a": 1}, None, 5],
    }
    if rng.random() < 0.8:
        header = trees.mutate(header, rng, pool)
    else:
        body = rng.choice((body[:-1], body * 2, b"", octets.mutated(body, rng), b"\xff" * len(body)))
    text = trees.as_json(header, rng)
    size = len(text) if rng.random() < 0.9 else rng.choice((0, 1, 8, 2**31, 2**63, 2**64 - 1, len(text) + 1))
    return size.to_bytes(8, "little") + text + body


def parquet(data: bytes, rng: Random) -> bytes:
    """A Parquet file with other columns, rows or metadata."""
    import pyarrow as pa
    import pyarrow.parquet

    if rng.random() < 0.3:
        return octets.mutated(data, rng)
    table = pa.parquet.read_table(io.BytesIO(data))
    metadata = dict(table.schema.metadata or {})
    names = table.column_names
    at = rng.randrange(len(names))
    match rng.randrange(9):
        case 0:
            table = table.drop_columns([names[at]])
        case 1:
            table = table.rename_columns([*names[:at], rng.choice(("", "x", *names)), *names[at + 1 :]])
        case 2:
            kind = rng.choice((pa.int8(), pa.float32(), pa.string(), pa.null(), pa.list_(pa.int32())))
            table = table.set_column(at, names[at], pa.nulls(table.num_rows, kind))
        case 3:
            table = table.slice(rng.randint(0, table.num_rows), rng.choice((0, 1, table.num_rows)))
        case 4:
            table = pa.concat_tables([table] * rng.choice((2, 5)))
        case 5:
            table = table.append_column(rng.choice(("x", "axis.x", names[0])), pa.nulls(table.num_rows))
        case 6 if metadata:
            del metadata[rng.choice(list(metadata))]
        case _ if metadata:
            key = rng.choice(list(metadata))
            metadata[key] = (
                octets.mutated(metadata[key], rng) if rng.random() < 0.5 else octets.lines(metadata[key], rng)
            )
    made = io.BytesIO()
    pa.parquet.write_table(table.replace_schema_metadata(metadata), made)
    return made.getvalue()
