"""What a study is cut into: parts that a worker does alone."""

from __future__ import annotations

from abc import abstractmethod

from hwsim.runners import Rows, WorkPart


class StudyPart(WorkPart):
    """A part of a study. Its work is counted in products of a kernel."""

    @property
    @abstractmethod
    def products(self) -> int:
        """The number of products that are summed, which a progress bar counts."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many rows there will be."""

    @abstractmethod
    def execute(self) -> Rows:
        """The rows: `point` and `trial`, whole numbers, and measures. The same wherever and whenever it runs."""
