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
        "core/rankers/ordinal_geometry.py",
        "shares = [*map(float, variance[:2]), 0.0, 0.0]",
        "2 → 3: 2",
    ): "only the first two are read",
    (
        "core/models/attention.py",
        "return logits >= (FUSED_FROM_LOW if low else FUSED_FROM)",
        "*",
    ): "both ways give the same attention; which is taken is a matter of speed",
    (
        "core/models/gsf.py",
        "return value - (1 << 64) if value >= 1 << 63 else value",
        "<< → >>: 1 << 63",
    ): ("all three factors stand above 2⁶³, so that the test is true for any smaller bound"),
    ("core/models/ordinal.py", "shares_ranks = bool((tied > 1).any())", "1 → 0: 1"): (
        "the way for tied documents gives the same where none is tied"
    ),
    (
        "core/perturb/base.py",
        "stride = max(int(base.rows.max(initial=0)), int(rows.max(initial=0))) + 2",
        "2 → 3: 2",
    ): "any stride beyond the largest row keeps lists apart",
    (
        "core/studies/benchmark_table.py",
        'frame["above"] = np.stack([np.nansum(own) > 0 for own in differences])',
        "> → >=: np.nansum(own) > 0",
    ): "a difference of 0 has a p value of 1 and no mark",
    (
        "core/studies/attention_text.py",
        'told = "more than" if mean > 0 else "less than"',
        "> → >=: mean > 0",
    ): "a mean of 0 is not beyond its half width",
    (
        "core/studies/group_shuffles_table.py",
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
        "core/rankers/boosting_bins.py",
        "sums[2, row[doc + 2]] += weights[doc + 2]",
        "2 → 3: 2",
    ): "of the row of sums, which are added up in the end; in a place it is noticed",
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
