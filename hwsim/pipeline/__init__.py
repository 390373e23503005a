"""The cycle-level model of a unit: beats in, results out, on a clock."""

from hwsim.pipeline.beat import Beat, Result
from hwsim.pipeline.unit import PipelinedUnit

__all__ = ["Beat", "PipelinedUnit", "Result"]
