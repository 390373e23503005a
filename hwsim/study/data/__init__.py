"""The numbers that a study multiplies: drawn from a distribution, or taken from tensors in files."""

from hwsim.study.data.data import Data, Drawn, check, digest, draw, own_length
from hwsim.study.data.parse import parse_data
from hwsim.study.data.sources import (
    DISTRIBUTIONS,
    Correlated,
    Laplace,
    LogNormal,
    NonNegative,
    Normal,
    Outliers,
    Softmax,
    Source,
    StudentT,
    Uniform,
)
from hwsim.study.data.tensors import Tensor

__all__ = [
    "DISTRIBUTIONS",
    "Correlated",
    "Data",
    "Drawn",
    "Laplace",
    "LogNormal",
    "NonNegative",
    "Normal",
    "Outliers",
    "Softmax",
    "Source",
    "StudentT",
    "Tensor",
    "Uniform",
    "check",
    "digest",
    "draw",
    "own_length",
    "parse_data",
]
