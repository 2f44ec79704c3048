"""The studies by name: what each asks, and the figure or table it answers."""

from dataclasses import dataclass


@dataclass(frozen=True)
class StudyEntry:
    """One study.

    Attributes:
        question: what it asks, in plain words; the title of its page.
        source: the figure, table or property it comes from.
        module: where `from_records` puts together what one that runs has found so far.
    """

    question: str
    source: str
    module: str = "core.studies.run"

    @property
    def summary(self) -> str:
        """The question."""
        return self.question


STUDIES = {
    "invariance": StudyEntry(
        "Does the order in which documents are shown change a ranker's answer?",
        "SetRank (SIGIR 2020), Proposition 1",
    ),
    "initial-ranking": StudyEntry(
        "If the initial ranking gets worse, how fast does each ranker follow?",
        "SetRank (SIGIR 2020), Figure 3",
    ),
    "benchmark": StudyEntry(
        "Which ranker is best here, by how much, and is the difference more than chance?",
        "SetRank (SIGIR 2020), Table 2",
        "core.studies.benchmark",
    ),
    "ablation": StudyEntry(
        "Where paper and released code part ways: what does each single difference do?",
        "SetRank (SIGIR 2020) and DLCM (SIGIR 2018) beside their released code",
    ),
    "set-size": StudyEntry(
        "Does a ranker that was trained on short lists still work on long ones?",
        "SetRank (SIGIR 2020), Table 3",
        "core.studies.set_size",
    ),
    "initial-rankings": StudyEntry(
        "What do several initial rankings add, and what if one of them is missing or wrong?",
        "SetRank (SIGIR 2020), Table 4",
        "core.studies.initial_rankings",
    ),
    "attention": StudyEntry(
        "Which documents does a ranker look at, and does the order shown change that?",
        "SetRank (SIGIR 2020), Equations 3 to 7; attention rollout, Abnar & Zuidema (ACL 2020)",
        "core.studies.attention",
    ),
    "perturbations": StudyEntry(
        "What can go wrong with an input, and which rankers survive it?",
        "presentation, ranking, set, features, labels, system; alone and chained",
    ),
    "worst-case": StudyEntry(
        "Which order within a budget hurts a ranker most, and how much worse is it than chance?",
        "greedy, beam and annealing search; certified 0 where a ranker is invariant",
        "core.studies.worst_case",
    ),
    "group-shuffles": StudyEntry(
        "How much does the order shown change a groupwise ranker, and do more shuffles help?",
        "GSF (Ai et al., ICTIR 2019): groups sampled by shuffles; the error is due to fall as 1/√S",
        "core.studies.group_shuffles",
    ),
    "card": StudyEntry(
        "How robust is a ranker, in the numbers that a paper would report?",
        "–",
    ),
}
