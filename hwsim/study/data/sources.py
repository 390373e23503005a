"""The entries of a study's data: distributions with their parameters, and tensors in files."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializeAsAny,
    ValidationError,
    model_validator,
)

from hwsim.base.errors import InputError
from hwsim.formats.yamlfile import RuleError, broken_rule
from hwsim.quantize.tensors import NUMBERS, StoredArray, file_of, names_a_file, numbers, parts, read
from hwsim.study.data import draws as distributions
from hwsim.study.data.draws import GENERATION, Bits, Floats, StreamKey, drawn

EXTREME = 60  # scales are from 2^-60 to 2^60
FREEDOMS = 100  # of Student's t; with more it is a normal distribution, nearly


class StudyModel(BaseModel):
    """A model of a part of a study: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _number(value: Any) -> Any:
    """A number, also where YAML reads it as a word (1e-3); truth values are refused."""
    if isinstance(value, bool):
        raise InputError("must be a number")
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise InputError("must be a number") from None
    return value


def _whole(value: Any) -> Any:
    number = _number(value)
    if not isinstance(number, (int, float)) or not float(number).is_integer():
        raise InputError("must be a whole number")
    return int(number)


def _must(holds: Callable[[float], bool], rule: str) -> AfterValidator:
    def check(value: float) -> float:
        if not holds(value):
            raise InputError(f"must be {rule}")
        return value

    return AfterValidator(check)


def _between(low: float, high: float) -> AfterValidator:
    return _must(lambda value: low <= value <= high, f"{low:g} to {high:g}")


Number = Annotated[float, BeforeValidator(_number), Field(allow_inf_nan=False)]
Scale = Annotated[
    Number,
    _must(lambda value: value > 0, "greater than 0"),
    _must(lambda value: 2.0**-EXTREME <= value <= 2.0**EXTREME, f"2^-{EXTREME} to 2^{EXTREME}"),
]
Shift = Annotated[Number, _must(lambda value: abs(value) <= 2.0**EXTREME, f"-2^{EXTREME} to 2^{EXTREME}")]
Share = Annotated[Number, _must(lambda value: 0 < value <= 1, "greater than 0 and at most 1")]
# exp(40 + 5 * 8.3) is below 2^118; exp(10 * 8.3) is too.
LogMean = Annotated[Number, _between(-40, 40)]
LogDeviation = Annotated[Scale, _between(0, 5)]
LogitDeviation = Annotated[Scale, _between(0, 10)]
Correlation = Annotated[Number, _between(-1, 1)]
Freedom = Annotated[int, BeforeValidator(_whole), _between(1, FREEDOMS)]


class Source(StudyModel):
    """One factor's numbers. They are drawn as vectors along K: rows of A, and columns of B."""

    @abstractmethod
    def vectors(self, place: StreamKey, count: int) -> Floats:
        """float64[count, place.length]. A vector depends on its index alone, not on the count."""

    def changed(self) -> dict[str, Any]:
        """The parameters that differ from their defaults."""
        return {
            key: value
            for key, value in self.model_dump().items()
            if key != "distribution" and value != type(self).model_fields[key].default
        }


class _Alike(Source):
    """Numbers that are drawn independently, all from the same distribution."""

    def vectors(self, place: StreamKey, count: int) -> Floats:
        streams = [place.stream(part) for part in self.parts]
        return drawn(count * place.length, self.numbers, *streams).reshape(count, place.length)

    @property
    def parts(self) -> tuple[str, ...]:
        """A name for each stream of bits that a number is made of."""
        return ("numbers",)

    @abstractmethod
    def numbers(self, *bits: Bits) -> Floats:
        """The numbers of random bits, of one stream for each of `parts`."""


class NormalSource(_Alike):
    """The normal distribution: weights, and activations behind a normalisation."""

    distribution: Literal["normal"] = "normal"
    mean: Shift = 0.0
    deviation: Scale = 1.0

    def numbers(self, *bits: Bits) -> Floats:
        return self.mean + self.deviation * distributions.normal(*bits)


