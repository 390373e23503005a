"""An explanation as JSON: every stage as text, and the windows of its groups as bits."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from hwsim.model.record import Explanation
from hwsim.report.fit import Text
from hwsim.report.picture import Picture, picture
from hwsim.report.sentences import group_lines, group_title, result_text, title
from hwsim.words import counted

MOST_GROUPS = 4


class GroupJson(BaseModel):
    """One fused sum. lines: every stage, as text. window: the aligned terms as bits, where the sum has a window."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    index: int
    title: Text
    lines: tuple[Text, ...]
    window: Picture | None = None


class ExplanationJson(BaseModel):
    """A dot product. left_out: groups that are not among `groups`. result: the model's, in a line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Text
    groups: tuple[GroupJson, ...]
    left_out: int = 0
    result: Text

    @property
    def lines(self) -> list[str]:
        """All of it as text: what `hwsim explain` prints."""
        lines = [self.title]
        for group in self.groups:
            lines += ["", group.title, *group.lines]
        if self.left_out:
            lines += ["", f"{counted(self.left_out, 'more group')} left out"]
        return [*lines, "", self.result]


def explanation(record: Explanation, group: int | None = None, most: int = MOST_GROUPS) -> ExplanationJson:
    """The record of a dot product as JSON has it; of a long one, the first groups and the named one.

    group: the one that must be among them. most: so many at most.
    """
    groups = record.groups
    chosen = sorted({*range(min(len(groups), most - (group is not None))), *([] if group is None else [group])})
    kept = tuple(
        GroupJson(
            index=index,
            title=group_title(groups[index]),
            lines=tuple(group_lines(record, groups[index])),
            window=picture(groups[index]),
        )
        for index in chosen
    )
    return ExplanationJson(
        title=title(record), groups=kept, left_out=len(groups) - len(kept), result=result_text(record)
    )
