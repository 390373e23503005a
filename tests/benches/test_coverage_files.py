"""Coverage files say what was counted, as the libraries read them whose formats they have."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from cocotb_coverage.coverage import CoverPoint, coverage_db, merge_coverage
from ucis.report.coverage_report_builder import CoverageReportBuilder
from ucis.xml import validate_ucis_xml
from ucis.xml.xml_reader import XmlReader

from hwsim.base.errors import InputError
from hwsim.cocotb import Coverage, stimulus

NAME = "rvbna-e4m3-f32-n4"


@pytest.fixture(scope="module")
def some() -> Coverage:
    """Every other of the directed cases."""
    coverage = Coverage(NAME)
    for each in list(stimulus(coverage.unit))[::2]:
        coverage.sample(each.case)
    return coverage


@pytest.fixture(scope="module")
def others() -> Coverage:
    """The remaining ones."""
    coverage = Coverage(NAME)
    for each in list(stimulus(coverage.unit))[1::2]:
        coverage.sample(each.case)
    return coverage


def test_ucis_says_what_was_counted(some: Coverage, tmp_path: Path) -> None:
    path = tmp_path / "ucis.xml"
    some.write(path, "ucis")
    validate_ucis_xml(str(path))  # against the schema of the standard
    (group,) = CoverageReportBuilder.build(XmlReader().read(str(path))).covergroups
    points = {point.name: point for point in group.coverpoints}
    groups = some.groups()
    assert list(points) == [one.name for one in groups]
    for one in groups:
        bins = {each.name: each.count for each in points[one.name].bins}
        assert bins == {each.name: each.hits for each in one.bins if each.state != "unreachable"}
        assert {each.name for each in points[one.name].ignore_bins} == {each.name for each in one.of("unreachable")}


def test_a_file_that_is_no_ucis_is_found(some: Coverage, tmp_path: Path) -> None:
    path = tmp_path / "ucis.xml"
    some.write(path, "ucis")
    path.write_text(path.read_text().replace("coverpointBin", "coverpointbin"))
    with pytest.raises(Exception, match="coverpointbin"):
        validate_ucis_xml(str(path))


def test_cocotb_coverage_merges_what_two_runs_counted(some: Coverage, others: Coverage, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("some.xml", "others.xml", "merged.xml")]
    some.write(paths[0])
    others.write(paths[1])
    merge_coverage(lambda text: None, str(paths[2]), *map(str, paths[:2]))
    both = Coverage(NAME)
    both.counter.merge(some.counter)
    both.counter.merge(others.counter)
    both.write(tmp_path / "both.xml")
    assert both.counts.hit > max(some.counts.hit, others.counts.hit)
    assert elements(paths[2]) == elements(tmp_path / "both.xml")


def elements(path: Path) -> list[dict[str, Any]]:
    """What each element says; a percentage as a number."""
    every = [dict(one.attrib) for one in ElementTree.parse(path).iter()]
    return [one | {"cover_percentage": float(one.get("cover_percentage", 0))} for one in every]


def test_the_file_has_the_shape_that_cocotb_coverage_writes(some: Coverage, tmp_path: Path) -> None:
    coverage_db.clear()

    @CoverPoint("top.unit.G6", xf=lambda value: value, bins=["1", "2", "3"])  # type: ignore[untyped-decorator]
    def sampled(value: str) -> None:
        return

    sampled("2")
    coverage_db.export_to_xml(str(tmp_path / "theirs.xml"))
    some.write(tmp_path / "ours.xml")
    theirs, ours = shape(tmp_path / "theirs.xml"), shape(tmp_path / "ours.xml")
    assert theirs == ours[: len(theirs)]


def shape(path: Path) -> list[list[str]]:
    """Which attributes the top, its first element, and so on down, have."""
    element, found = ElementTree.parse(path).getroot(), list[list[str]]()
    while len(element):
        found.append(sorted(element.attrib))
        element = element[0]
    return [*found, sorted(element.attrib)]


def test_no_other_format_is_written(some: Coverage, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="format must be one of cocotb-coverage, ucis, not 'ucdb'"):
        some.write(tmp_path / "coverage", "ucdb")  # type: ignore[arg-type]