class UniformSource(_Alike):
    """The uniform distribution from low to high."""

    distribution: Literal["uniform"] = "uniform"
    low: Shift = -1.0
    high: Shift = 1.0

    @model_validator(mode="after")
    def _ordered(self) -> UniformSource:
        if not self.low < self.high:
            raise RuleError("high", f"must be greater than low ({self.low:g}), not {self.high:g}")
        return self

    def numbers(self, *bits: Bits) -> Floats:
        return self.low + (self.high - self.low) * bits[0].unit


class LogNormalSource(_Alike):
    """exp of a normal number, with a random sign: magnitudes over many binades, as of gradients."""

    distribution: Literal["log-normal"] = "log-normal"
    mu: LogMean = 0.0
    sigma: LogDeviation = 1.0
    signed: bool = True

    def numbers(self, *bits: Bits) -> Floats:
        size = distributions.exp(self.mu + self.sigma * distributions.normal(bits[0]))
        return np.where(bits[0].other, -size, size) if self.signed else size


class StudentTSource(_Alike):
    """Student's t: heavy tails, the heavier the fewer the degrees of freedom."""

    distribution: Literal["student-t"] = "student-t"
    freedom: Freedom = 4
    scale: Scale = 1.0

    @property
    def parts(self) -> tuple[str, ...]:
        return ("numbers", *(f"chi-squared {i}" for i in range(distributions.student_t_parts(self.freedom))))

    def numbers(self, *bits: Bits) -> Floats:
        return self.scale * distributions.student_t(self.freedom, *bits)


class LaplaceSource(_Alike):
    """An exponential number with a random sign: sharper than a normal distribution, with tails in between."""

    distribution: Literal["laplace"] = "laplace"
    scale: Scale = 1.0

    def numbers(self, *bits: Bits) -> Floats:
        return self.scale * bits[0].signed(distributions.exponential(bits[0]))


class NonNegativeSource(_Alike):
    """Numbers that are never negative, as behind an activation function: sums only grow."""

    distribution: Literal["non-negative"] = "non-negative"
    kind: Literal["relu-normal", "half-normal", "exponential"] = "relu-normal"
    scale: Scale = 1.0

    def numbers(self, *bits: Bits) -> Floats:
        if self.kind == "exponential":
            return self.scale * distributions.exponential(bits[0])
        size = distributions.half_normal(bits[0])
        return self.scale * (np.where(bits[0].negative, 0.0, size) if self.kind == "relu-normal" else size)


class OutliersSource(Source):
    """Normal numbers, those of some channels (indices along K) `factor` times larger, as in activations.

    fraction: of the channels, at least one. Which ones they are depends on the seed and the data's name, not on the
    trial; each factor has its own.
    """

    distribution: Literal["outliers"] = "outliers"
    deviation: Scale = 1.0
    fraction: Share = 0.01
    factor: Scale = 50.0

    def vectors(self, place: StreamKey, count: int) -> Floats:
        vectors = NormalSource(deviation=self.deviation).vectors(place, count)
        words = place.lasting("channels").words(place.length)
        wide = max(1, int(self.fraction * place.length + 0.5))
        vectors[:, distributions.largest(words, wide)] *= self.factor
        return vectors


class SoftmaxSource(Source):
    """Vectors along K that are a softmax of normal numbers: attention's probabilities, which add to 1."""

    distribution: Literal["softmax"] = "softmax"
    deviation: LogitDeviation = 1.0

    def vectors(self, place: StreamKey, count: int) -> Floats:
        logits = NormalSource(deviation=self.deviation).vectors(place, count)
        size = distributions.exp(logits.reshape(-1)).reshape(logits.shape)
        return np.asarray(size / distributions.tree_sum(size)[..., np.newaxis])


class CorrelatedSource(Source):
    """Normal numbers of which those of A and B share a part v_k, for both sides together.

    Every pair (a_ik, b_kj) that is multiplied has that correlation, and the mean of its product is correlation times
    deviation^2.
    """

    distribution: Literal["correlated"] = "correlated"
    correlation: Correlation = 0.5
    deviation: Scale = 1.0

    def vectors(self, place: StreamKey, count: int) -> Floats:
        """deviation (sqrt(c) v_k + sqrt(1 - c) z_ik), c = |correlation|; B's v_k have its sign."""
        size = np.float64(abs(self.correlation))
        common = drawn(place.length, distributions.normal, place.shared("correlated"))
        independent = NormalSource().vectors(place, count)
        sign = -1.0 if place.side == "b" and self.correlation < 0 else 1.0
        return np.asarray(self.deviation * (sign * np.sqrt(size) * common + np.sqrt(1.0 - size) * independent))


