"""Finds stimuli that tell candidates apart, pair by pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class PairSearch:
    """Pairs of candidates, by index, and the cases that each still needs.

    pairs: those that are to be told apart. quota: by how many cases each.
    """

    def __init__(self, pairs: Sequence[tuple[int, int]], quota: int):
        self.left, self.right = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
        self.need = np.full(len(pairs), quota)

    @property
    def asked(self) -> list[int]:
        """The candidates in pairs that need cases."""
        wanted = self.need > 0
        return sorted({*self.left[wanted].tolist(), *self.right[wanted].tolist()})

    def keep(self, codes: NDArray[np.int64]) -> list[int]:
        """The cases to keep, always next the one that tells most pairs apart that need cases.

        codes: (cases, candidates), the results; those of candidates that are not `asked` do not count.
        """
        wanted = np.flatnonzero(self.need > 0)
        differ = codes[:, self.left[wanted]] != codes[:, self.right[wanted]]
        helps = np.flatnonzero(differ.any(axis=1))
        differ = differ[helps]
        kept: list[int] = []
        scores = differ.sum(axis=1)  # how many pairs that need cases each case tells apart
        while scores.any():
            best = int(scores.argmax())
            kept.append(int(helps[best]))
            told = wanted[differ[best]]
            self.need[told] -= 1
            scores -= differ[:, differ[best] & (self.need[wanted] == 0)].sum(axis=1)
            scores[best], differ[best] = 0, False
        return kept
