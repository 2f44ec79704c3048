"""The commands that run studies."""

import argparse
from pathlib import Path

from shuffleproof.core.cli.answer import Answer, records, table
from shuffleproof.core.cli.flags_measures import DIGITS
from shuffleproof.core.cli.open import asked, done
from shuffleproof.core.metrics.measure import Measure
from shuffleproof.core.perturb.registry import entry_of
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.kinds.invariance.certificate import Certificate, certificates
from shuffleproof.core.studies.kinds.ranking_degradation import study as figure
from shuffleproof.core.studies.result import StudyResult, stored_summary


def initial_ranking(arguments: argparse.Namespace) -> Answer:
    """`study initial-ranking`: the curves of Figure 3, and the sentence they amount to."""
    question, scope = asked("initial-ranking", arguments)
    artefact = done("initial ranking", question.study(scope))
    answer = {"result": str(artefact.key), "summary": summary_of(artefact)}
    answer["findings"] = findings_of(StudyResult.open(artefact.path))
    return Answer(answer, figure_text(artefact, arguments.digits))


def findings_of(result: StudyResult) -> list[dict[str, object]]:
    """What each family and measure of a Figure 3 shows: convention, sentence, the paper's claim."""
    families = dict.fromkeys(family for family, _ in result.recipe["perturbations"])
    return [
        {
            "family": family,
            "measure": measure,
            "convention": Measure.parse(measure).convention(),
            "finding": figure.finding(result, family, measure),
            "claim": figure.claim(result, family, measure) or None,
        }
        for family in families
        for measure in result.measures
    ]


def figure_text(artefact: Artefact, digits: int = DIGITS) -> str:
    """The curves as a table for the terminal: rankers × levels, then what they show."""
    result = StudyResult.open(artefact.path)
    summary = stored_summary(artefact.path)
    parts = []
    for (family, measure), group in summary.groupby(["family", "measure"], sort=False):
        wide = group.pivot_table("mean", "ranker", "level", sort=False)
        left = group.groupby("level")["tau"].mean()
        wide.loc["Kendall τ left"] = left
        unit = entry_of(str(family)).unit
        convention = Measure.parse(str(measure)).convention()
        parts += [f"{measure} under {family} ({unit})", wide.round(digits).to_string()]
        parts += [convention, ""]
        parts += [figure.finding(result, str(family), str(measure))]
        verdict = figure.claim(result, str(family), str(measure))
        if verdict:
            parts.append(
                f"{verdict['whose']} that {verdict['claim']}: {verdict['verdict']} here "
                f"(difference {verdict['difference']:+.3f}, p = {verdict['p']:.3g}, "
                f"n = {verdict['n']}, paired t)."
            )
        parts.append("")
    parts.append(f"stored as {artefact.key}")
    return "\n".join(parts)


def invariance(arguments: argparse.Namespace) -> Answer:
    """`study invariance`: real permutations of every test list, one certificate a ranker."""
    question, scope = asked("invariance", arguments)
    artefact = done("invariance", question.study(scope))
    cards = certificates_of(artefact)
    rows = [card.plain() for card in cards]
    text = [table([{key: row[key] for key in CARD} for row in rows]), ""]
    text += [card.sentence() for card in cards]
    return Answer(
        {"result": str(artefact.key), "summary": summary_of(artefact), "certificates": rows},
        "\n".join([*text, f"stored as {artefact.key}"]),
    )


CARD = (
    "ranker", "verdict", "max_score_deviation", "numeric_floor", "positions_moved", "lowest_tau",
    "queries_moved", "queries_untold", "queries", "distinct_orders", "failure_bound",
)  # fmt: skip


def certificates_of(artefact: Artefact) -> list[Certificate]:
    """The certificates of a stored invariance study."""
    result = StudyResult.open(artefact.path)
    reads = {label: frozenset(names) for label, names in artefact.facts["reads"].items()}
    return certificates(result, reads)


def summary_of(artefact: Artefact) -> list[dict[str, object]]:
    """The stored summary as rows."""
    path: Path = artefact.path
    return records(stored_summary(path))
