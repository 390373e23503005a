"""What a study shows: charts, tables and one page. Charts are data (parts), drawn without a network."""

from hwsim.study.report.charts import specification, svg, write_charts
from hwsim.study.report.page import write_page
from hwsim.study.report.parts import Axis, Chart, Reference, Report, Series, Table
from hwsim.study.report.tables import markdown

__all__ = [
    "Axis",
    "Chart",
    "Reference",
    "Report",
    "Series",
    "Table",
    "markdown",
    "specification",
    "svg",
    "write_charts",
    "write_page",
]
