"""The numbers that a study multiplies: drawn from a distribution, or taken from tensors in files."""

from hwsim.study.data.matrices import Data, Drawn, check, digest, draw
from hwsim.study.data.parse import parse_data
from hwsim.study.data.sources import (
    DISTRIBUTIONS,
    CorrelatedSource,
    LaplaceSource,
    LogNormalSource,
    NonNegativeSource,
    NormalSource,
    OutliersSource,
    SoftmaxSource,
    Source,
    StudentTSource,
    UniformSource,
)
from hwsim.study.data.tensors import Tensor

__all__ = [
    "DISTRIBUTIONS",
    "CorrelatedSource",
    "Data",
    "Drawn",
    "LaplaceSource",
    "LogNormalSource",
    "NonNegativeSource",
    "NormalSource",
    "OutliersSource",
    "SoftmaxSource",
    "Source",
    "StudentTSource",
    "Tensor",
    "UniformSource",
    "check",
    "digest",
    "draw",
    "parse_data",
]
