"""Study files, validated when they are read, and the points that their grids describe."""

from hwsim.study.plan.study import Point, Study, load_study, points

__all__ = ["Point", "Study", "load_study", "points"]
