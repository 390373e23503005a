"""What runners run: parts of a larger whole that a worker does alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

Rows = list[dict[str, Any]]


class OtherCode(RuntimeError):
    """A worker has another version of hwsim, or other files, than the process that gives out the parts."""


class WorkPart(ABC):
    """A part: picklable, and all that its rows depend on besides the code of hwsim."""

    code: ClassVar[str]
    """The module that makes the rows, by whose content results are known."""

    @property
    @abstractmethod
    def work(self) -> int:
        """The cost, in units that the parts of one whole share."""

    @property
    @abstractmethod
    def key(self) -> str:
        """A digest of all that the rows depend on, the code of hwsim included."""

    @abstractmethod
    def execute(self) -> Rows:
        """The rows, plain data. The same wherever and whenever it runs."""

    @abstractmethod
    def check(self) -> None:
        """Raise OtherCode on a machine that has other files."""
