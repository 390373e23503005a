"""The model: what a unit returns, by definition, for arrays of codes."""

from hwsim.model.arrays import dot
from hwsim.model.definition import Definition
from hwsim.model.support import supports

__all__ = ["Definition", "dot", "supports"]
