"""What a study is of: a file, validated where it enters, and the points that its grids stand for."""

from hwsim.study.plan.grid import LIMIT, Point, count, points
from hwsim.study.plan.study import Study, UnitEntry, load_study

__all__ = ["LIMIT", "Point", "Study", "UnitEntry", "count", "load_study", "points"]
