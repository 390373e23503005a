"""What was found of one thing, and how it is looked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError

from hwsim.errors import ToolMissing

MOST_LETTERS = 200  # of a reason


class State(StrEnum):
    """Whether a thing can be used."""

    OK = "ok"
    MISSING = "missing"
    BROKEN = "broken"


class Use(StrEnum):
    """What a thing is for. The first two are needed for every co-simulation, the next two for one simulator each."""

    HWSIM = "hwsim"
    COSIM = "cosim, rtl"
    VERILATOR = "cosim on Verilator"
    ICARUS = "cosim on Icarus"
    SCRIPT = "verilator's script"
    BINARY = "verilator --binary"
    STUDY = "study"
    CAMPAIGN = "campaign"
    DISTRIBUTED = "study --scheduler"
    MODELS = "study of real models"
    PYTORCH = "hwsim.torch"
    AREA = "study --pareto"
    PROOFS = "proofs"
    CAPTURE = "capture kit"
    NOTEBOOKS = "notebooks"
    CAPTURED = "cosim, suite captured"
    SPEED = "speed"


class Broken(RuntimeError):
    """Raised where a thing is there and cannot be used. The message says why.

    place: where it is. get: the command that mends it, where it is another than that which gets the thing.
    """

    def __init__(self, why: str, place: str = "", get: str = ""):
        super().__init__(why)
        self.place, self.get = place, get


@dataclass(frozen=True)
class Found:
    """What a thing that can be used says of itself, and where it is."""

    version: str
    place: str = ""


@dataclass(frozen=True)
class Finding:
    """What was found of a thing. why: it cannot be used. get: the command that gets it."""

    what: str
    use: Use
    state: State
    version: str = ""
    place: str = ""
    why: str = ""
    get: str = ""


@dataclass(frozen=True)
class Probe:
    """How a thing is looked for.

    get: the command that gets it. look: raises ToolMissing or PackageNotFoundError where it is missing, and anything
    else where it is broken.
    """

    what: str
    use: Use
    get: str
    look: Callable[[], Found]

    def finding(self) -> Finding:
        """Look. Raises nothing, whatever is broken."""
        try:
            found = self.look()
        except PackageNotFoundError:
            return self._without(State.MISSING, "not installed")
        except ToolMissing as error:
            return self._without(State.MISSING, str(error))
        except Broken as error:
            return self._without(State.BROKEN, str(error), error.place, error.get)
        except Exception as error:
            return self._without(State.BROKEN, f"{type(error).__name__}: {error}")
        return Finding(self.what, self.use, State.OK, plain(found.version), printable(found.place))

    def _without(self, state: State, why: str, place: str = "", get: str = "") -> Finding:
        return Finding(self.what, self.use, state, place=printable(place), why=plain(why), get=get or self.get)


def plain(text: str) -> str:
    """A text as one line of what can be printed, shortened."""
    words = " ".join(printable(text[: 10 * MOST_LETTERS]).split())
    return words if len(words) <= MOST_LETTERS else f"{words[:MOST_LETTERS]} ..."


def printable(text: str) -> str:
    """A text with blanks for what cannot be printed."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
