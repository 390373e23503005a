"""The keys of a matrix's random numbers."""

from __future__ import annotations

from dataclasses import dataclass

from hwsim.cases.drawing import Stream

GENERATION = 1  # of the way from words to numbers; another one draws other numbers


@dataclass(frozen=True)
class StreamKey:
    """The keys of one factor of a trial. side: `a` or `b`. name: of the data. The unit is no key."""

    seed: int
    name: str
    side: str
    length: int
    trial: int

    def stream(self, part: str) -> Stream:
        """Random words of this factor of this trial."""
        return self._stream(self.side, self.length, self.trial, part)

    def shared(self, part: str) -> Stream:
        """Random words that both factors of the trial share."""
        return self._stream("both", self.length, self.trial, part)

    def lasting(self, part: str) -> Stream:
        """Random words that this factor has in all trials and lengths."""
        return self._stream(self.side, part)

    def _stream(self, *keys: str | int) -> Stream:
        return Stream(self.seed, "data", GENERATION, self.name, *keys)
