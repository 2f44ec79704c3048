"""Rules for the texts of documents and docstrings: noun first, short sentences, plain words."""

import ast
import re

import pytest

from tests import docs
from tests.places import ROOT

PRIVATE = (
    r"whom|whoever|somebody|nobody|anew|so many|hitherto|whence|of one's own|in one go|goes by"
    r"|(?:is|are|was|were|be|been) (?:told|asked|said|kept|taken|brought|buried)"
    r"|told (?:apart|from|by)|stands? (?:beside|there|for itself|in it|in the)|the way in|as it is"
    r"|for good|dearest|more than chance|may be chance|what it (?:is|was|has|says|reads|answers)"
)
"""Private terms: there is a word of the field, or a plainer one, for each."""

RULE = re.compile(rf"\b(?:{PRIVATE})\b", re.IGNORECASE)
QUESTION = re.compile(r"(?:What|Whether|How|Whom?|Whose|Where|Which)\b(?!.*\?)")
LONGEST = 32
"""Words of a sentence at most."""

TEXTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *docs.PAGES]
MODULES = sorted(path for top in ("core", "app") for path in (ROOT / top).rglob("*.py"))
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def long_sentences(text):
    """Sentences, cells of tables and items of lists with too many words; code counts none."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for sentence in re.split(r"(?<=[.!?:;])\s+|\n\s*\n|\n\s*[-*\d|#]|\|", text):
        words = re.findall(r"[^\W\d][\w'-]+", re.sub(r"`[^`]*`", "", sentence))
        if len(words) > LONGEST:
            yield " ".join(words)


def faults(text):
    """Excerpts that break a rule."""
    code_apart = re.sub(r"```.*?```|`[^`]*`|^ *\w+: ", "", text, flags=re.DOTALL | re.MULTILINE)
    return [hit[0] for hit in RULE.finditer(" ".join(code_apart.split()))] + [*long_sentences(text)]


def docstrings(path):
    """Place and text of every docstring of a module, without examples."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            place = f"{path.relative_to(ROOT)}:{node.body[0].lineno}"
            yield place, re.sub(r"^ *(?:>>>|\.\.\. ).*\n?(?:.+\n?)*", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_documents_are_plain(path):
    """Without the generated parts, whose words the declarations have."""
    assert faults(docs.PART.sub("", path.read_text(encoding="utf-8"))) == []


def test_docstrings_are_plain():
    found = [(place, text) for path in MODULES for place, text in docstrings(path)]
    assert len(found) > 4000
    assert [(place, fault) for place, text in found for fault in faults(text)] == []
    assert [place for place, text in found if QUESTION.match(text)] == []


def test_faults_are_found():
    assert faults("A run for whom nothing is kept. Fine.") == ["whom", "is kept"]
    assert len(faults("word " * 33)) == 1
    assert faults("`whom` " + "word " * 32) == []
    assert QUESTION.match("What a run is.")
    assert not QUESTION.match("What is a run?")
