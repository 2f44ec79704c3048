"""The form of a study: a widget for every field of the question, the cost, one button.

The question declares fields, bounds, choices and help. A page adds the order of the fields and
their start values.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

import streamlit as st

from shuffleproof.app import data_sets, forms, proposals, selection, services, training
from shuffleproof.app.plain import refusal
from shuffleproof.app.proposals import Proposal
from shuffleproof.app.study import job_panel, parts
from shuffleproof.app.study.needed_work import needed_work
from shuffleproof.core.errors import ScoringError, ShuffleproofError, UsageError
from shuffleproof.core.experiment.ranker_sets import NAMED
from shuffleproof.core.parameters import Parameter, parameters, text_of, value_of, with_changes
from shuffleproof.core.perturb.registry import PERTURBATIONS
from shuffleproof.core.rankers import registry
from shuffleproof.core.rankers.initial import ListRecipe
from shuffleproof.core.rankers.name import RankerName, with_display_names
from shuffleproof.core.store.manifest import Artefact
from shuffleproof.core.studies.engine import RunningStudy
from shuffleproof.core.studies.kinds.perturbations.sections import GROUPS, families_by_group
from shuffleproof.core.studies.question import Question, Scope, preset_of, syntax_of
from shuffleproof.core.studies.registry import STUDIES
from shuffleproof.core.studies.reproduce import command_of, question_of

Widget = Callable[[Parameter, Any], Any]
"""Function that draws a field with a start value; returns the new value or its reader."""

RUN = "Run this study"
PRESET, INITIAL = "preset", "initial"
"""Names in a row of fields that are not fields of the question: preset and initial rankers."""


@dataclass(frozen=True)
class FormState:
    """Current values of a form.

    Attributes:
        question: question of the study.
        data: data set, or the stem of its folds.
        lists: recipe of the candidate lists.
        preset: preset of rankers named without one.
        shown: study that the page shows.
    """

    question: Any
    data: str
    lists: ListRecipe
    preset: str
    shown: Artefact | None

    @property
    def scope(self) -> Scope:
        """Scope of the question, as a job states it."""
        lists = training.list_options(self.data, self.lists)
        lists["initial"] = list(self.lists.initial)
        usual = preset_of(self.data)
        preset = None if self.preset == usual else self.preset
        return Scope(services.store(), self.data, lists, preset)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the job."""
        scope = self.scope
        place = {"data": scope.data, "lists": scope.lists}
        return asdict(self.question) | place | ({"preset": scope.preset} if scope.preset else {})

    def needed_work(self) -> str:
        """Work that the store lacks, in words.

        Raises:
            ShuffleproofError: the question cannot be answered.
        """
        scope = self.scope
        place = {"data": scope.data, "lists": scope.lists, "preset": scope.preset}
        return needed_work(self.question, place)

    @property
    def command(self) -> str:
        """Equivalent command line."""
        facts = {"data": self.data, "lists": asdict(self.lists), "preset": self.preset}
        return command_of(self.question, facts)


def to_train(_data: str, _shown: Artefact | None) -> Proposal:
    """Default rankers of the question, and lists that are made quickly."""
    return Proposal((), proposals.for_training()[1])


@dataclass(frozen=True)
class Form:
    """Declaration of the form of one kind of study.

    Attributes:
        kind: kind of study.
        rows: visible fields, by row; a menu holds the others.
        from_shown: fields that start with the values of the shown study.
        usual: start values of other fields, if they are not the question's defaults.
        proposed: start values of rankers and lists.
        trains: True if the study trains its rankers, by a preset that can be chosen.
        widgets: fields with a special widget.
        offered: True for the name of an offered ranker.
        note: addition to the help of the field of rankers.
        list_fields: changeable fields of the recipe of lists; None: all.
        data: draws the choice of the data: the data set in use, or all its folds.
        draw_partial: draws the first results of a running study.
    """

    kind: str
    rows: Sequence[Sequence[str]]
    from_shown: Sequence[str] = ()
    usual: Callable[[str], Mapping[str, Any]] = lambda _data: {}
    proposed: Callable[[str, Artefact | None], Proposal] = proposals.for_study
    trains: bool = False
    widgets: Mapping[str, Widget] = field(default_factory=dict)
    offered: Callable[[str], bool] = lambda name: name != registry.FEATURE
    note: str = ""
    list_fields: Sequence[str] | None = None
    data: Callable[[str], str] = str
    draw_partial: Callable[[RunningStudy], None] = job_panel.first_picture

    @property
    def question(self) -> type[Question]:
        """Class of the question."""
        return STUDIES[self.kind]

    @property
    def panel(self) -> job_panel.Panel:
        """Panel of the jobs of this kind."""
        return job_panel.Panel(self.kind, self.draw_partial)


