"""The model: what a unit returns, by definition, for arrays of codes."""

from hwsim.model.definition import Definition, dot, supports

__all__ = ["Definition", "dot", "supports"]
