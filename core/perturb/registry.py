"""Every family of perturbations by name, chains of them, and the τ that one really left."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float64

from shuffleproof.core import user_code
from shuffleproof.core.data import ragged
from shuffleproof.core.data.lists import CandidateLists, JudgedLists
from shuffleproof.core.errors import ParameterError, UnknownNameError, UsageError
from shuffleproof.core.metrics.agreement import kendall_tau
from shuffleproof.core.numerals import number
from shuffleproof.core.perturb import families_data, families_order, system
from shuffleproof.core.perturb.base import Chain, Perturbation, origins, sources
from shuffleproof.core.perturb.entry import PerturbationEntry
from shuffleproof.core.perturb.feasibility import any_level
from shuffleproof.core.perturb.features import SignAttack
from shuffleproof.core.perturb.labels import LabelPerturbation, flips_by, matrix_of
from shuffleproof.core.perturb.names import DISPLAY_NAMES, STORED_NAMES
from shuffleproof.core.perturb.user_families import user_entry

__all__ = [
    "PERTURBATIONS", "PerturbationEntry", "attack_target", "entry_of", "parse", "perturbation",
    "tau_left", "tau_shared",
]  # fmt: skip

ATTACK, FLIPS = "gradient-sign", "label-flips"

PERTURBATIONS: dict[str, PerturbationEntry] = {
    entry.family: entry
    for entry in (
        *families_order.RANKING,
        *families_order.PRESENTATION,
        *families_data.SET,
        *families_data.FEATURES,
        *families_data.LABELS,
        *system.SYSTEM_FAMILIES,
    )
}


def entry_of(family: str) -> PerturbationEntry:
    """The entry of a family, of a chain (`transpositions:5+shuffle-shown`) or of an attack.

    A chain's level is that of its last link; it brings documents where a link does, and takes any
    level, for its links change the lists first. After an @ comes the ranker under attack, or the
    matrix of label flips.

    Raises:
        UnknownNameError: no such family.
        ParameterError: a link's level out of its bounds.
        UsageError: a chain of labels with something else, of an attack, or of what is no input.

    >>> entry_of("transpositions:5+shuffle-shown").default_levels
    (1.0,)
    """
    # From the right: the entry of a chain is its last link with the others in front
    before, _, last = family.rpartition("+")
    if before:
        return _chain_entry([_link(text, family) for text in before.split("+")], entry_of(last))
    name, at, target = family.partition("@")
    name = STORED_NAMES.get(name, name)
    user_family = None if at else user_entry(name)
    if user_family is not None:
        return user_family
    if name not in PERTURBATIONS or (at and (name not in {ATTACK, FLIPS} or not target)):
        shown = (DISPLAY_NAMES.get(known, known) for known in PERTURBATIONS)
        known_names = [*shown, *user_code.names("perturbation")]
        raise UnknownNameError("perturbation", family, known_names)
    entry = PERTURBATIONS[name]
    if not at:
        return entry
    if name == FLIPS:
        relabel = flips_by(matrix_of(target))
        return replace(
            entry, family=family, make=lambda level: LabelPerturbation(family, level, relabel)
        )
    return replace(entry, family=family, make=lambda level: SignAttack(level, target))


def attack_target(family: str) -> str:
    """Ranker that a family attacks; empty if it is no attack, or has no target yet.

    >>> attack_target("gradient-sign@dlcm@small"), attack_target("label-flips@0.9/0.1")
    ('dlcm@small', '')
    """
    name, _, target = family.partition("@")
    return target if name == ATTACK else ""


def perturbation(family: str, level: int | float) -> Perturbation:
    """The perturbation of a family (or chain) at a level.

    Raises:
        UnknownNameError: no such family.
        ParameterError: a level out of its bounds, or broken where whole ones are due.

    >>> str(perturbation("transpositions", 5))
    'transpositions:5'
    """
    return entry_of(family).at(level)


def parse(text: str) -> Perturbation:
    """The perturbation that prints as this text; without a level, at its default if it has one.

    Raises:
        UnknownNameError: no such family.
        ParameterError: no level where several are usual, or one that is no number in its bounds.

    >>> parse("mallows:0.5").level
    0.5
    >>> str(parse("transpositions:5+shuffle-shown"))
    'transpositions:5+shuffle-shown:1'
    """
    # From the right: the level of the text is that of its last link
    before, plus, last = text.rpartition("+")
    name, _, level = last.partition(":")
    entry = entry_of(before + plus + name)
    if not level and len(entry.default_levels) == 1:
        return entry.at(entry.default_levels[0])
    try:
        strength = number(level)
    except ValueError:
        example = f"{entry.family}:{entry.default_levels[-1]:g}"
        shape = f"a number ({entry.unit}) behind the name, as in {example}"
        raise ParameterError(f"{entry.family} level", level, shape) from None
    return entry.at(strength)


def tau_left(
    before: CandidateLists, after: CandidateLists, change: Perturbation
) -> Float64[np.ndarray, " lists"]:
    """Kendall τ-b of each list between the old order and the one that a perturbation left.

    Documents are matched by row; those that one of the two lacks have no say. For a change of
    the ranking it is the τ-b of the old and the new prior scores, the mean over the rankings;
    for other changes, of the positions shown. 1 for lists that share fewer than two documents;
    NaN where all documents of a longer list tie under a ranking.
    """
    return _tau_of(before, after, change, after.rows)


def tau_shared(
    before: JudgedLists, after: JudgedLists, change: Perturbation
) -> Float64[np.ndarray, " lists"]:
    """`tau_left` where the data set may have grown: new documents have no say."""
    return _tau_of(before.lists, after.lists, change, origins(before, after))


def _tau_of(
    before: CandidateLists, after: CandidateLists, change: Perturbation, rows: np.ndarray
) -> Float64[np.ndarray, " lists"]:
    source = sources(before, after.offsets, rows)
    # τ is only defined on documents that both orders hold
    present = np.flatnonzero(source >= 0)
    old = source[present]
    owner = ragged.segment_ids(after.offsets)[present]
    offsets = ragged.offsets_of(np.bincount(owner, minlength=len(after)))
    if "ranking" in change.changes:
        pairs = [
            (before.prior[old, column], after.prior[present, column])
            for column in range(before.rankings)
        ]
    else:
        # Negative places: `kendall_tau` expects higher scores first
        shown_before = -ragged.places_of(before.offsets).astype(np.float32)
        shown_after = -ragged.places_of(after.offsets).astype(np.float32)
        pairs = [(shown_before[old], shown_after[present])]
    taus = [kendall_tau(offsets, old_scores, new_scores) for old_scores, new_scores in pairs]
    return np.mean(np.asarray(taus, dtype=np.float64), axis=0)


def _link(text: str, family: str) -> Perturbation:
    """A link of a chain that is not its last one, which has its level behind its name."""
    entry = entry_of(text.partition(":")[0])
    if ":" not in text and len(entry.default_levels) > 1:
        example = f"{text}:{entry.default_levels[-1]:g}"
        raise UsageError(
            f"{family} lacks the level of {text} ({entry.unit}): every link of a chain but the "
            f"last is written with its level, as in {family.replace(text, example, 1)}"
        )
    return parse(text)


def _chain_entry(links: list[Perturbation], last: PerturbationEntry) -> PerturbationEntry:
    kinds = [link.changes for link in links] + [last.changes]
    labelled = ["labels" in kind for kind in kinds]
    families = [link.family for link in links] + [last.family]
    of_system = [name for name, kind in zip(families, kinds, strict=True) if "system" in kind]
    if of_system:
        raise UsageError(
            f"{of_system[0]} cannot be part of a chain, since it changes training or scoring, "
            "not the lists: study it by itself"
        )
    if any(labelled) and not all(labelled):
        raise UsageError(
            f"{'+'.join(families)} chains training labels with test lists; study them one by one"
        )
    if any(family.startswith(ATTACK) for family in families):
        raise UsageError(
            "gradient-sign cannot be part of a chain, since its directions are computed on the "
            "unchanged lists: study it by itself"
        )
    before = [entry_of(link.family) for link in links]
    # Ask for two draws: a link that gives one is deterministic at its level
    random_before = any(
        entry.draws(link.level, 2) > 1 for entry, link in zip(before, links, strict=True)
    )
    chain_family = "+".join([*map(str, links), last.family])
    steps = "; then: ".join([*(entry.summary for entry in before), last.summary])
    return replace(
        last,
        family=chain_family,
        summary=steps,
        source="a chain",
        make=lambda level: Chain((*links, last.make(level))),
        brings=any(entry.brings for entry in (*before, last)),
        reach=any_level,
        random=last.random or random_before,
        random_before=random_before,
    )
