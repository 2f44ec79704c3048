"""Ordinal embeddings: ties, direction, relative start, several rankings, the table's end."""

from dataclasses import replace

import pytest
import torch

from shuffleproof.core.errors import DataError, MissingRankingError
from shuffleproof.core.models.config import SetRankConfig
from shuffleproof.core.models.ordinal import OrdinalEmbedding

CONFIG = SetRankConfig(width=4, heads=1, ordinals=6, rankings=1)


def embedding(**changes):
    torch.manual_seed(0)
    return OrdinalEmbedding(replace(CONFIG, **changes))


def ranking(*ranks):
    """Ranks [1, docs, 1] and the size of each document's tied block."""
    given = torch.tensor(ranks)[None, :, None]
    return given, (given == given.transpose(1, 2)).sum(2, keepdim=True)


def test_untied_documents_get_their_ranks_row_exactly():
    module = embedding()
    found = module(*ranking(2, 0, 1))
    assert torch.equal(found[0], module.tables[0, [2, 0, 1]])


def test_tied_documents_share_the_mean_of_the_ranks_they_occupy():
    module = embedding()
    found = module(*ranking(0, 1, 4, 1, 1))[0]
    due = module.tables[0, 1:4].mean(0)
    for place in (1, 3, 4):
        torch.testing.assert_close(found[place], due)
    assert torch.equal(found[2], module.tables[0, 4])


def test_tied_mean_is_exactly_invariant_to_the_order_shown():
    module = embedding()
    ranks, tied = ranking(0, 1, 4, 1, 1)
    order = torch.tensor([4, 2, 0, 3, 1])
    moved = module(ranks[:, order], tied[:, order])
    assert torch.equal(moved, module(ranks, tied)[:, order])


def test_mode_first_ranks_ties_by_shown_position_and_is_not_invariant():
    module = embedding(tied_ranks="first")
    ranks, tied = ranking(0, 1, 4, 1, 1)
    found = module(ranks, tied)
    assert torch.equal(found[0], module.tables[0, [0, 1, 4, 2, 3]])
    order = torch.tensor([4, 2, 0, 3, 1])
    moved = module(ranks[:, order], tied[:, order])
    assert not torch.equal(moved, found[:, order])


def test_worst_first_gives_the_best_document_the_last_index():
    module = embedding(ordinal_direction="worst-first")
    found = module(*ranking(0, 2, 1))[0]
    assert torch.equal(found, module.tables[0, [5, 3, 4]])
    tied = module(*ranking(0, 1, 1))[0]
    torch.testing.assert_close(tied[1], module.tables[0, 3:5].mean(0))


@pytest.mark.parametrize(("direction", "rows"), [("best-first", [3, 4]), ("worst-first", [2, 1])])
def test_relative_start_moves_every_rank_of_a_list(direction, rows):
    module = embedding(ordinal_direction=direction)
    found = module(*ranking(0, 1), torch.tensor([3]))[0]
    assert torch.equal(found, module.tables[0, rows])


def test_starts_belong_to_lists():
    module = embedding()
    ranks, tied = ranking(0, 1)
    both = module(ranks.repeat(2, 1, 1), tied.repeat(2, 1, 1), torch.tensor([0, 4]))
    assert torch.equal(both[0], module.tables[0, [0, 1]])
    assert torch.equal(both[1], module.tables[0, [4, 5]])


@pytest.mark.parametrize("table", ["shared", "own"])
def test_several_rankings_are_summed(table):
    module = embedding(rankings=2, ordinal_table=table)
    first, one = ranking(2, 0, 1)
    second, shared = ranking(0, 0, 2)
    found = module(torch.cat((first, second), 2), torch.cat((one, shared), 2))[0]
    other = module.tables[1 if table == "own" else 0]
    second_part = torch.stack((other[:2].mean(0), other[:2].mean(0), other[2]))
    torch.testing.assert_close(found, module.tables[0, [2, 0, 1]] + second_part)
    if table == "shared":
        assert len(module.tables) == 1


def test_further_rankings_are_ignored():
    module = embedding()
    ranks, tied = ranking(2, 0, 1)
    wide = torch.cat((ranks, ranks.flip(1)), 2)
    assert torch.equal(module(wide, tied.repeat(1, 1, 2)), module(ranks, tied))


def test_gradients_reach_every_rank_of_a_tied_block():
    module = embedding().double()
    module(*ranking(0, 1, 1))[0, 2].sum().backward()
    due = torch.zeros(6, 4, dtype=torch.float64)
    due[1:3] = 0.5
    torch.testing.assert_close(module.tables.grad[0], due)


@pytest.mark.parametrize("direction", ["best-first", "worst-first"])
def test_a_rank_beyond_the_table_is_refused_by_name(direction):
    module = embedding(ordinal_direction=direction)
    module(*ranking(5))
    with pytest.raises(DataError, match=r"rank 7 with an ordinal table of 6.*N_max"):
        module(*ranking(6))
    with pytest.raises(DataError, match="rank 8"):
        module(*ranking(5), torch.tensor([2]))


def test_too_few_rankings_are_refused():
    with pytest.raises(MissingRankingError, match="reads 2 initial"):
        embedding(rankings=2)(*ranking(0, 1))
