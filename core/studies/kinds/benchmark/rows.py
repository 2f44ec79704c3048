"""Rows of Table 2: rankers, their groups, and their number of seeds.

A ranker is trained once per seed if its seed changes anything, else once. A combination is run
once per seed if a member is; all its members, and its shuffles, then use that seed.
"""

import secrets
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shuffleproof.core.errors import DataError, UsageError
from shuffleproof.core.experiment.ranker_sets import expand
from shuffleproof.core.progress import Progress, run_to_end
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.base import RankerSpec
from shuffleproof.core.rankers.fit_cache import CachedRanker
from shuffleproof.core.rankers.name import INITIAL, REFERENCES, Kind, RankerName
from shuffleproof.core.rankers.outside.callable_ranker import CallableRanker
from shuffleproof.core.studies.resolved_rankers import FROM, has_no_recipe
from shuffleproof.core.studies.workbench import Workbench
from shuffleproof.core.words import counted

GROUPS = (
    "for comparison",
    "each document by itself",
    "the set of documents",
    "the set and its initial ranking",
    "from outside",
)
"""Groups of the table: references, the paper's three groups, external rankers.

These words are shown on the page, in files and on the terminal.
"""

TRIALS = "trials"
"""Fact with the number of tuning trials of the rows, by label."""


@dataclass(frozen=True)
class Row:
    """Row of the table.

    Attributes:
        label: `ranker`, `ranker@preset` or a combination's name, as the user wrote it.
        ranker: its recipe, as `RankerSpec.recipe` writes it; combinations have `members`.
        group: one of GROUPS.
        seeds: number of seeds; 1 if its seed changes nothing.
    """

    label: str
    ranker: Mapping[str, Any]
    group: str
    seeds: int

    @property
    def name(self) -> RankerName:
        """The parsed label."""
        return RankerName.of(self.label)


def tuned_in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """Notes on the tuned rows, by label.

    >>> tuned_in_words({"trials": {"mart@tuned_mine": 40}})
    {'mart@tuned_mine': '(tuned with 40 trials)'}
    """
    trials = facts.get(TRIALS, {})
    return {label: f"(tuned with {counted(made, 'trial')})" for label, made in trials.items()}


def rows_of(names: Sequence[str], preset: str, seeds: int) -> tuple[Row, ...]:
    """Rows of a table: the references, then the named rankers, without repetition.

    Raises:
        UnknownNameError: no such ranker or preset.
        UsageError: only references are named, or a stored ranker (`name#digits`), which cannot
            be trained again.

    >>> [row.label for row in rows_of(["dlcm@small"], "paper", 3)]
    ['ideal', 'initial ranking', 'random', 'dlcm@small']
    >>> [row.seeds for row in rows_of(["mart", "ranksvm", "rrf:mart+dlcm"], "paper", 3)[3:]]
    [1, 1, 3]
    """
    rows = tuple(_row(name, preset, seeds) for name in expand([*REFERENCES, *names]).values())
    if all(row.label in REFERENCES for row in rows):
        raise UsageError(
            "no ranker is named: name at least one, such as mart or feature:1 (the ideal, the "
            "initial ranking and random are always included)"
        )
    return rows


def _row(name: RankerName, preset: str, seeds: int) -> Row:
    label = str(name)
    if label == INITIAL:
        return Row(INITIAL, {"name": INITIAL}, GROUPS[0], 1)
    if has_no_recipe(name):
        return Row(label, {"name": label}, GROUPS[-1], 1)
    if any(leaf.digits for leaf in name.leaves):
        raise UsageError(
            f"{label} is a stored ranker and a benchmark trains with its own seeds: name "
            f"its recipe, such as {name.base}"
        )
    if name.options is not None:
        members = [_row(leaf, preset, seeds) for leaf in name.leaves]
        group = max((GROUPS[2], *(member.group for member in members)), key=GROUPS.index)
        recipe = {"name": label, "members": [dict(member.ranker) for member in members]}
        return Row(label, recipe, group, max(member.seeds for member in members))
    spec = registry.spec_of(name, preset)
    recipe = spec.recipe()
    group = GROUPS[0] if label in REFERENCES else group_of(spec)
    group = GROUPS[-1] if name.is_from_outside else group
    return Row(label, recipe, group, seeds if draws(recipe) else 1)


def draws(recipe: Mapping[str, Any]) -> bool:
    """True if another seed gives another ranker.

    LightGBM draws nothing if every tree sees every feature; linear rankers and RankBoost have no
    seed.

    >>> [draws(registry.spec("mart", preset).recipe()) for preset in ("paper", "tuned")]
    [False, True]
    """
    if "feature_share" in recipe:
        return bool(recipe["feature_share"] < 1)
    return "seed" in recipe or "seed" in recipe.get("training", {})


def group_of(spec: RankerSpec) -> str:
    """Group of a ranker in Table 2, by the inputs that it reads.

    >>> [group_of(registry.spec(name)) for name in ("lambdamart", "setrank-msab", "dlcm")]
    ['each document by itself', 'the set of documents', 'the set and its initial ranking']
    """
    if "neighbours" not in spec.reads:
        return GROUPS[1]
    feed = spec.recipe().get("model", {}).get("feed")
    return GROUPS[3] if spec.rankings or feed == "shown" else GROUPS[2]


def pin_content(rows: Sequence[Row], workbenches: Sequence[Workbench]) -> tuple[Row, ...]:
    """Rows in which external rankers carry the digest of their content.

    Raises:
        UsageError: scores in a file, which belong to one fold, with several folds.
    """
    fixed = []
    for row in rows:
        if not has_no_recipe(row.name):
            fixed.append(row)
            continue
        if row.name.is_scores and len(workbenches) > 1:
            raise UsageError(f"{row.label}: scores in a file belong to one fold; name that fold")
        digests = [_digest_of(workbench, row.name) for workbench in workbenches]
        fixed.append(replace(row, ranker={FROM: row.label, "digests": digests}))
    return tuple(fixed)


def _digest_of(workbench: Workbench, name: RankerName) -> str:
    """Digest of an external ranker; a random one if its function fails.

    Such a row fails and is tried again later, while the other rows are stored.
    """
    try:
        return run_to_end(workbench.identified(name)).digest
    except DataError:
        if name.kind is not Kind.FUNCTION:
            raise
        CallableRanker.from_name(name.head)  # refuse a missing function before any training
        return secrets.token_hex(32)


def trained_at(
    workbench: Workbench,
    name: RankerName,
    seed: int,
    wide: Workbench,
    changes: Mapping[str, str] | None = None,
) -> Generator[Progress, None, CachedRanker]:
    """Ranker of a row at one seed, trained or stored; likewise the members of a combination.

    `wide` may have more initial rankings in its lists, for rankers that read more of them.
    """
    if name.digits:
        return (yield from workbench.train(name))
    if name.options is not None:
        return (
            yield from wide.combined(
                name.parts,
                name.options.at(seed),
                lambda part, changes: trained_at(workbench, part, seed, wide, changes),
            )
        )
    spec = registry.spec_of(name, workbench.preset)
    seeded = {"seed": str(seed)} if seed and draws(spec.recipe()) else {}
    reads_more = spec.rankings > workbench.prepared.test.lists.rankings
    return (
        yield from (wide if reads_more else workbench).train(name, {**seeded, **(changes or {})})
    )
