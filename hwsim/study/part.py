"""What runners run: parts of a study that a worker does alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

Rows = list[dict[str, Any]]


class OtherCode(RuntimeError):
    """A worker has another version of hwsim, or other tensors, than the process that gives out the tasks."""


class StudyPart(ABC):
    """A part of a study: picklable, and all that its rows depend on besides the code of hwsim."""

    code: ClassVar[str]
    """The module that makes the rows, by whose content results are known."""

    @property
    @abstractmethod
    def products(self) -> int:
        """The number of products that are summed, which a progress bar counts."""

    @property
    @abstractmethod
    def work(self) -> int:
        """The cost, in products of a kernel."""

    @property
    @abstractmethod
    def key(self) -> str:
        """A digest of all that the rows depend on, the code of hwsim included."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many rows there will be."""

    @abstractmethod
    def execute(self) -> Rows:
        """The rows: `point` and `trial`, whole numbers, and measures. The same wherever and whenever it runs."""

    @abstractmethod
    def check(self) -> None:
        """Raise OtherCode on a machine that has other data."""