DISTRIBUTIONS: dict[str, type[Source]] = {
    kind.model_fields["distribution"].default: kind
    for kind in (
        NormalSource,
        UniformSource,
        LogNormalSource,
        StudentTSource,
        LaplaceSource,
        OutliersSource,
        NonNegativeSource,
        SoftmaxSource,
        CorrelatedSource,
    )
}


KEPT = 8  # tensors that stay open


class Tensor(Source):
    """A tensor of a .npy, .npz or .safetensors file, as numbers that are rounded to binary32.

    tensor: `FILE.npy`, `FILE.npz:NAME` or `FILE.safetensors:NAME`. A row is a vector along K where it is A, a column
    where it is B; transpose: the other way round, as weights are mostly kept. A tensor of one axis is one vector.
    A trial takes vectors at random, none twice, and the first K numbers of each.
    """

    tensor: str
    transpose: bool = False

    @property
    def stored(self) -> StoredArray:
        """The tensor, mapped. Raises ValueError for a file that is not there or holds no matrix of floats."""
        path = file_of(self.tensor)
        try:
            status = path.stat()
            return _opened(self.tensor, status.st_mtime_ns, status.st_size)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from None

    def matrix(self, side: str) -> NDArray[Any]:
        array = self.stored.array
        if array.ndim == 1:
            return array[np.newaxis, :]
        return array if self.transpose == (side == "b") else array.T

    def vectors(self, place: StreamKey, count: int) -> Floats:
        self.check_size(place.side, place.length, count)
        matrix = self.matrix(place.side)
        chosen = place.stream("vectors").sample(range(len(matrix)), count)
        return numbers(self.stored.kind, matrix[chosen, : place.length]).astype(np.float64)

    def check_size(self, side: str, length: int, count: int) -> None:
        """Raises ValueError where a trial needs more vectors than there are, or longer ones."""
        there, long = self.matrix(side).shape
        vector = "row" if self.transpose == (side == "b") else "column"
        if long < length:
            raise InputError(f"{self.tensor}: each {vector} has {long} numbers, but the length is {length}")
        if there < count:
            many = "one vector" if self.stored.array.ndim == 1 else f"{there} of {_shown_shape(self.stored)}"
            raise InputError(f"{self.tensor}: holds {many}, but a trial takes {count} {vector}s, none twice")

    def check_finite(self) -> None:
        """Raises ValueError for the first number that is not finite in binary32."""
        stored = self.stored
        for rows in parts(stored.array):
            with np.errstate(over="ignore"):
                wrong = ~np.isfinite(numbers(stored.kind, stored.array[rows]).astype(np.float32))
            if wrong.any():
                index = np.argwhere(wrong)[0].tolist()
                index[0] += rows.start
                value = numbers(stored.kind, stored.array[tuple(index)])
                beyond = ", which binary32 does not hold" if np.isfinite(value) else ""
                raise InputError(f"{self.tensor}: {index} is {value}{beyond}; every number must be finite")

    def content(self) -> dict[str, Any]:
        """The identity of the tensor, wherever it is stored: its shape, and a hash of the numbers in binary32."""
        stored, sha256 = self.stored, hashlib.sha256()
        for rows in parts(stored.array):
            with np.errstate(over="ignore"):
                sha256.update(numbers(stored.kind, stored.array[rows]).astype("<f4").tobytes())
        return {"shape": list(stored.shape), "sha256": sha256.hexdigest(), "transpose": self.transpose}


@lru_cache(KEPT)
def _opened(name: str, _changed: int, _size: int) -> StoredArray:
    stored = read(name)
    if stored.kind not in NUMBERS:
        raise InputError(f"{name}: holds {stored.kind}; it must hold floats, as integers may be codes of any format")
    if stored.array.ndim not in (1, 2):
        raise InputError(
            f"{name}: is {_shown_shape(stored)}; it must have one axis or two: reshape it, or take one matrix"
        )
    if not stored.array.size:
        raise InputError(f"{name}: is {_shown_shape(stored)}; it holds no number")
    return stored


