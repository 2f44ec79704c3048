"""Question of the study of set size."""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from shuffleproof.core.experiment.ranker_sets import named_rankers, seeds_of
from shuffleproof.core.parameters import parameter
from shuffleproof.core.progress import Progress
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.question import NAMED_RANKERS, Facts, Question, Scope

USUAL_DEPTH = 40


@dataclass(frozen=True)
class SetSize(Question):
    """Change of rankers trained on lists of N0 when they score lists of N1."""

    kind = "set-size"
    doing = "Vary the set size of"
    title = "Does a ranker trained on short lists work on long ones?"
    source = "SetRank (SIGIR 2020), Table 3"
    summary = "Table 3: train on N0, test on N1"
    tested = True
    sample: ClassVar[Mapping[str, Any]] = {"trained_on": (10, 20, 40), "sizes": (10, 20, 40)}
    printing = "curves(result, {measures[0]!r})"

    rankers: tuple[str, ...] = parameter(
        ("setrank-imsab", "setrank-msab", "dlcm-without-init"), NAMED_RANKERS, names="rankers"
    )
    trained_on: tuple[int, ...] | None = parameter(
        None,
        "training list lengths (N0); by default the smallest of --sizes, and the next up to 100",
        low=1,
        label="Training list length",
    )
    sizes: tuple[int, ...] | None = parameter(
        None,
        "test list lengths (N1); by default 40,240,500, or steps up to the longest list",
        low=1,
        label="Test list length",
    )
    seeds: int = parameter(1, "seeds of each ranker", low=1)
    measures: tuple[str, ...] = parameter(("NDCG@10",), "list of measures", names="measures")

    @classmethod
    def of(cls, recipe: Facts, _facts: Facts) -> "SetSize":
        """Question of a stored study.

        If no ranker is trained on lists, any tested size is used for N0.
        """
        rows, sizes = recipe["rows"], tuple(recipe["sizes"])
        any_size = USUAL_DEPTH if USUAL_DEPTH in sizes else int(sizes[0])
        trained_on = sorted({int(row["size"]) for row in rows if row["size"] is not None})
        return cls(
            tuple(named_rankers(rows)),
            tuple(trained_on or [any_size]),
            sizes,
            seeds_of(rows),
            tuple(recipe["measures"]),
        )

    def study(self, scope: Scope) -> Generator[Progress, None, Artefact]:
        """Open the data once per size; train on N0, test on N1."""
        from shuffleproof.core.studies.kinds.set_size import feasibility  # noqa: PLC0415 (only who works pays for it)

        study = self.module("study")
        sizes = self.sizes or feasibility.proposed_for(scope.pinned or scope.data, scope.store)
        workbenches = yield from study.open_cells([*sizes, *(self.trained_on or ())], scope)
        return (yield from study.run(workbenches, self))

    @classmethod
    def list_facts(cls, facts: Facts) -> Facts:
        """Facts with the default depth of lists, since the study sets its own sizes."""
        lists = facts.get("lists")
        return facts if lists is None else {**facts, "lists": {**lists, "depth": USUAL_DEPTH}}