@st.fragment
def body(form: Form, data: str, shown: Artefact | None, *, stacked: bool = False) -> None:
    """Draw the fields, then cost and button; stacked for a narrow place: these first."""
    data_sets.draw_problems(data)
    page, first = _Page(form, data, shown), st.container()
    for row in form.rows:
        for names in [[name] for name in row] if stacked else [row]:
            page.row(names)
    page.data = form.data(data)
    with st.popover(page.rest_words, icon=":material/tune:"):
        for name in page.rest:
            page.draw(name)
        changes = forms.recipe_form(page.lists, "new.lists", only=form.list_fields)
    missing = [name for name, value in page.values.items() if value == ()]
    if missing:
        st.caption(f"Choose at least one: {', '.join(missing)}.")
        st.button(RUN, type="primary", key="new.run", disabled=True)
        return
    try:
        filled = page.asked(changes)
        filled.question.check(filled.scope)
        needed = f"{filled.needed_work()}. Stored work is never repeated."
    except ScoringError:  # busy or just dead: the job will find what is missing
        needed = "The time is not known now."
    except ShuffleproofError as error:
        st.warning(refusal(error), icon=":material/error:")
        return
    last = first if stacked else st.container()
    last.markdown(needed)
    with last.container(horizontal=True):
        if st.button(RUN, type="primary", key="new.run"):
            job_panel.hand_in(form.panel, filled.parameters)
        menu = st.popover(
            "Command", icon=":material/terminal:", type="tertiary", key="new.command",
            on_change="rerun",
        )  # fmt: skip
    if menu.open:
        with menu:
            parts.command(lambda: filled.command)


class _Page:
    """A form while it is drawn.

    It starts with defaults, values from the data, and those of the shown study.
    """

    def __init__(self, form: Form, data: str, shown: Artefact | None) -> None:
        self.form, self.data, self.shown = form, data, shown
        self.fields = {declared.name: declared for declared in parameters(form.question)}
        self.first = {
            name: parameter.default
            for name, parameter in self.fields.items()
            if not parameter.is_required
        }
        self.first |= form.usual(data)
        self.first |= _values_of_study(form, shown) if shown is not None else {}
        proposal = form.proposed(data, shown)
        if proposal.rankers:
            chosen = tuple(filter(form.offered, selection.selected_rankers()))
            self.first["rankers"] = chosen or tuple(proposal.rankers)
        self.lists, self.initial = proposal.lists, proposal.lists.initial
        self.preset = proposals.for_training()[0] if form.trains else preset_of(data)
        self.values: dict[str, Any] = {}
        everything = [*self.fields, *([PRESET] if form.trains else []), INITIAL]
        in_rows = set(chain.from_iterable(form.rows))
        self.rest = [name for name in everything if name not in in_rows]

    @property
    def rest_words(self) -> str:
        """Labels of the fields in the menu."""
        labels = [forms.label_of(self.fields[name]) for name in self.rest if name in self.fields]
        labels += [PRESET] if PRESET in self.rest else []
        return ", ".join(["Candidate lists", *(label.lower() for label in labels)])

    def row(self, names: Sequence[str]) -> None:
        """Draw some fields side by side; fields of several values are wide."""
        narrow = {name for name, declared in self.fields.items() if not declared.several}
        places = st.columns([1 if name in narrow else 3 for name in names])
        for name, place in zip(names, places, strict=True):
            with place:
                self.draw(name)

    def draw(self, name: str) -> None:
        """Draw a field of the question, the preset or the initial rankers."""
        if name == PRESET:
            self.preset = _preset(self.values.get("rankers", ()), self.preset)
        elif name == INITIAL:
            self.initial = tuple(_initial(self.data, self.lists)) or self.lists.initial
        else:
            declared, now = self.fields[name], self.first.get(name)
            widget = self.form.widgets.get(name, self._default)
            self.values[name] = widget(declared, now)

    def asked(self, changes: Mapping[str, str]) -> FormState:
        """Values of the form.

        Args:
            changes: changes to the recipe of the lists.

        Raises:
            ShuffleproofError: a value is invalid.
        """
        lists = replace(with_changes(self.lists, changes), initial=self.initial)
        # Typed fields are functions that parse their text: errors appear below the form.
        values = {
            name: value() if callable(value) else value for name, value in self.values.items()
        }
        question = self.form.question.from_plain(values)
        return FormState(question, self.data, lists, self.preset, self.shown)

    def _default(self, declared: Parameter, now: Any) -> Any:
        if declared.name == "rankers" and declared.several:
            return self._rankers(now or ())
        if declared.several:
            text = st.text_input(
                forms.label_of(declared), value=text_of(now or ()), key=f"new.{declared.name}",
                help=forms.help_of(declared),
            )  # fmt: skip
            return partial(value_of, declared, text)
        return forms.widget(declared, now, f"new.{declared.name}")

    def _rankers(self, before: Sequence[str]) -> tuple[str, ...]:
        names = [name for name in registry.RANKERS if self.form.offered(name)]
        options = dict.fromkeys([*before, *proposals.imported_rankers(self.data), *names])
        help_ = (
            "Add @preset (dlcm@tuned), #digits of a trained or brought ranker's key, "
            f"feature:<id>, or combine (rrf:dlcm+mart, shuffled:dlcm). {self.form.note}"
        )
        if selection.selection_changed():  # the widget's state would override its new default
            st.session_state["new.rankers"] = list(before)
        chosen = st.multiselect(
            "Rankers", list(options), default=list(before), wrap=True, accept_new_options=True,
            key="new.rankers", help=help_.strip(), format_func=proposals.field_texts(options),
        )  # fmt: skip
        return tuple(chosen)