def _shown_shape(stored: StoredArray) -> str:
    return " x ".join(map(str, stored.shape)) or "a single number"


SIDES = ("a", "b")
Name = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]


class Data(StudyModel):
    """The numbers of A and of B. name: keys what is drawn, with the seed, the length and the trial."""

    name: Name
    a: SerializeAsAny[Source]
    b: SerializeAsAny[Source]

    @model_validator(mode="after")
    def _both_correlated(self) -> Data:
        for side, source, other in (("a", self.a, self.b), ("b", self.b, self.a)):
            if isinstance(source, CorrelatedSource) and source != other:
                raise RuleError(side, "must not be correlated unless the other side is, with the same parameters")
        return self

    @property
    def tensors(self) -> dict[str, Tensor]:
        sides = {"a": self.a, "b": self.b}
        return {side: source for side, source in sides.items() if isinstance(source, Tensor)}


class Drawn(NamedTuple):
    """The numbers of a trial. a: float32[rows, K]. b: float32[K, columns]."""

    a: NDArray[np.float32]
    b: NDArray[np.float32]


def draw(data: Data, seed: int, trial: int, length: int, rows: int, columns: int) -> Drawn:
    """The numbers of a trial, rounded to nearest, to binary32. All are finite.

    They depend on the arguments alone, bit for bit, on every machine and in every version of Python and NumPy. With
    more rows or columns the first ones stay as they are.
    Raises ValueError for a size below 1, and as `check` does.
    """
    _check_sizes(length=length, rows=rows, columns=columns)
    a = data.a.vectors(StreamKey(seed, data.name, "a", length, trial), rows)
    b = data.b.vectors(StreamKey(seed, data.name, "b", length, trial), columns)
    return Drawn(a.astype(np.float32), np.ascontiguousarray(b.T.astype(np.float32)))


def check(data: Data, lengths: Iterable[int], rows: int, columns: int) -> None:
    """Reads all tensors. Raises ValueError where trials of those sizes could not be drawn.

    That is where a file is missing or holds no matrix of floats, a number is not finite, or there are too few.
    """
    wanted = list(lengths)
    for length in wanted:
        _check_sizes(length=length, rows=rows, columns=columns)
    for side, tensor in data.tensors.items():
        for length in wanted:
            tensor.check_size(side, length, rows if side == "a" else columns)
        tensor.check_finite()


