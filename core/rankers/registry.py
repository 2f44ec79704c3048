"""Every ranker by name: its recipe from a preset, and what was saved, opened again.

Names load nothing, recipes neither torch nor LightGBM; rankers load their module when needed.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shuffleproof.core.errors import ArtefactError, UnknownNameError, UsageError
from shuffleproof.core.rankers import named_presets
from shuffleproof.core.rankers.name import (
    CONFIGS,
    FILES,
    PRESETS,
    Kind,
    RankerName,
    feature_of,
)

if TYPE_CHECKING:
    from shuffleproof.core.rankers.base import Ranker, RankerSpec

FEATURE = "feature:<id>"

HELD_OUT: Mapping[str, str] = {
    "ranksvm": "−0.006 to +0.111",
    "irsvm": "−0.006 to +0.077",
    "lambdamart": "−0.013 to +0.036",
    "mart": "−0.000 to +0.042",
    "listnet": "+0.005 to +0.033",
    "mlp": "−0.029 to +0.029",
}
"""Least and greatest difference of NDCG@10 from `paper` on held-out queries of five data sets."""

CHOSEN_ANEW = frozenset({"ranksvm", "irsvm"})
"""Rankers whose settings were chosen with each data set left out in turn."""

COMPARED = (
    "on held-out queries of five data sets, NDCG@10 differs from paper's by {}, and nothing is "
    "significantly lower (paired t, Holm over the cut-offs); {}"
)
WITHDRAWN = "the same recipe as paper: no other setting was better on held-out queries"
ON_VALIDATION = "chosen on a few hundred validation queries, not on held-out ones of several sets"


@dataclass(frozen=True)
class RankerEntry:
    """A ranker that can be chosen.

    Attributes:
        name: its name; `feature:<id>` means one name a feature.
        summary: what it does, in one line.
        source: where it comes from.
        module: where its recipes are: a function `spec(name, preset, **changes)`.
        presets: the presets that it has; the first is the default.
        group: the heading under which rankers of its kind are listed.
    """

    name: str
    summary: str
    source: str
    module: str
    presets: tuple[str, ...]
    group: str = "Others"

    @property
    def reads(self) -> tuple[str, ...]:
        """Inputs that the ranker of its first preset reads."""
        if self.name == FEATURE:
            return ("features",)
        return tuple(sorted(spec(self.name, self.presets[0]).reads))

    @property
    def how_tuned(self) -> str:
        """Origin of its preset `tuned`; empty if it has none."""
        if "tuned" not in self.presets:
            return ""
        if self.name in HELD_OUT:
            left_out = "chosen with each of the sets left out in turn"
            before = "chosen before, on a few hundred validation queries"
            chosen = left_out if self.name in CHOSEN_ANEW else before
            return COMPARED.format(HELD_OUT[self.name], chosen)
        return WITHDRAWN if self.module in {_BOOSTING, _PAIRS} else ON_VALIDATION

    @property
    def learns(self) -> bool:
        """True if it is trained; others have one recipe for all presets."""
        return self.module != _PLAIN


_NEURAL, _TREES, _PLAIN, _LINEAR, _BOOSTING, _PAIRS, _USER, _CONFIG = (
    f"shuffleproof.core.rankers.{name}"
    for name in (
        "neural.recipes", "boosting.trees", "univariate", "linear.fit", "boosting.fit",
        "pairs.recipes", "outside.user_rankers", "outside.parameter_files",
    )
)  # fmt: skip
_PAIRWISE = "Pairs of documents"
_SINGLE = "Lists, document by document"

_TABLE: Mapping[tuple[str, str], Mapping[str, tuple[str, str]]] = {
    (_NEURAL, "SetRank"): {
        "setrank-msab": ("SetRank, self-attention over the set", "Pang et al., SIGIR 2020"),
        "setrank-imsab": ("SetRank through induced points", "Pang et al., SIGIR 2020"),
        "setrank-msab-init": (
            "SetRank, self-attention, with ordinal embeddings of the initial ranking(s)",
            "Pang et al., SIGIR 2020",
        ),
        "setrank-imsab-init": (
            "SetRank through induced points, with ordinal embeddings of the initial ranking(s)",
            "Pang et al., SIGIR 2020",
        ),
        "setrank-imsab-multi-init": (
            "SetRank through induced points, with ordinal embeddings of four initial rankings",
            "Pang et al., SIGIR 2020",
        ),
    },
    (_NEURAL, "DLCM"): {
        "dlcm": ("DLCM, a GRU fed by the initial ranking", "Ai et al., SIGIR 2018"),
        "dlcm-without-init": (
            "DLCM fed in an order that carries no information",
            "Ai et al., SIGIR 2018",
        ),
        "dlcm-listmle": ("DLCM trained by ListMLE", "Ai et al., SIGIR 2018"),
        "dlcm-softrank": ("DLCM trained by SoftRank", "Ai et al., SIGIR 2018"),
    },
    (_NEURAL, "Groups of documents"): {
        "gsf": (
            "groupwise scoring: a net over groups of documents, averaged",
            "Ai et al., ICTIR 2019",
        ),
    },
    (_NEURAL, _PAIRWISE): {
        "ranknet": (
            "a net for single documents, logistic loss of pairs",
            "Burges et al., ICML 2005",
        ),
        "lambdarank": (
            "a net for single documents, pairs weighed by what they change of NDCG",
            "Burges et al., NIPS 2006",
        ),
        "frank": ("a net for single documents, fidelity loss of pairs", "Tsai et al., SIGIR 2007"),
    },
    (_NEURAL, _SINGLE): {
        "listnet": (
            "a net for single documents, cross entropy of the top document",
            "Cao et al., ICML 2007",
        ),
        "mlp": ("a net for single documents, any loss", "–"),
    },
    (_TREES, "Boosted trees"): {
        "lambdamart": (
            "boosted trees on lambda gradients, rows in a canonical order",
            "Burges 2010; LightGBM (Ke et al. 2017)",
        ),
        "mart": (
            "boosted regression trees on the grades, rows in a canonical order",
            "Friedman 2001; LightGBM (Ke et al. 2017)",
        ),
    },
    (_LINEAR, _PAIRWISE): {
        "ranksvm": ("a linear score, squared hinge over all pairs of a query", "Joachims 2002"),
        "irsvm": ("RankSVM whose pairs weigh what NDCG loses by them", "Cao et al., SIGIR 2006"),
    },
    (_BOOSTING, _PAIRWISE): {
        "rankboost": (
            "boosted thresholds on features, exponential loss over all pairs",
            "Freund et al. 2003",
        ),
        "frank-additive": (
            "boosted thresholds on features, fidelity loss over all pairs",
            "Tsai et al., SIGIR 2007",
        ),
    },
    (_PAIRS, _PAIRWISE): {
        "pair-net": (
            "a small net on two documents side by side; scores sum its preferences",
            "Ailon & Mohri, Machine Learning 2010",
        ),
        "pair-trees": (
            "boosted trees on two documents and their difference; scores sum its preferences",
            "Ailon & Mohri, Machine Learning 2010",
        ),
    },
    (_PLAIN, "Not trained"): {
        FEATURE: ("one feature, the larger the better", "–"),
        "file-order": ("the order of the rows in the file", "–"),
        "random": ("chance, from a seed", "–"),
        "ideal": ("the judgments themselves", "–"),
    },
}
"""By module and group: name, summary and source."""

RANKERS: dict[str, RankerEntry] = {
    name: RankerEntry(
        name, summary, source, module, ("paper",) if module == _PLAIN else PRESETS, group
    )
    for (module, group), rankers in _TABLE.items()
    for name, (summary, source) in rankers.items()
}

FAMILIES: Mapping[str, str] = {
    "boosting": _BOOSTING,
    "ensemble": "shuffleproof.core.rankers.ensemble.rankers",
    "linear": _LINEAR,
    "neural": "shuffleproof.core.rankers.neural.ranker",
    "pairs": _PAIRS,
    "outside": "shuffleproof.core.rankers.outside.file_ranker",
    "trees": _TREES,
    "univariate": _PLAIN,
    "user": _USER,
}
"""The module that opens what a family saved, by the family named in `ranker.json`."""


def entry(name: str) -> RankerEntry:
    """The entry of a ranker; `feature:39` has that of `feature:<id>`.

    >>> entry("feature:39").name
    'feature:<id>'

    Raises:
        UnknownNameError: no such ranker.
    """
    if feature_of(name) is not None:
        return RANKERS[FEATURE]
    if name not in RANKERS or name == FEATURE:
        raise UnknownNameError("ranker", name, RANKERS, _from_outside(name))
    return RANKERS[name]


def _from_outside(name: str) -> str:
    """Hint to a file or module of the current folder, if the name looks like one."""
    stem, _, ending = name.rpartition(".")
    kind = next((kind for kind, file in FILES.items() if stem and ending in file.endings), None)
    if kind or name in FILES or name in CONFIGS:
        return f"{kind}:{name}" if kind else f"{name}:FILE"
    module = stem if stem and ending == "py" else name
    return f"{module}:FUNCTION" if Path(f"{module}.py").is_file() else ""


def learns(name: RankerName) -> bool:
    """True if a ranker that has a recipe is trained: by a file of parameters, or as its entry says.

    >>> learns(RankerName.parse("lightgbm-config:a.json")), learns(RankerName.parse("feature:3"))
    (True, False)
    """
    return name.kind in {Kind.CONFIG, Kind.OBJECT} or entry(name.base).learns


def refuse_unknown(name: RankerName, preset: str) -> None:
    """Refuse a name or preset that no ranker has, without its recipe.

    >>> refuse_unknown(RankerName.parse("lambdamrt"), "paper")
    Traceback (most recent call last):
    shuffleproof.core.errors.UnknownNameError: no ranker is called 'lambdamrt' (did you mean \
lambdamart?)

    Raises:
        UnknownNameError: no such ranker or preset.
        ArtefactError: the file of a stored preset is damaged.
    """
    if name.kind is Kind.REGISTERED:
        _entry_with(name.base, name.preset or preset)


def _entry_with(name: str, preset: str) -> RankerEntry:
    """The entry of a ranker that has this preset, of its own or stored."""
    ranker_entry = entry(name)
    stored = named_presets.of(name)
    if ranker_entry.learns and preset not in {*ranker_entry.presets, *stored}:
        named_presets.refuse_damaged(name, preset)
        raise UnknownNameError(f"preset of {name}", preset, [*ranker_entry.presets, *stored])
    return ranker_entry


def spec_of(name: RankerName, preset: str = "paper", **changes: Any) -> "RankerSpec":
    """The recipe of the ranker that a name means, `preset` where it names none; see `spec`.

    Raises:
        UnknownNameError: no such ranker or preset, or what has no recipe.
        UsageError: an initial ranking, which is no ranker of a study.
        ParameterError: an unknown field, or a value that it does not take.
    """
    if name.is_initial:
        raise UsageError(f"{name}: an initial ranking is there by itself: leave it out")
    if name.kind is Kind.OBJECT:
        user_recipe: "RankerSpec" = import_module(_USER).spec(name.head, **changes)
        return user_recipe
    if name.kind is Kind.CONFIG:
        config: "RankerSpec" = import_module(_CONFIG).spec(name, **changes)
        return config
    if name.kind is not Kind.REGISTERED:
        raise UnknownNameError("ranker", str(name), RANKERS)
    return spec(name.base, name.preset or preset, **changes)


def spec(name: str, preset: str = "paper", **changes: Any) -> "RankerSpec":
    """The recipe of a registered ranker: a preset with fields replaced.

    Rankers that are not fitted have one recipe, whatever the preset.

    Args:
        name: in the registry.
        preset: one of its entry's presets, or a stored one.
        changes: values by field name; text is read as the field's type demands.

    >>> spec("setrank-imsab-init", "small", epochs="3").rankings
    1

    Raises:
        UnknownNameError: no such ranker or preset.
        ParameterError: an unknown field, or a value that it does not take.
    """
    ranker_entry = _entry_with(name, preset)
    if ranker_entry.learns and preset not in ranker_entry.presets:
        # A stored preset is a built-in one with changes; those of the caller win
        stored = named_presets.of(name)[preset]
        preset, changes = stored.base, {**stored.fields, **changes}
    recipe: "RankerSpec" = import_module(ranker_entry.module).spec(name, preset, **changes)
    return recipe


def at(name: RankerName, preset: str) -> RankerName:
    """A name at a preset, where it is of a ranker that is fitted and names none.

    >>> str(at(RankerName.parse("mart"), "small")), str(at(RankerName.parse("feature:3"), "small"))
    ('mart@small', 'feature:3')

    Raises:
        UnknownNameError: no such ranker.
    """
    is_given = name.kind is Kind.REGISTERED and not entry(name.base).learns
    return name if is_given else name.at(preset)


def load(directory: Path) -> "Ranker":
    """Open a ranker that was saved, whatever its family.

    Raises:
        ArtefactError: the directory holds no ranker, or one of a family unknown here.
    """
    head = directory / "ranker.json"
    if not head.is_file():
        raise ArtefactError(str(directory), "no ranker.json", "Train the ranker again.")
    family = json.loads(head.read_text(encoding="utf-8")).get("family")
    if family not in FAMILIES:
        families = ", ".join(FAMILIES)
        raise ArtefactError(str(directory), f"a ranker of family {family!r}", f"Known: {families}.")
    ranker: "Ranker" = import_module(FAMILIES[family]).load(directory)
    return ranker
