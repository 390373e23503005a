"""Number formats: what they are, by name, and their codecs."""

from hwsim.formats.catalog import FieldFormat, Format, formats, get_format, p3109, parse
from hwsim.formats.codes import codes_of, container_dtype, order_key, own_dtype, unpack
from hwsim.formats.fixed import ExponentFormat, FixedFormat
from hwsim.formats.floats import FloatFormat
from hwsim.formats.kind import Class, Fields, Kind
from hwsim.formats.listed import TableFormat
from hwsim.formats.reference import overflows
from hwsim.formats.rounding import Missing, Overflow, Rounding

__all__ = [
    "Class",
    "ExponentFormat",
    "FieldFormat",
    "Fields",
    "FixedFormat",
    "FloatFormat",
    "Format",
    "Kind",
    "Missing",
    "Overflow",
    "Rounding",
    "TableFormat",
    "codes_of",
    "container_dtype",
    "formats",
    "get_format",
    "order_key",
    "overflows",
    "own_dtype",
    "p3109",
    "parse",
    "unpack",
]
