"""Which public benchmark a data set is, by its size, and the sentence about it."""

import pytest

from shuffleproof.core.data.benchmarks import BENCHMARKS, Match, Size, likeliest, sentence

KNOWN = {one.name: one for one in BENCHMARKS}
WHOLE = "(whole: 1,692 queries and 69,623 documents)"


@pytest.mark.parametrize("known", BENCHMARKS)
def test_every_benchmark_is_known_by_its_size_and_when_rows_are_missing(known):
    for documents, kind in ((known.documents, "same"), (known.documents - 1, "differs")):
        sizes = {"whole": Size(known.queries, documents)}
        found = likeliest(sizes, known.features, known.top_label)
        assert (found.known, found.scope, found.kind, found.others) == (known, "whole", kind, ())
    more = {"whole": Size(known.queries + 1, known.documents)}
    other = likeliest(more, known.features, known.top_label)
    assert other is None or other.known != known


def test_a_part_may_be_a_whole_benchmark_and_no_share_of_one():
    part = Size(784, 15_211)
    found = likeliest({"whole": Size(9_000, 90_000), "test": part}, 46, 2)
    assert (found.known.name, found.scope, found.kind) == ("MQ2008", "test", "same")
    fewer = part._replace(queries=700)
    assert likeliest({"whole": Size(9_000, 90_000), "test": fewer}, 46, 2) is None
    assert likeliest({"whole": Size(0, 0)}, 46, 2) is None
    assert likeliest({"whole": part}, 46, 3) is None


def test_shares_are_told_apart_by_the_length_of_their_lists():
    long, short = KNOWN["MSLR-WEB30K"], KNOWN["MSLR-WEB10K"]
    found = likeliest({"whole": Size(1_000, 119_700)}, 136, 4)
    assert {found.known, *found.others} == {long, short}
    found = likeliest({"whole": Size(1_000, 41_100)}, 46, 2)
    assert (found.known.name, found.others) == ("MQ2007", ())


def test_what_a_match_means_is_a_sentence():
    known = KNOWN["MQ2007"]
    shape = "It has 46 features and grades 0 to 2"
    size = Size(846, 30_000)
    assert sentence(Match(known, "whole", "same"), size, "It has") == (
        "It has the size of MQ2007: 1,692 queries and 69,623 documents."
    )
    assert sentence(Match(known, "whole", "differs"), size, "It has") == (
        f"{shape} and 1,692 queries as MQ2007, but 30,000 documents instead of 69,623: "
        "rows are missing."
    )
    share = f"{shape} like MQ2007, and 50.0 % of its queries {WHOLE}."
    assert sentence(Match(known, "whole", "share"), size, "It has") == share
    others = (KNOWN["MQ2008"], KNOWN["Istella"])
    either = f"{share} It may as well be of MQ2008 or Istella."
    assert sentence(Match(known, "whole", "share", others), size, "It has") == either
