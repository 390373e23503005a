"""Kinds of parameters. Their limits keep every number that is drawn inside binary32."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

EXTREME = 60  # scales are from 2^-60 to 2^60
FREEDOMS = 100  # of Student's t; with more it is a normal distribution, nearly


class StudyModel(BaseModel):
    """A model of a part of a study: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _number(value: Any) -> Any:
    """A number, also where YAML reads it as a word (1e-3); truth values are refused."""
    if isinstance(value, bool):
        raise ValueError("must be a number")
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            raise ValueError("must be a number") from None
    return value


def _scale(value: float) -> float:
    if not value > 0:
        raise ValueError("must be greater than 0")
    if not 2.0**-EXTREME <= value <= 2.0**EXTREME:
        raise ValueError(f"must be 2^-{EXTREME} to 2^{EXTREME}")
    return value


def _shift(value: float) -> float:
    if abs(value) > 2.0**EXTREME:
        raise ValueError(f"must be -2^{EXTREME} to 2^{EXTREME}")
    return value


def _whole(value: Any) -> Any:
    number = _number(value)
    if not isinstance(number, (int, float)) or not float(number).is_integer():
        raise ValueError("must be a whole number")
    return int(number)


def _share(value: float) -> float:
    if not 0 < value <= 1:
        raise ValueError("must be greater than 0 and at most 1")
    return value


def _between(low: float, high: float) -> AfterValidator:
    def check(value: float) -> float:
        if not low <= value <= high:
            raise ValueError(f"must be {low:g} to {high:g}")
        return value

    return AfterValidator(check)


Number = Annotated[float, BeforeValidator(_number), Field(allow_inf_nan=False)]
Scale = Annotated[Number, AfterValidator(_scale)]
Shift = Annotated[Number, AfterValidator(_shift)]
Share = Annotated[Number, AfterValidator(_share)]
# exp(40 + 5 * 8.3) is below 2^118; exp(10 * 8.3) is too.
LogMean = Annotated[Number, _between(-40, 40)]
LogDeviation = Annotated[Number, AfterValidator(_scale), _between(0, 5)]
LogitDeviation = Annotated[Number, AfterValidator(_scale), _between(0, 10)]
Correlation = Annotated[Number, _between(-1, 1)]
Freedom = Annotated[int, BeforeValidator(_whole), _between(1, FREEDOMS)]
