"""Study files, validated when they are read, and the points that their grids describe."""

from hwsim.study.plan.grid import LIMIT, Point, count, points
from hwsim.study.plan.study import Study, UnitEntry, load_study

__all__ = ["LIMIT", "Point", "Study", "UnitEntry", "count", "load_study", "points"]
