"""Study files, validated when they are read, and the points that their grids describe."""

from hwsim.study.plan.grid import Point, points
from hwsim.study.plan.study import Study, load_study

__all__ = ["Point", "Study", "load_study", "points"]