def _values_of_study(form: Form, shown: Artefact) -> dict[str, Any]:
    """Values of the shown study for the form's fields; empty if the study does not hold them."""
    try:
        question = question_of(shown.recipe, shown.facts)
    except UsageError:
        return {}
    return {name: getattr(question, name) for name in form.from_shown}


def _preset(names: Sequence[str], usual: str) -> str:
    labels = [label for name in names for label in NAMED.get(name, (name,))]
    leaves = [str(leaf) for label in labels for leaf in RankerName.of(label).leaves]
    fitted = [name for name in leaves if name in training.FITTED]
    presets = training.presets(fitted) or list(training.PRESETS)
    return str(
        st.selectbox(
            "Preset", presets, index=presets.index(usual) if usual in presets else 0,
            key="new.preset",
            help="  \n".join(f"{name}: {words}" for name, words in training.PRESETS.items()),
        )
    )  # fmt: skip


def _initial(data: str, usual: ListRecipe) -> list[str]:
    try:
        known = training.initial_rankers(training.fit_size(data))
    except ShuffleproofError:  # the data set is gone, or the name is a stem of folds
        known = []
    chosen: list[str] = st.multiselect(
        "Initial rankers, in their order", list(dict.fromkeys([*usual.initial, *known])),
        default=list(usual.initial), accept_new_options=True, key="new.initial", wrap=True,
        format_func=with_display_names,
        help="The first selects and orders the candidates; a ranker with one initial ranking "
             "reads it. feature:<id>: any feature.",
    )  # fmt: skip
    return chosen


CHAINS = (
    "Families joined by +, each but the last with its level; gradient-sign@RANKER; "
    "label-flips@0.9_0.1/0.2_0.8, a row a grade."
)


def family_choice(
    offered: Iterable[str], before: Sequence[str], *, chains: bool = False
) -> list[str]:
    """Draw one choice for each kind of change.

    Args:
        offered: families.
        before: default choice.
        chains: True to accept chains, attacks and matrices as text.
    """
    groups: Mapping[str, Sequence[str]] = families_by_group(offered)
    chosen: list[str] = []
    places = st.columns(2 if len(groups) > 1 else 1)
    for at, (group, names) in enumerate(groups.items()):
        chosen += places[at % len(places)].multiselect(
            GROUPS[group], names, default=[name for name in before if name in names],
            key=f"new.{group}", wrap=True, placeholder="none", format_func=with_display_names,
            help=with_display_names(
                "  \n".join(f"{name}: {PERTURBATIONS[name].summary}" for name in names)
            ),
        )  # fmt: skip
    if chains:
        known = [name for name in before if name not in PERTURBATIONS]
        chosen += places[len(groups) % len(places)].multiselect(
            "Chains, attacks on one network, matrices", known, default=known,
            accept_new_options=True, key="new.chains", wrap=True,
            placeholder="type transpositions:5+shuffle-input", help=CHAINS,
        )  # fmt: skip
    return chosen


def family_levels(declared: Parameter, families: Sequence[str]) -> Any:
    """Draw the levels of these families; return a reader of the pairs, with command-line syntax.

    Args:
        declared: field of the question for the pairs.
        families: chosen families; none: no pairs.
    """
    text = st.text_input(
        "Levels", key="new.levels", placeholder="default of each family",
        help="Comma-separated, for all chosen families; empty: defaults of each family.",
    )  # fmt: skip
    if not families:
        return ()
    given: dict[str, Any] = {"families": ",".join(families)}
    given |= {"levels": text} if text.strip() else {}
    return partial(syntax_of(declared).value, declared, given, "")


def families_of(pairs: Sequence[tuple[str, float]] | None) -> list[str]:
    """Distinct families of pairs."""
    return list(dict.fromkeys(family for family, _ in pairs or ()))
