"""Number formats: what they are, by name, and their codecs."""

from hwsim.formats.catalog import formats, get_format
from hwsim.formats.codes import codes_of, container_dtype, order_key, own_dtype, unpack
from hwsim.formats.format import ExponentFormat, FixedFormat, FloatFormat, Format, parse
from hwsim.formats.kind import Class, Fields, Kind
from hwsim.formats.p3109 import p3109
from hwsim.formats.rounding import Missing, Overflow, Rounding

__all__ = [
    "Class",
    "ExponentFormat",
    "Fields",
    "FixedFormat",
    "FloatFormat",
    "Format",
    "Kind",
    "Missing",
    "Overflow",
    "Rounding",
    "codes_of",
    "container_dtype",
    "formats",
    "get_format",
    "order_key",
    "own_dtype",
    "p3109",
    "parse",
    "unpack",
]
