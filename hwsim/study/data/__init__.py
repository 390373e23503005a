"""The numbers that a study multiplies: drawn from a distribution, or taken from tensors in files."""

from hwsim.study.data.matrices import Data, Drawn, check, digest, draw
from hwsim.study.data.parse import parse_data

__all__ = ["Data", "Drawn", "check", "digest", "draw", "parse_data"]
