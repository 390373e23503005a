"""Profiles of GPUs and libraries: which unit and plan each call of a matrix product takes, shape by shape, as data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeAlias

import yaml
from pydantic import Field, model_validator

from hwsim.base.errors import InputError, InputTypeError
from hwsim.formats.catalog import looks_like_path, nearest
from hwsim.formats.yamlfile import RuleError, SpecError, read, validated
from hwsim.spec.catalog import load_unit
from hwsim.spec.fields import checked
from hwsim.spec.keys import Flag, Positive, SpecPart, Values
from hwsim.spec.plan import PartOrder, PartSum, ProductPlan, Split, Step
from hwsim.spec.unit import Unit

PROFILES = Path(__file__).with_name("profiles")
SHAPE = r"^[1-9][0-9]*x[1-9][0-9]*x[1-9][0-9]*$"
Operation = Literal["mm", "addmm", "scaled_mm", "sparse_mm"]
Scaling = Literal["none", "tensor", "row", "1x128,1x128", "1x128,128x128", "128x128,1x128"]


class ProfiledCall(SpecPart):
    """The call of a library, whatever the shape: operation, formats, scaling, accumulation and bias."""

    operation: Operation
    """The function, as PyTorch calls it."""
    a: Annotated[str, Values("a format's name")]
    """The factors' formats."""
    b: Annotated[str, Values("a format's name")]
    output: Annotated[str, Values("a format's name")]
    """The result's."""
    scaling: Scaling = "none"
    """One scale for each factor, for each row, or for blocks along K, of a's rows and of b's columns."""
    fast: Flag = True
    """PyTorch's `use_fast_accum`; without it partial sums of FP8 are promoted."""
    bias: Annotated[str, Values("a format's name, or none")] = "none"
    """The bias's."""

    def __str__(self) -> str:
        factors = self.a if self.a == self.b else f"{self.a} x {self.b}"
        words = [
            "" if self.scaling == "none" else f"scales {self.scaling}",
            "" if self.operation != "scaled_mm" or self.fast else "promoted",
            "" if self.bias == "none" else f"bias {self.bias}",
        ]
        return f"{self.operation} {factors} to {self.output}{''.join(f', {word}' for word in words if word)}"


class KnownProduct(NamedTuple):
    """The unit and the plan that compute a call, as a profile knows them.

    parts: all numbers of parts of K that explain the captured results, the first of which the plan has.
    """

    unit: Unit
    plan: ProductPlan
    parts: tuple[int, ...]


class ProfileRow(SpecPart):
    """A call, with the unit and the plan that explain it.

    shapes: from MxNxK to the parts of K, or several numbers that explain as well.
    """

    call: ProfiledCall
    """What was asked for."""
    unit: Annotated[str, Values("a unit's name")]
    """What computes each part."""
    changes: dict[str, Any] = Field(default_factory=dict)
    """Other keys of it, as `Unit.replace` takes them."""
    epilogue: tuple[Step, ...] = ()
    """What follows, as of a plan."""
    step: Positive = 128
    """Products between places where K may be cut, as of a split, and so the two keys that follow."""
    order: PartOrder = "contiguous"
    sum: PartSum = "sequential"
    shapes: dict[Annotated[str, Field(pattern=SHAPE)], Positive | tuple[Positive, ...]] = Field(min_length=1)
    """The shapes that were captured."""

    @model_validator(mode="after")
    def _rules(self) -> Self:
        try:
            self.whole_unit()
        except SpecError as error:
            raise RuleError("unit", f"must be a unit, with its changes: {error}") from None
        return self

    def whole_unit(self) -> Unit:
        """The unit that computes each part, with its changes."""
        unit = load_unit(self.unit)
        return unit.replace(self.changes) if self.changes else unit

    def known(self, shape: str, profile: str) -> KnownProduct:
        """The unit and the plan that explain a shape that was captured."""
        numbers = self.shapes[shape]
        parts = numbers if isinstance(numbers, tuple) else (numbers,)
        split = None if parts[0] == 1 else Split(parts=parts[0], step=self.step, order=self.order, sum=self.sum)
        source = (f"profile {profile}", f"{self.call}, {shape}")
        plan = ProductPlan(
            plan=f"{profile}-{shape}", evidence="captured", source=source, split=split, epilogue=self.epilogue
        )
        return KnownProduct(self.whole_unit(), plan, parts)


