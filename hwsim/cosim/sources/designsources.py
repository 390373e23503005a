"""The sources of a user's design: files, where they look for others, and what is defined for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

SUFFIXES = (".v", ".sv")
TIMESCALE = "1ns/1ps"  # of files without one of their own, for slang and both simulators


@dataclass(frozen=True, kw_only=True)
class DesignSources:
    """Verilog and SystemVerilog, as a user names it.

    files: in the order given. include: folders of `include`. defines: `NAME=value`. libraries: folders and files in
    which modules, interfaces and packages are looked for that no file has. suffixes: of files in library folders.
    easing: options of slang that make it less strict, keys of `hwsim.cosim.sources.slang.EASING` or `-W` options.
    """

    files: tuple[Path, ...]
    include: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    libraries: tuple[Path, ...] = ()
    suffixes: tuple[str, ...] = SUFFIXES
    easing: tuple[str, ...] = ()

    @property
    def searched(self) -> tuple[Path, ...]:
        """Folders in which included files are looked for: those given, then those of the files themselves."""
        return tuple(dict.fromkeys([*self.include, *(file.parent for file in self.files)]))

    def then(self, other: DesignSources) -> DesignSources:
        """These sources and others after them; a file, a folder or a define that stands twice counts once."""
        return replace(
            self,
            files=_once(self.files, other.files),
            include=_once(self.include, other.include),
            defines=_once(self.defines, other.defines),
            libraries=_once(self.libraries, other.libraries),
            suffixes=_once(self.suffixes, other.suffixes),
            easing=_once(self.easing, other.easing),
        )


def _once(first: Sequence[T], second: Sequence[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys([*first, *second]))
