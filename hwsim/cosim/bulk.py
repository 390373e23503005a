"""The bulk driver: a Verilated unit in this process, driven with NumPy arrays."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hwsim.cosim.ports import PortMap


@dataclass(frozen=True)
class PortAnswers:
    """What a unit answered. flags: uint8[cycles], bits SEEN_*. results: uint32[results, words], as handed over."""

    flags: np.ndarray
    results: np.ndarray


class BulkUnit:
    """A Verilated unit; its state stays from one `run` to the next."""

    def __init__(self, library: Path, ports: PortMap):
        self.ports = ports
        self._library = ctypes.CDLL(str(library))
        self._library.hwsim_open.restype = ctypes.c_void_p
        self._library.hwsim_run.restype = ctypes.c_int64
        self._bench = ctypes.c_void_p(self._library.hwsim_open())

    def __enter__(self) -> BulkUnit:
        return self

    def __exit__(self, *_: object) -> None:
        self._library.hwsim_close(self._bench)

    def run(self, drive: np.ndarray, offered: np.ndarray, words: np.ndarray) -> PortAnswers:
        """Play some cycles.

        drive: uint8[cycles], bits VALID, READY, RESET. offered: int32[cycles], the row of `words` that stands at
        the input; -1 keeps what is there. words: uint32[beats, words], payloads, the low word first.
        """
        if words.shape[1:] != (self.ports.input.words,):
            raise ValueError(f"words must have {self.ports.input.words} columns, not shape {words.shape}")
        if len(offered) != len(drive):
            raise ValueError(f"offered must have {len(drive)} cycles, as drive has, not {len(offered)}")
        if len(offered) and int(offered.max()) >= len(words):
            raise ValueError(f"offered must name rows of words ({len(words)}), not {int(offered.max())}")
        drive = np.ascontiguousarray(drive, np.uint8)
        offered = np.ascontiguousarray(offered, np.int32)
        words = np.ascontiguousarray(words, np.uint32)
        seen = np.zeros(len(drive), np.uint8)
        results = np.zeros((len(drive), self.ports.output.words), np.uint32)
        count = self._library.hwsim_run(
            self._bench,
            ctypes.c_int64(len(drive)),
            _at(drive),
            _at(offered),
            _at(words),
            ctypes.c_int64(words.shape[1]),
            _at(seen),
            _at(results),
            ctypes.c_int64(results.shape[1]),
        )
        return PortAnswers(seen, results[:count])


def _at(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)