class Profile(SpecPart):
    """The calls of one version of a library on one GPU, as far as they are known.

    Of shapes that nobody asked, nothing is known.
    """

    profile: Annotated[str, Values("letters, digits, `_`, `.`, `-`")] = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")
    """The profile's name."""
    summary: Annotated[str, Values("text")] = ""
    """It in a line."""
    gpu: Annotated[str, Values("text")]
    """The GPU."""
    library: Annotated[str, Values("text")]
    """The library, its version, and through what it was asked."""
    source: Annotated[tuple[str, ...], Values("a list of texts")] = ()
    """Where the captures are from."""
    rows: tuple[ProfileRow, ...] = Field(min_length=1)
    """The calls."""

    @property
    def name(self) -> str:
        """The profile's name."""
        return self.profile

    def of(self, call: ProfiledCall) -> Iterator[tuple[tuple[int, int, int], KnownProduct]]:
        """Yield the shapes (M, N, K) of a call that were captured, and the unit and plan that explain each."""
        for row in self.rows:
            if row.call == call:
                yield from ((sizes(shape), row.known(shape, self.name)) for shape in row.shapes)

    def known(self, call: ProfiledCall, m: int, n: int, k: int) -> KnownProduct:
        """The unit and the plan that compute a call.

        Raises NotCaptured for a shape or a call that was not asked of this GPU and library.
        """
        every = dict(self.of(call))
        if (m, n, k) in every:
            return every[m, n, k]
        if not every:
            asked = "; ".join(dict.fromkeys(str(row.call) for row in self.rows))
            raise NotCaptured(f"profile {self.name} knows nothing of {call}; it has {asked}")
        near = sorted(every, key=lambda shape: math.dist(map(math.log2, shape), map(math.log2, (m, n, k))))[:3]
        raise NotCaptured(
            f"profile {self.name} does not know {call} of {m} x {n} x {k}: it has {len(every)} shapes, the nearest "
            f"{', '.join(' x '.join(map(str, shape)) for shape in near)}; give a plan, or capture it (hwsim docs plans)"
        )

    def same_rows(self, call: ProfiledCall, k: int) -> list[list[tuple[int, int]]]:
        """The captured (M, N) of a call, in classes in which a row of A and a column of B give the same element.

        That is batch invariance, as far as captures tell: the same unit, split and steps.
        """
        classes: dict[Any, list[tuple[int, int]]] = {}
        for (m, n, of), known in self.of(call):
            if of == k:
                classes.setdefault((known.unit, known.plan.split), []).append((m, n))
        return [sorted(shapes) for shapes in classes.values()]


class NotCaptured(InputError):
    """Raised for a product that a profile does not know."""


def sizes(shape: str) -> tuple[int, int, int]:
    """M, N and K of MxNxK."""
    m, n, k = map(int, shape.split("x"))
    return m, n, k


def profiles() -> list[str]:
    """The names of the profiles that ship with hwsim."""
    return sorted(path.stem for path in PROFILES.glob("*.yaml"))


# What names a profile, for `load_profile`.
ProfileLike: TypeAlias = Profile | str | Path | Mapping[str, Any]


def load_profile(given: ProfileLike) -> Profile:
    """The profile of a name that `hwsim plan profiles` lists, or in a YAML file. Raises as `load_unit`."""
    if isinstance(given, Profile):
        return given
    if isinstance(given, Mapping):
        return checked(Profile, dict(given))
    if not isinstance(given, (str, Path)):
        raise InputTypeError(f"profile must be a profile's name, a path or a profile, not {type(given).__name__}")
    if isinstance(given, Path) or looks_like_path(given):
        return _read(Path(given))
    if given not in profiles():
        raise SpecError(nearest("profile", given, profiles()))
    return _shipped(given)


@cache
def _shipped(name: str) -> Profile:
    return _read(PROFILES / f"{name}.yaml")


def _read(path: Path) -> Profile:
    return validated(Profile, read(path))


def profile_yaml(profile: Profile) -> str:
    """A profile as a YAML file that `load_profile` reads back."""
    data = profile.model_dump(mode="json", exclude_unset=True)
    return yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=118, allow_unicode=True)
