"""What a simulation's log says: errors, failed assertions, and its end."""

from __future__ import annotations

from pathlib import Path


def _log(folder: Path) -> list[str]:
    log = folder / "simulation.log"
    return log.read_text(errors="replace").splitlines() if log.exists() else []


def log_end(folder: Path) -> list[str]:
    """The end of a simulation's log."""
    return _log(folder)[-8:]


def errors_in(folder: Path) -> list[str]:
    """What a simulator called an error, and what may be done."""
    errors = [f"  {line}" for line in _log(folder) if line.startswith(("%Error", "ERROR"))]
    unsettled = any("did not converge" in line for line in errors)
    return [
        *errors[:6],
        *(["signals of the design never settle: a loop of them needs a register"] if unsettled else []),
    ]


def assertions_in(folder: Path) -> list[str]:
    """The assertions that failed in a simulation, a line each."""
    return [f"  {line}" for line in _log(folder) if "Assertion failed" in line]
