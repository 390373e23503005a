"""A user's sparse design: what metadata do not select does not count, and the rest is proved as of a dense design."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from hwsim.cases.case import Case
from hwsim.prove.sweeping import Alike
from hwsim.prove.terms import Term, Word, below, same, simplified, substituted, value, width
from hwsim.prove.unrolled import BeatResult
from hwsim.spec import SparseUnit

NAME = "selection"


@dataclass(frozen=True)
class SelectedBeat:
    """A beat of any metadata that ascend, through a design that claims to be a sparse unit.

    Group by group of what is kept together: its metadata are replaced by the first that ascend, what they select is put
    where these do, and zeros elsewhere. If no replacement changes the result, whatever the other groups are, all may be
    replaced, one after another: the result is that of a beat whose metadata are the first, and no others of b count.
    """

    unit: SparseUnit
    followed: BeatResult

    @property
    def groups(self) -> range:
        """The numbers of a beat's groups."""
        return range(len(self.followed.beat["a"]) // self.unit.sparsity.kept)

    def _b(self, group: int) -> Sequence[Term]:
        whole = self.unit.sparsity.whole
        return self.followed.beat["b"][group * whole : (group + 1) * whole]

    def _metadata(self, group: int) -> Sequence[Term]:
        keep = self.unit.sparsity.keep
        return self.followed.beat["metadata"][group * keep : (group + 1) * keep]

    def _given(self, group: int, pattern: Sequence[int]) -> dict[Term, Term]:
        """Metadata of a group as numbers."""
        return {term: value(index, width(term)) for term, index in zip(self._metadata(group), pattern, strict=True)}

    def _selected(self, group: int, pattern: Sequence[int]) -> list[Term]:
        run, b = self.unit.sparsity.run, self._b(group)
        return [term for index in pattern for term in b[index * run : (index + 1) * run]]

    def _first(self, group: int) -> dict[Term, Term]:
        """The first metadata of a group that ascend, and zeros for what they do not select."""
        first = self.unit.sparsity.patterns[0]
        selected = {term.id() for term in self._selected(group, first)}
        zeros = {term: value(0, width(term)) for term in self._b(group) if term.id() not in selected}
        return self._given(group, first) | zeros

    def _replaced(self, group: int, pattern: Sequence[int]) -> dict[Term, Term]:
        first = self._selected(group, self.unit.sparsity.patterns[0])
        return self._first(group) | dict(zip(first, self._selected(group, pattern), strict=True))

    @property
    def dense(self) -> BeatResult:
        """The beat with all groups replaced; its b are those that then are selected."""
        by = {term: code for group in self.groups for term, code in self._first(group).items()}
        b = [term for group in self.groups for term in self._selected(group, self.unit.sparsity.patterns[0])]
        beat = {name: terms for name, terms in self.followed.beat.items() if name != "metadata"}
        return replace(
            self.followed, beat=beat | {"b": tuple(b)}, result=simplified(substituted(self.followed.result, by))
        )

    @cached_property
    def _ascend(self) -> tuple[Term, ...]:
        """The condition that metadata ascend, and are below `of`."""
        rule, found = self.unit.sparsity, list[Term]()
        for group in self.groups:
            indices = self._metadata(group)
            found += [below(low, high) for low, high in pairwise(indices)]
            if rule.of < 1 << rule.index_bits:
                found.append(below(indices[-1], value(rule.of, width(indices[-1]))))
        return tuple(found)

    def decide(self, seconds: float) -> tuple[Word, tuple[Case, ...]]:
        """Whether all groups may be replaced; of a refuted replacement the beats before and after it."""
        end = time.thread_time() + seconds
        for group in self.groups:
            plain = simplified(substituted(self.followed.result, self._first(group)))
            for pattern in self.unit.sparsity.patterns:
                first = self._selected(group, self.unit.sparsity.patterns[0])
                by = dict(zip(first, self._selected(group, pattern), strict=True))
                before = simplified(substituted(self.followed.result, self._given(group, pattern)))
                after = simplified(substituted(plain, by))
                if before.id() == after.id():
                    continue
                shown = tuple(term for terms in self.followed.beat.values() for term in terms)
                claim = Alike(NAME, "", "", self._ascend, same(before, after), shown)
                answer = claim.decide(max(0.0, end - time.thread_time()))
                if answer.word != "proved":
                    return answer.word, self._cases(group, pattern, answer.model)
        return "proved", ()

    def _cases(self, group: int, pattern: Sequence[int], model: Mapping[str, int] | None) -> tuple[Case, ...]:
        if model is None:
            return ()
        codes = {term.id(): model.get(term.symbol(), 0) for terms in self.followed.beat.values() for term in terms}
        codes |= {term.id(): index for term, index in zip(self._metadata(group), pattern, strict=True)}
        by = self._replaced(group, pattern)
        after = codes | {
            term.id(): int(code.value(10)) if code.is_value() else codes[code.id()] for term, code in by.items()
        }
        return tuple(self._case(number, each) for number, each in enumerate((codes, after)))

    def _case(self, number: int, codes: Mapping[int, int]) -> Case:
        operands = self.unit.dense.operands
        formats = {"a": operands.a, "b": operands.b, "c": operands.addend}
        fields = dict[str, tuple[int, ...]]()
        for name, terms in self.followed.beat.items():
            fmt = formats.get(name)
            padding = 0 if fmt is None else fmt.padding
            fields[name] = tuple(codes[term.id()] >> padding << padding for term in terms)
        (c,) = fields.get("c", (0,))
        return Case(f"{NAME}/{number}", fields["a"], fields["b"], c, metadata=fields["metadata"])
