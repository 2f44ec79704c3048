"""card.json: its schema, what comes back of it, and what anybody may have written instead."""

import json

import jsonschema
import numpy as np
import pytest

from shuffleproof.core.errors import DataError
from shuffleproof.core.gate import card_file
from shuffleproof.core.gate.card_file import CardFile, CardRanker, card_text, read_card, schema

DIGEST = "0123456789abcdef" * 4
QUERIES = tuple(f"q{number}" for number in range(40))
VALUES = np.linspace(0, 1, 40, dtype=np.float32) ** 2
LEVELS = (0.0, 5.0)


def card(values=VALUES, ranker="mine", initial=VALUES, **changes):
    rankers = {"initial ranking": initial, ranker: values}
    fields = {
        "made_with": {"numpy": "1"},
        "data": {"name": "ours", "fingerprint": DIGEST},
        "lists": {"digest": DIGEST, "recipe": {"initial": ["file-order"]}, "preset": "small"},
        "draws": 5,
        "seed": 0,
        "measures": {"NDCG@10": "in words"},
        "queries": QUERIES,
        "rankers": {
            name: CardRanker(name, str(own[0]), steady=True, noise={"NDCG@10": 1e-5})
            for name, own in rankers.items()
        },
        "conditions": {
            (name, "NDCG@10", "transpositions", level): own
            for name, own in rankers.items()
            for level in LEVELS
        },
    }
    return CardFile(**fields | changes)


def test_what_is_written_is_of_the_schema_and_comes_back_to_the_bit(tmp_path):
    values = VALUES.copy()
    values[3] = np.nan
    made = card(values)
    (tmp_path / "card.json").write_text(card_text(made))
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(json.loads(card_text(made)), schema())
    found = read_card(tmp_path / "card.json")
    for condition, own in made.conditions.items():
        np.testing.assert_array_equal(found.conditions[condition], own)
    assert card_text(found) == card_text(made)
    assert found.families == ("transpositions",)


def changed(path, value):
    """A card's text where the value at a path is another one, or gone."""
    document = json.loads(card_text(card()))
    at = document
    for name in path[:-1]:
        at = at[name]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("", "card.json:1", "no JSON at column 1"),
        ('{\n"schema": }', "card.json:2", "no JSON at column 11"),
        ("[1]", "card.json", "no object"),
        ("[" * 100_000, "card.json", "nested too deeply"),
        ('{"seed": NaN}', "card.json", "NaN is no number"),
        ('{"seed": ' + "9" * 5000 + "}", "card.json", "Exceeds the limit"),
        (b'{"seed": "\xff"}', "card.json", "codec can't decode"),
        (changed(["schema"], "other"), "card.json", "it is no card"),
        (changed(["version"], 2), "card.json", "version 2, and this program reads 1"),
        (changed(["seed"], -1), "card.json: seed", "less than the minimum"),
        (changed(["rankers", 1, "noise", "NDCG@10"], "x"), "rankers[1].noise", "type 'number'"),
        (changed(["rankers", 0, "digest"], None), "rankers[0]", "'digest' is a required"),
        (changed(["conditions", 2, "values", 7], "x"), "conditions[2].values[7]", "is not of type"),
        (changed(["conditions", 2, "values", 7], None), "conditions[2]", "39 values for 40"),
        (changed(["conditions", 3, "ranker"], "no"), "conditions[3]", "'no' is not among"),
        (changed(["conditions", 3, "measure"], "no"), "conditions[3]", "'no' is not among"),
        (changed(["lists", "recipe", "code"], "x"), "lists.recipe", "'code' was unexpected"),
        (changed(["data", "fingerprint"], "../x" * 99), "data.fingerprint", "does not match"),
        (changed(["queries", 0], "\ud800"), "card.json", "half of a pair"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_card_is_refused_with_place_and_remedy(tmp_path, text, place, said):
    path = tmp_path / "card.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError) as told:
        read_card(path)
    assert place in told.value.place
    assert said in told.value.finding
    assert len(told.value.finding) < 250
    assert "rite" in told.value.remedy  # write it anew, whatever it was


def test_a_file_beyond_bounds_or_that_is_not_there_is_refused(tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"cannot be read .No such file"):
        read_card(tmp_path / "none.json")
    with pytest.raises(DataError, match=r"cannot be read .Is a directory"):
        read_card(tmp_path)
    monkeypatch.setattr(card_file, "MOST_BYTES", 100)
    (tmp_path / "card.json").write_text(card_text(card()))
    with pytest.raises(DataError, match="more than 100 bytes"):
        read_card(tmp_path / "card.json")
