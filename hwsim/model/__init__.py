"""The model: what a unit returns, by definition, for arrays of codes."""

from hwsim.model.arrays import dot, explain
from hwsim.model.definition import Definition
from hwsim.model.explained import Explained

__all__ = ["Definition", "Explained", "dot", "explain"]
