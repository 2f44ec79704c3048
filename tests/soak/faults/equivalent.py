"""Faults that change no answer, each with the reason.

Told by file, text of the line and what becomes of it; `*` stands for whatever becomes of the line.
"""

from collections.abc import Iterator

from tests.soak.faults.covering import text_of
from tests.soak.faults.places import Fault, files, sites

EQUIVALENT: dict[tuple[str, str, str], str] = {
    ("core/metrics/blocks.py", "if label <= 0.0:", "<= → <: label <= 0.0"): (
        "the gain of a grade of 0 is 2⁰ − 1 = 0 in the lines below too"
    ),
    (
        "core/rankers/neural/ordinal_geometry.py",
        "shares = [*map(float, variance[:2]), 0.0, 0.0]",
        "2 → 3: 2",
    ): "only the first two are read",
    (
        "core/models/setrank.py",
        "return logits >= (FUSED_FROM_LOW if low else FUSED_FROM)",
        "*",
    ): "both ways give the same attention; which is taken is a matter of speed",
    (
        "core/models/gsf.py",
        "return value - (1 << 64) if value >= 1 << 63 else value",
        "<< → >>: 1 << 63",
    ): ("all three factors stand above 2⁶³, so that the test is true for any smaller bound"),
    (
        "core/models/gsf.py",
        "return value - (1 << 64) if value >= 1 << 63 else value",
        ">= → >: value >= 1 << 63",
    ): "none of the three factors is 2⁶³ itself",
    ("core/models/setrank.py", "shares_ranks = bool((tied > 1).any())", "1 → 0: 1"): (
        "the way for tied documents gives the same where none is tied"
    ),
    (
        "core/perturb/base.py",
        "stride = max(int(base.rows.max(initial=0)), int(rows.max(initial=0))) + 2",
        "2 → 3: 2",
    ): "any stride beyond the largest row keeps lists apart",
    (
        "core/studies/kinds/benchmark/table.py",
        "above = np.nansum(differences, axis=1) > 0",
        "> → >=: np.nansum(differences, axis=1) > 0",
    ): "a difference of 0 has a p value of 1 and no mark",
    (
        "core/studies/kinds/group_shuffles/sections.py",
        'error, tau = row["error"].iloc[0], row["tau"].iloc[0]',
        "0 → -1: 0",
    ): "a grouping and a number of shuffles are one row",
    (
        "core/store/archive.py",
        'zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,',
        "*",
    ): "how hard an archive is squeezed changes nothing in it",
    (
        "core/execution/devices.py",
        'if int(name.partition(":")[2] or 0) >= found:',
        "0 → -1: 0",
    ): "`cuda` alone is below any number of devices, and none was refused before",
    (
        "core/metrics/segments.py",
        "if len(lengths) and lengths[0] > 1 and (lengths == lengths[0]).all():",
        "0 → -1: 0",
    ): "where all lengths are equal the first is the last",
    (
        "core/rankers/boosting/bins.py",
        "sums[2, row[doc + 2]] += weights[doc + 2]",
        "2 → 3: 2",
    ): "of the row of sums, which are added up in the end; in a place it is noticed",
    (
        "core/data/benchmarks.py",
        "rank, place, distance, best = min(found, key=lambda one: one[:3])",
        "3 → 4: 3",
    ): "no size is equally far from two collections of one shape",
    (
        "core/data/letor/stream.py",
        "return _Decoded(raw, raw.tell, raw.seek(0, io.SEEK_END) - raw.seek(0))",
        "- → +: raw.seek(0, io.SEEK_END) - raw.seek(0)",
    ): "`seek(0)` is 0",
    (
        "core/losses/listwise.py",
        "grades = labels.to(logits.dtype).masked_fill(~mask, 0)",
        "*",
    ): "what stands at pads is masked once more before it is used",
    (
        "core/losses/pairs.py",
        "margins = (values[:, :, None] - values[:, None, :]).masked_fill(~pairs, 0)",
        "0 → -1: 0",
    ): "what is no pair enters no sum, whatever finite margin it has",
    (
        "core/losses/pairs.py",
        "most = max(1, SQUARE // max(1, docs * docs))",
        "1 → 2: 1",
    ): "how many lists are computed at once is a matter of memory",
    ("core/metrics/blocks.py", "whole = True", "True → False: True"): (
        "grades that are not counted are sorted, for the same sums"
    ),
    (
        "core/metrics/relevance.py",
        "longest = max(int(length.max(initial=0)) for length in lengths)",
        "0 → 1: 0",
    ): "a discount more than the longest list has is not read",
    ("core/models/setrank.py", "return True", "True → False: True"): (
        "both ways give the same attention, on a GPU too"
    ),
    (
        "core/models/gsf.py",
        "hidden = lists * docs * passes * sum((*self.config.widths, self.config.group))",
        "*",
    ): "only whether numbers are kept or made again, which is a matter of memory",
    (
        "core/perturb/sets.py",
        "leaving = np.minimum(round(level), np.maximum(lists.lengths - 1, 0))",
        "0 → -1: 0",
    ): "of a list without documents nothing leaves, however much is to leave",
    (
        "core/perturb/worst_case.py",
        "accepted = usable & (generator.random(used.shape) < np.exp(rising))",
        "< → <=: generator.random(used.shape) < np.exp(rising)",
    ): "a draw equals its bound once in 2⁵³",
    ("core/rankers/boosting/bins.py", "sums[1, row[doc + 1]] += weights[doc + 1]", "1 → 0: 1"): (
        "the rows of sums are added up in the end"
    ),
    (
        "core/rankers/boosting/rounds.py",
        "return GradedLists(offsets, grades, weights / max(total, 1.0), len(levels))",
        "1.0 → 0.5: 1.0",
    ): "the total is 1 or more, or 0 where there is no pair to weigh",
    (
        "core/training/network.py",
        "parts = [network.embed(part[None])[0] for part in torch.split(features, budget)]",
        "0 → -1: 0",
    ): "the batch has one list",
    ("core/rankers/outside/callable_ranker.py", "rankings: ClassVar[int] = 0", "0 → -1: 0"): (
        "no list carries fewer initial rankings than none"
    ),
    (
        "core/execution/worker_process.py",
        "LAST_BREATH = 10.0  # seconds for a process to end that has closed its connection",
        "*",
    ): ("how long is waited for a process that has nothing more to say"),
    ("core/rankers/neural/ranker.py", "GROUP = 1 << 13  # documents embedded at once", "*"): (
        "how many lists are held at once is a matter of memory"
    ),
    ("core/studies/kinds/perturbations/query.py", "MOST_CANDIDATES = 50_000", "*"): (
        "whether a list is asked again alone or with the others gives the same answer"
    ),
    ("core/rankers/neural/ranker.py", "offsets, first = variants[0].offsets, 0", "0 → -1: 0"): (
        "which variant's lengths say how many lists are held at once; the first list is noticed"
    ),
    (
        "core/data/letor/table.py",
        "GROWTH, TEXT_GROWTH, FILE_GROWTH = 1.125, 1.03, 1.25",
        "*",
    ): "how far ahead of its need room is made",
    (
        "core/data/letor/table.py",
        "none = {name: np.zeros(0, dtype=getattr(self.sink, name).dtype) for name in SCRATCH}",
        "0 → 1: 0",
    ): "what only the parser needs is not read after it",
    (
        "core/aggregate/voting.py",
        "place = np.flatnonzero(order == document)[0]",
        "0 → -1: 0",
    ): "a document stands in an order once",
    ("core/execution/jobs_log.py", "CHUNK = 1 << 16", "1 → 2: 1"): (
        "a pipe holds no more than 64 KiB, so that no more is read at once"
    ),
    ("core/data/letor/stream.py", "end += 1", "1 → 2: 1"): (
        "behind the line end that is added there is at most the end of an empty line"
    ),
}


def why(fault: Fault) -> str:
    """Why a fault changes nothing; empty where it is not known to be so."""
    exact = EQUIVALENT.get((fault.file, fault.text, fault.change), "")
    return exact or EQUIVALENT.get((fault.file, fault.text, "*"), "")


def stale() -> Iterator[str]:
    """The entries whose line, or whose fault on it, is there no longer."""
    there = set(files())
    for file, text, change in EQUIVALENT:
        if file not in there or text not in {line.strip() for line in text_of(file)}:
            yield f"{file}: no line reads {text!r}"
        elif change != "*":
            faults = (fault for place in sites(file) for fault in place)
            if not any((fault.text, fault.change) == (text, change) for fault in faults):
                yield f"{file}: {text!r} has no fault {change!r}"
