"""Kinds of parameters. Their limits keep every number that is drawn inside binary32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from hwsim.base.errors import InputError

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
