"""File lists, as Verilator and Icarus read them with `-f`: sources, include folders, defines and libraries."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hwsim.cosim.sources.designsources import DesignSources
from hwsim.cosim.sources.slang import EASING
from hwsim.errors import InputError
from hwsim.files import contents

MOST_BYTES, MOST_WORDS, MOST_NESTED = 1 << 22, 100_000, 20
# A comment begins a line or follows a space: `//` inside a path is none.
COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|(?<!\S)//[^\n]*|^[ \t]*#[^\n]*", re.DOTALL | re.MULTILINE)
WORD = re.compile(r'(?:"[^"\n]*"|\\.|[^\s"])+')
VARIABLE = re.compile(r"\$(?:\{(\w+)\}|\((\w+)\)|(\w+))")
# Of the language, which hwsim has both simulators read as SystemVerilog, and of warnings.
# and of the time scale of files without one of their own, which it says too.
SAYS_NOTHING = re.compile(
    r"-(sv|sverilog|g20\d\d(-sv)?|W(all|error|fatal|no-.*|warn-.*))|\+systemverilogext\+.*"
    r"|--?timescale=.*|\+timescale\+.*"
)
WITH_VALUE = ("-timescale", "--timescale")  # that say nothing, and the word behind them neither
# slang's longer names, and Verilator's.
SHORT = {
    "--include-directory": "-I", "--isystem": "-I", "--define-macro": "-D", "--libdir": "-y", "--libfile": "-v",
    "--libext": "-Y",
}  # fmt: skip
KNOWN = "a file, -f, -F, -v, -y, -Y, -I, -D, +incdir+, +define+, +libext+, +libdir+ or an option of `slang`"


def read_list(path: Path, base: Path) -> DesignSources:
    """What a file list names. base: the folder in which its paths start.

    The list may have `-f LIST`, whose paths start in `base` too, and `-F LIST`, whose paths start where it is; comments
    of `//`, `/* */` and `#`; quotes; variables of the environment.
    Raises InputError for a list that cannot be read, and for an option or a file that is not known, naming list and
    line.
    """
    reader = _ListReader()
    reader.read(path, base, ())
    return DesignSources(
        files=tuple(reader.files),
        include=tuple(reader.include),
        defines=tuple(reader.defines),
        libraries=tuple(reader.libraries),
        suffixes=tuple(reader.suffixes),
        easing=tuple(reader.easing),
    )


@dataclass
class _ListReader:
    """What was read so far."""

    files: list[Path] = field(default_factory=list)
    include: list[Path] = field(default_factory=list)
    defines: list[str] = field(default_factory=list)
    libraries: list[Path] = field(default_factory=list)
    suffixes: list[str] = field(default_factory=list)
    easing: list[str] = field(default_factory=list)
    count: int = 0

    def read(self, path: Path, base: Path, above: tuple[Path, ...]) -> None:
        """Read one list. above: the lists that name it, each resolved."""
        try:
            text = contents(path, MOST_BYTES).decode()
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: cannot be read: {error}") from None
        words = _words(text, path)
        for line, word in words:
            where = f"{path}:{line}"
            self.count += 1
            if self.count > MOST_WORDS:
                raise InputError(f"{where}: file lists must not have more than {MOST_WORDS:,} words")

            def following(option: str, at: str = where) -> str:
                after = next(words, None)
                if after is None:
                    raise InputError(f"{at}: {option} must be followed by a name")
                return _expanded(after[1], at)

            self._take(_expanded(word, where), following, where, base, (*above, path.resolve()))

    def _take(
        self, word: str, following: Callable[[str], str], where: str, base: Path, inside: tuple[Path, ...]
    ) -> None:
        """Note what one word means, and the name after it where the word asks for one."""
        name, given, value = word.partition("=")
        if name in SHORT and given:
            self._take(SHORT[name], lambda option: value, where, base, inside)
            return
        word = SHORT.get(word, word)
        if word in ("-f", "-F"):
            nested = base / following(word)
            if nested.resolve() in inside or len(inside) > MOST_NESTED:
                raise InputError(f"{where}: {word} must not name a list that names this one, or one nested so deep")
            _check(nested, Path.is_file, "file", where)
            self.read(nested, base if word == "-f" else nested.parent, inside)
        elif word == "-v":
            self.libraries.append(_check(base / following(word), Path.is_file, "file", where))
        elif word == "-y":
            self.libraries.append(_check(base / following(word), Path.is_dir, "folder", where))
        elif word.startswith("-I"):
            self.include.append(_check(base / (word[2:] or following(word)), Path.is_dir, "folder", where))
        elif word.startswith("-D"):
            self.defines.append(defined(word[2:] or following(word), where))
        elif word == "-Y":
            self.suffixes += [one for one in following(word).split(",") if one]
        elif word in WITH_VALUE:
            following(word)
        elif word in EASING:
            self.easing.append(word)
        elif word.startswith("+"):
            self._take_plus(word, where, base)
        elif word.startswith("-"):
            if not SAYS_NOTHING.fullmatch(word):
                raise InputError(f"{where}: must be {KNOWN}, not {word}")
        else:
            self.files.append(_check(base / word, Path.is_file, "file", where))

    def _take_plus(self, word: str, where: str, base: Path) -> None:
        """An option of the kind `+name+value+value`."""
        _, name, *values = word.split("+")
        given = [value for value in values if value]
        match name:
            case "incdir":
                self.include += [_check(base / value, Path.is_dir, "folder", where) for value in given]
            case "define":
                self.defines += [defined(value, where) for value in given]
            case "libext":
                self.suffixes += given
            case "libdir":
                self.libraries += [_check(base / value, Path.is_dir, "folder", where) for value in given]
            case _:
                if not SAYS_NOTHING.fullmatch(word):
                    raise InputError(f"{where}: must be {KNOWN}, not {word}")


def _words(text: str, path: Path) -> Iterator[tuple[int, str]]:
    """Lines, counted from 1, and words, without comments; in place of those stand as many ends of lines.

    Raises InputError for a comment that does not end.
    """

    def ends(comment: re.Match[str]) -> str:
        if comment[0].startswith("/*") and not (comment[0].endswith("*/") and len(comment[0]) > 3):
            line = text.count("\n", 0, comment.start()) + 1
            raise InputError(f"{path}:{line}: the comment that begins here has no end")
        return " " + "\n" * comment[0].count("\n")

    bare = COMMENT.sub(ends, text)
    for line, content in enumerate(bare.split("\n"), 1):
        for word in WORD.finditer(content):
            yield line, re.sub(r"\\(.)", r"\1", word[0].replace('"', ""))


def _expanded(word: str, where: str) -> str:
    """A word with the values of the environment's variables in it."""

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2] or found[3]
        if name not in os.environ:
            raise InputError(f"{where}: {word} names the variable {name}, which the environment does not have")
        return os.environ[name]

    return VARIABLE.sub(value, word)


def _check(path: Path, is_one: Callable[[Path], bool], kind: str, where: str) -> Path:
    """A path, resolved. Raises InputError where nothing of that kind is there."""
    try:
        there = is_one(path)
    except (OSError, ValueError):
        there = False
    if not there:
        raise InputError(f"{where}: is no {kind}: {path}")
    return path.resolve()


DEFINE = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(=.*)?", re.DOTALL)


def defined(text: str, where: str) -> str:
    """`NAME=value`; a name without a value is 1. Raises InputError for what is no name, which begins with `where`."""
    if not DEFINE.fullmatch(text):
        raise InputError(f"{where}: a define must be NAME or NAME=value, not {text}")
    return text if "=" in text else f"{text}=1"
