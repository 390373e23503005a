"""Where a matrix of a study stands: what its random numbers are keyed by."""

from __future__ import annotations

from dataclasses import dataclass

from hwsim.cases.drawing import Stream

GENERATION = 1  # of the way from words to numbers; another one draws other numbers


@dataclass(frozen=True)
class StreamKey:
    """A factor of a matrix product in a trial. side: `a` or `b`. name: of the data. The unit is no part of it."""

    seed: int
    name: str
    side: str
    length: int
    trial: int

    def stream(self, part: str) -> Stream:
        """Words of this place alone."""
        return self._stream(self.side, self.length, self.trial, part)

    def shared(self, part: str) -> Stream:
        """Words that both factors of the product see."""
        return self._stream("both", self.length, self.trial, part)

    def lasting(self, part: str) -> Stream:
        """Words of this factor that are the same in all trials and lengths."""
        return self._stream(self.side, part)

    def _stream(self, *keys: str | int) -> Stream:
        return Stream(self.seed, "data", GENERATION, self.name, *keys)
