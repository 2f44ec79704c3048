"""Families and their levels, chosen in a form."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from shuffleproof.core.parameters import Parameter
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.studies.kinds.perturbations.sections import GROUPS, families_by_group
from shuffleproof.core.studies.question import syntax_of

CHAINS = (
    "Families joined by +, each but the last with its level; gradient-sign@RANKER; "
    "label-flips@0.9_0.1/0.2_0.8, a row a grade."
)


def choice(offered: Iterable[str], before: Sequence[str], *, chains: bool = False) -> list[str]:
    """Draw one choice for each kind of change.

    Args:
        offered: families.
        before: chosen at first.
        chains: whether chains, attacks and matrices can be written too.
    """
    groups: Mapping[str, Sequence[str]] = families_by_group(offered)
    found: list[str] = []
    places = st.columns(2 if len(groups) > 1 else 1)
    for at, (group, names) in enumerate(groups.items()):
        found += places[at % len(places)].multiselect(
            GROUPS[group], names, default=[name for name in before if name in names],
            key=f"new.{group}", wrap=True, placeholder="none",
            help="  \n".join(f"{name}: {PERTURBATIONS[name].summary}" for name in names),
        )  # fmt: skip
    if chains:
        known = [name for name in before if name not in PERTURBATIONS]
        found += places[len(groups) % len(places)].multiselect(
            "Chains, attacks on one network, matrices", known, default=known,
            accept_new_options=True, key="new.chains", wrap=True,
            placeholder="type transpositions:5+shuffle-shown", help=CHAINS,
        )  # fmt: skip
    return found


def levels(declared: Parameter, families: Sequence[str]) -> Any:
    """Draw the levels of these families; what reads the pairs as the command line does.

    Args:
        declared: the field of a question that holds the pairs.
        families: chosen; none: there are no pairs.
    """
    text = st.text_input(
        "Levels", key="new.levels", placeholder="each family's own",
        help="Comma-separated, taken for every family chosen; empty: each family's own.",
    )  # fmt: skip
    if not families:
        return ()
    given: dict[str, Any] = {"families": ",".join(families)}
    given |= {"levels": text} if text.strip() else {}
    return partial(syntax_of(declared).value, declared, given, "")


def of_pairs(pairs: Sequence[tuple[str, float]] | None) -> list[str]:
    """The families of pairs, each once."""
    return list(dict.fromkeys(family for family, _ in pairs or ()))
