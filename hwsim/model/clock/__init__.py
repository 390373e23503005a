"""The cycle-level model of a unit: beats in, results out, on a clock."""

from hwsim.model.clock.beat import Beat, Result
from hwsim.model.clock.streamed import PipelinedStream
from hwsim.model.clock.support import supports
from hwsim.model.clock.unit import PipelinedUnit

__all__ = ["Beat", "PipelinedStream", "PipelinedUnit", "Result", "supports"]