def digest(data: Data) -> str:
    """A hash of all that `draw` depends on besides its other arguments: the name, the parameters, tensors' numbers.

    It does not depend on where tensors are stored. Raises ValueError for a tensor that cannot be read.
    """
    sides = {
        side: source.content() if isinstance(source, Tensor) else source.model_dump()
        for side, source in zip(SIDES, (data.a, data.b), strict=True)
    }
    text = json.dumps({"generation": GENERATION, "name": data.name, **sides}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _check_sizes(**sizes: Any) -> None:
    for name, size in sizes.items():
        if size < 1:
            raise InputError(f"{name} must be at least 1, not {size}")


Entry = str | Mapping[str, Any]
KINDS = "distribution, tensor, or a and b"


def parse_data(entry: Entry, folder: Path) -> Data:
    """The data that an entry describes; `hwsim docs study-data` has all forms.

    entry: a distribution's name or a tensor's file, with or without parameters, `outliers:factor=100`; the same as a
    mapping; or a mapping with `a` and `b`, which are one of these each. A mapping may give a `name`; else it is the
    short form. folder: what a tensor's path is relative to; the data have the absolute one, for workers elsewhere.
    Raises RuleError, a ValueError, with the key, the rule and the value.
    """
    fields = _fields(entry, ())
    name = fields.pop("name", None)
    if any(side in fields for side in SIDES):
        _check_keys(fields, ("name", *SIDES), "data", ())
        for side in SIDES:
            if side not in fields:
                raise RuleError(side, "is missing: data with one of a and b must have both")
        sides = [_fields(fields[side], (side,)) for side in SIDES]
        labels = [_label(_source(side, name, None)) for side, name in zip(sides, SIDES, strict=True)]
        sources = [_source(side, name, folder) for side, name in zip(sides, SIDES, strict=True)]
        label = " x ".join(labels)
    else:
        label = _label(_source(fields, None, None))
        sources = _both(_source(fields, None, folder))
    try:
        return Data(name=label if name is None else name, a=sources[0], b=sources[1])
    except ValidationError as error:
        raise _explained(error, ()) from None


def _both(source: Source) -> list[Source]:
    """One source for both sides. Of a tensor, A and B take the same vectors, and so B's matrix is the transpose."""
    if isinstance(source, Tensor):
        return [source, source.model_copy(update={"transpose": not source.transpose})]
    return [source, source]


def _fields(entry: Any, prefix: tuple[str, ...]) -> dict[str, Any]:
    if isinstance(entry, Mapping):
        return {str(key): value for key, value in entry.items()}
    if not isinstance(entry, str):
        raise RuleError(".".join(prefix) or "data", f"must be a name or a mapping, not {entry!r}")
    short, parameters = entry.strip(), {}
    # The last colon with an equals sign: a tensor's name may have colons of its own.
    split = re.fullmatch(r"(.*?):(\s*[\w-]+\s*=.*)", short, re.DOTALL)
    if split:
        short = split[1].strip()
        for part in split[2].split(","):
            key, equals, value = part.partition("=")
            if not equals or not value.strip():
                raise RuleError(".".join((*prefix, key.strip())), f"must be written KEY=VALUE, not {part!r}")
            parameters[key.strip()] = value.strip()
    return {"tensor" if names_a_file(short) else "distribution": short, **parameters}


def _source(fields: dict[str, Any], side: str | None, folder: Path | None) -> Source:
    """The source of a side's keys. folder: None leaves a tensor's path as it is written."""
    prefix = () if side is None else (side,)
    if "tensor" in fields:
        kind: type[Source] = Tensor
        path = fields["tensor"]
        if not isinstance(path, str) or not names_a_file(path):
            rule = "must be FILE.npy, FILE.npz, FILE.npz:NAME, FILE.safetensors or FILE.safetensors:NAME"
            raise RuleError(".".join((*prefix, "tensor")), f"{rule}, not {path!r}")
        fields = fields if folder is None else {**fields, "tensor": str(folder.absolute() / path)}
    elif "distribution" in fields:
        name = fields["distribution"]
        if not isinstance(name, str) or name not in DISTRIBUTIONS:
            rule = f"is unknown: {name!r}; {_meant(str(name), DISTRIBUTIONS)}"
            raise RuleError(".".join((*prefix, "distribution")), rule)
        kind = DISTRIBUTIONS[name]
    else:
        raise RuleError(".".join(prefix) or "data", f"must have {KINDS}, not {', '.join(fields) or 'nothing'}")
    spelling = fields.get("distribution", "tensor") if kind is not Tensor else "tensor"
    _check_keys(fields, kind.model_fields, spelling, prefix)
    try:
        return kind(**fields)
    except ValidationError as error:
        raise _explained(error, prefix) from None


def _check_keys(fields: Iterable[str], known: Iterable[str], kind: str, prefix: tuple[str, ...]) -> None:
    keys = list(known)
    for key in fields:
        if key not in keys:
            raise RuleError(".".join((*prefix, key)), f"is no key of {kind}; {_meant(key, keys)}")


def _meant(name: str, known: Iterable[str]) -> str:
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]}?" if close else f"known: {', '.join(names)}"


def _explained(error: ValidationError, prefix: tuple[str, ...]) -> RuleError:
    """The first error of a validation, with its key."""
    first = error.errors()[0]
    inside, rule = broken_rule(first)
    return RuleError(".".join(map(str, (*prefix, *first["loc"], *inside))) or "data", rule)


def _label(source: Source) -> str:
    """The short form, with the parameters that are not their defaults."""
    changed = source.changed()
    name = changed.pop("tensor", None) or getattr(source, "distribution", "")
    parameters = ",".join(f"{key}={_shown_value(value)}" for key, value in changed.items())
    return f"{name}:{parameters}" if parameters else str(name)


def _shown_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
