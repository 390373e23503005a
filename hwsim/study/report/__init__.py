"""Reports of studies: charts and tables as data, figures, Markdown, and one HTML page."""

from hwsim.study.report.charts import specification, svg, write_charts
from hwsim.study.report.contents import Axis, Chart, KeyNumber, Reference, StudyReport, TextTable, markdown
from hwsim.study.report.page import write_page

__all__ = [
    "Axis",
    "Chart",
    "KeyNumber",
    "Reference",
    "StudyReport",
    "TextTable",
    "markdown",
    "specification",
    "svg",
    "write_charts",
    "write_page",
]
