"""Coverage of a test: a unit's bins, counted, and the files that other tools read: cocotb-coverage's, and UCIS."""

from __future__ import annotations

import getpass
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Literal
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from hwsim.base.errors import InputError
from hwsim.base.files import written
from hwsim.cases.bins.declare import CoverageBin
from hwsim.cases.bins.plan import Counter, labels, plan, planned
from hwsim.cases.case import Case
from hwsim.explain.record import BinCounts, CountedBin, CoverageGroup, bin_counts, coverage_groups
from hwsim.model.record import Explanation
from hwsim.spec.catalog import UnitLike, load_unit

FileFormat = Literal["cocotb-coverage", "ucis"]


class Coverage:
    """Counts the bins of a unit's plan (`hwsim docs coverage`) that dot products hit.

    counter: the counts. Bins of the ports (group G12) are of hwsim's own pipeline, and are left out.
    Raises NotImplementedYet for a unit without bins.
    """

    def __init__(self, unit: UnitLike):
        self.unit = load_unit(unit)
        self.counter = Counter(plan(self.unit))

    def sample(self, case: Case, explanation: Explanation | None = None) -> None:
        """Count the bins that a dot product hits. explanation: the definition's, if it is at hand."""
        self.counter.sample(case, explanation)

    def groups(
        self,
        *,
        name: str = "",
        reached: Collection[str] = (),
        interface: Sequence[CoverageBin] = (),
        traffic: Mapping[str, int] | None = None,
    ) -> tuple[CoverageGroup, ...]:
        """The bins by groups, each hit, missed, unreachable by a proof, or open: not hit, and perhaps unreachable.

        name: what the groups say of the unit. reached: bins known to be reachable beside those that were hit.
        interface: bins of a design's ports; traffic: their counts.
        """
        bins = [*(bin_ for bin_ in self.counter.plan.bins if bin_.how == "model"), *interface]
        counts = self.counter.counts | dict(traffic or {})
        hits = {bin_.name: counts[bin_.name] for bin_ in bins if counts.get(bin_.name)}
        shown = planned(bins, hits.keys() | set(reached))
        words = labels(self.unit, (bin_.name for bin_ in bins))
        return coverage_groups(shown, hits, unit=name or self.unit.name, **words)

    @property
    def counts(self) -> BinCounts:
        """The numbers of bins that were hit, and that were not; prints as a line of `hwsim cosim`."""
        return bin_counts(self.groups())

    def write(self, path: str | Path, format: FileFormat = "cocotb-coverage") -> None:
        """Write the counts as an XML file: that of cocotb-coverage, which its `merge_coverage` takes, or UCIS 1.0.

        Raises InputError for another format.
        """
        if format not in WRITERS:
            raise InputError(f"format must be one of {', '.join(WRITERS)}, not {format!r}")
        root = WRITERS[format](self.groups())
        indent(root)
        with written(Path(path)) as file:
            file.write(tostring(root, encoding="utf-8", xml_declaration=True))


def cocotb_coverage_xml(groups: Sequence[CoverageGroup]) -> Element:
    """Groups of one unit as cocotb-coverage 2 writes them: a coverpoint for each, without bins that are unreachable."""
    unit = _tag(groups[0].unit)
    counts = bin_counts(groups)
    top = Element("top", {"abs_name": "top", **_sizes(counts)})
    item = SubElement(top, unit, {"abs_name": f"top.{unit}", **_sizes(counts)})
    for group in groups:
        bins = _reachable(group)
        if not bins:
            continue
        name = f"top.{unit}.{group.name}"
        sizes = {"abs_name": name, **_sizes(group.counts), "weight": "1", "at_least": "1"}
        point = SubElement(item, group.name, sizes)
        for number, bin_ in enumerate(bins):
            SubElement(point, f"bin{number}", bin=bin_.name, hits=str(bin_.hits), abs_name=f"{name}.bin{number}")
    return top


def _tag(unit: str) -> str:
    """A unit's name as an element's, without what cocotb-coverage would take for a path's dots, or for bins."""
    return re.sub(r"^(?=[^A-Za-z_])|[^\w-]", "_", unit).replace("bin", "Bin")


def _sizes(counts: BinCounts) -> dict[str, str]:
    size = counts.reachable + counts.open
    return {
        "size": str(size),
        "coverage": str(counts.hit),
        "cover_percentage": f"{100 * counts.hit / size if size else 100:.2f}",
    }


def _reachable(group: CoverageGroup) -> list[CountedBin]:
    return [bin_ for bin_ in group.bins if bin_.state != "unreachable"]


def ucis_xml(groups: Sequence[CoverageGroup]) -> Element:
    """Groups of one unit as UCIS 1.0: a covergroup with a coverpoint for each; unreachable bins are `ignore` bins."""
    unit, now = groups[0].unit, datetime.now().isoformat(timespec="seconds")
    root = Element("UCIS", writtenBy=_user(), writtenTime=now, ucisVersion="1.0")
    SubElement(root, "sourceFiles", fileName=unit, id="1")
    SubElement(
        root, "historyNodes", historyNodeId="0", logicalName=unit, physicalName=unit, kind="1", testStatus="true",
        date=now, toolCategory="UCIS:simulator", ucisVersion="1.0", vendorId="hwsim", vendorTool="hwsim",
        vendorToolVersion=version("hwsim"),
    )  # fmt: skip
    place = {"file": "1", "line": "1", "inlineCount": "1"}
    instance = SubElement(root, "instanceCoverages", name=unit, key="0", instanceId="0", moduleName=unit)
    SubElement(instance, "id", place)
    covered = SubElement(SubElement(instance, "covergroupCoverage"), "cgInstance", name=unit, key="0")
    SubElement(covered, "options", weight="1", goal="100", at_least="1", per_instance="true", merge_instances="true")
    names = SubElement(covered, "cgId", cgName=unit, moduleName=unit)
    SubElement(names, "cginstSourceId", place)
    SubElement(names, "cgSourceId", place)
    for group in groups:
        point = SubElement(covered, "coverpoint", name=group.name, key="0")
        SubElement(point, "options", weight="1", goal="100", at_least="1", comment=group.title)
        for counted in group.bins:
            kind = "ignore" if counted.state == "unreachable" else "bins"
            bin_ = SubElement(point, "coverpointBin", name=counted.name, type=kind, key="0")
            interval = SubElement(bin_, "range", {"from": "-1", "to": "-1"})
            SubElement(interval, "contents", coverageCount=str(counted.hits))
    return root


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


WRITERS = {"cocotb-coverage": cocotb_coverage_xml, "ucis": ucis_xml}
