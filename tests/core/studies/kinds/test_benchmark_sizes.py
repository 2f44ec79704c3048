"""Which public benchmark a data set is, by its size."""

import pytest

from shuffleproof.core.data.benchmarks import BENCHMARKS, Size, likeliest


@pytest.mark.parametrize("known", BENCHMARKS)
def test_every_benchmark_is_known_by_its_size_and_when_rows_are_missing(known):
    for documents, complete in ((known.documents, True), (known.documents - 1, False)):
        sizes = {"whole": Size(known.queries, documents)}
        found = likeliest(sizes, known.features, known.top_label)
        assert found == (known, "whole", complete)
    more = {"whole": Size(known.queries + 1, known.documents)}
    assert likeliest(more, known.features, known.top_label) is None


def test_a_part_may_be_a_whole_benchmark():
    part = Size(784, 15_211)
    found = likeliest({"whole": Size(9_000, 90_000), "test": part}, 46, 2)
    assert (found.known.name, found.scope, found.complete) == ("MQ2008", "test", True)
    assert likeliest({"whole": Size(0, 0)}, 46, 2) is None
    assert likeliest({"whole": part}, 46, 3) is None
