"""The numbers that a study multiplies: drawn from a distribution, or taken from tensors in files."""

from hwsim.study.data.sources import Data, Drawn, check, digest, draw, parse_data

__all__ = ["Data", "Drawn", "check", "digest", "draw", "parse_data"]
