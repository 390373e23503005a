"""Number formats: what they are, by name, and their codecs."""

from hwsim.formats.catalog import formats, get_format
from hwsim.formats.codec import Missing, Overflow
from hwsim.formats.codes import codes_of, container_dtype, own_dtype
from hwsim.formats.fields import Class, Fields, unpack
from hwsim.formats.format import ExponentFormat, FixedFormat, FloatFormat, Format, parse
from hwsim.formats.order import order_key
from hwsim.formats.p3109 import p3109
from hwsim.formats.rounding import Rounding

__all__ = [
    "Class",
    "ExponentFormat",
    "Fields",
    "FixedFormat",
    "FloatFormat",
    "Format",
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
