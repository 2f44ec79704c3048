"""Modules, public functions, classes and methods are named by what they are or do.

A bare participle or pronoun ("told", "own", "there") says neither. Names of pure changes of their
argument, as Python's own `sorted` (escaped, quoted, rounded, and the perturbations), may stay.
"""

import ast

import pytest

from tests.places import ROOT

NAMELESS = set(
    """
    absent added adjusted again alone answered answering apart asked asking assembled attacked
    begun beside binned both brought called carrying certified changed checked chosen claimed
    clustered compared computed converted damaged dated derived described differing disguised
    perturbed done drawn each entered entrants evaluated everything examined exchanged expanded
    explained exported extended failed falling fed filled first fitted fitting folded following
    found frozen fused gathered given graded grouped grown headed held here home homes improved
    inferred ingesting inverted joined judged kept known labelled laid largest learnt left lessons
    listed_ linked looked looks lowered made making mapped marked measured missing mixed most moved
    named noted offered one only opened others own packed paired parsed pictured pinned placed
    planned prepared preparing present pressed printed projected proposed proved queued
    randomised ranked reached reaching recalled received recent recorded registered rehearsed
    reindexed remaining remembered repeated replaced replaying replayed required rescored resampled
    resolved restricted retrieved rewritten rising said same scored searched seen shaken shared
    shipped shown skipped sliced sliding spread started stored studied summarised summed swapped
    tagged taken tested there ticked together tokenised tokenising told touched trained transferred
    tried tuned turned_ unchanged uncovered underway unpacked usual valued verifying wanted
    dry enough far finished heard look make mine now opened otherwise shaped spent takes top
    watched weigh weighted what where which who wide widened within worked worst
    written
    """.split()  # noqa: SIM905
)

NOUNS = {
    "core/errors.py": {"shown"},  # a change of its argument, as `quoted`
    "core/facade/published.py": {"which"},  # the command's name
    "core/job_kinds.py": {"exported"},  # the name of a kind of job, which stored jobs hold
    "core/perturb/permutations.py": {"inverted"},  # a change of its argument
}
"""Names of the list that mean something where they stand."""

FILES = [path for top in ("core", "app") for path in sorted((ROOT / top).rglob("*.py"))]


def nameless(path):
    """The public names of a module, of its types too, and its own, that say nothing."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    found = [node for node in tree.body if isinstance(node, kinds)]
    public = [node for node in found if isinstance(node, ast.ClassDef) and node.name[0] != "_"]
    found += [inner for node in public for inner in node.body if isinstance(inner, kinds)]
    names = {node.name for node in found} | types_of(tree)
    stems = {path.stem, path.parent.name} - NOUNS.get(path.relative_to(ROOT).as_posix(), set())
    allowed = NOUNS.get(path.relative_to(ROOT).as_posix(), set())
    return {name for name in names | stems if name.lower() in NAMELESS} - allowed


def types_of(tree):
    """Names given to types: in capitals and small letters, as classes have them."""
    targets = [node.targets for node in tree.body if isinstance(node, ast.Assign)]
    targets += [[node.target] for node in tree.body if isinstance(node, ast.AnnAssign)]
    names = {one.id for several in targets for one in several if isinstance(one, ast.Name)}
    return {name for name in names if name[0].isupper() and name != name.upper()}


def test_modules_functions_classes_types_and_methods_say_what_they_are():
    wrong = {path.relative_to(ROOT).as_posix(): nameless(path) for path in FILES}
    assert {place: names for place, names in wrong.items() if names} == {}


@pytest.mark.parametrize(
    "source",
    [
        "def told(): ...",
        "class Shown: ...",
        "Shown = dict[str, int]",
        "async def own(): ...",
        "class A:\n    def own(self): ...",
    ],
)
def test_a_name_that_says_nothing_is_noticed(tmp_path, source):
    path = tmp_path / "core.py"
    path.write_text(source, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.test_names.ROOT", tmp_path)
        assert nameless(path)
