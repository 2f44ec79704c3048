"""Rankers that a certificate must not be fooled by, each with the verdicts that it may get.

All are deterministic given their state but where they say otherwise; `fresh` gives a ranker
without memory, as a process of its own would. Functions of one list stand here too by name, so
that every entry point can be given them: this module loads NumPy alone.
"""

import copy
import os
import socket
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

INVARIANT, NOT, INCONCLUSIVE = "invariant", "not invariant", "inconclusive"
ALL = frozenset({"features", "order", "ranks", "neighbours"})


@dataclass(frozen=True)
class Shown:
    """A list as an adversary is shown it, and the call that it is part of."""

    ranker: "Adversary"
    features: np.ndarray
    rows: np.ndarray
    lists: object
    at: int

    @property
    def places(self):
        return np.arange(len(self.rows))


@dataclass
class Adversary:
    """A ranker made of a function of one list as it is shown."""

    name: str
    function: object
    may_be: tuple
    reads: frozenset = ALL
    rankings: int = 0
    memory: dict = field(default_factory=dict)
    calls: int = 0
    chance: object = None

    def score(self, dataset, lists):
        self.calls += 1
        scores = np.empty(len(lists.rows), dtype=np.float64)
        for at, (low, high) in enumerate(zip(lists.offsets[:-1], lists.offsets[1:], strict=True)):
            rows = lists.rows[low:high]
            scores[low:high] = self.function(Shown(self, dataset.features[rows], rows, lists, at))
        with np.errstate(over="ignore"):
            return scores.astype(np.float32)

    def save(self, directory):
        raise AssertionError(directory)


@dataclass
class Forgetful(Adversary):
    """One that can be had in a fresh process."""

    def fresh(self, threads=None):
        made = copy.copy(self)
        made.memory, made.calls, made.name = {"threads": threads}, 0, self.name
        return made


def honest(features):
    return features @ np.linspace(1.0, 2.0, features.shape[1])


def places(rows):
    return np.arange(len(rows))


def memorised(ranker, features, rows):
    known = ranker.memory
    key = tuple(sorted(rows.tolist()))
    if key not in known:
        known[key] = dict(
            zip(rows.tolist(), (honest(features) + places(rows)).tolist(), strict=True)
        )
    return [known[key][row] for row in rows.tolist()]


def noise(shown):
    if shown.ranker.chance is None:
        shown.ranker.chance = np.random.default_rng(5)
    return shown.ranker.chance.random(len(shown.rows))


def on_ties(features, rows):
    """Rounded scores; only documents that tie are told apart, by where they are shown."""
    levels = np.round(honest(features))
    return levels + 1e-3 * places(rows) * (np.abs(levels - np.median(levels)) < 0.5)


def on_duplicates(features, rows):
    scores, (_, first, counts) = (
        honest(features),
        np.unique(features, axis=0, return_inverse=True, return_counts=True),
    )
    return scores + 1e-3 * places(rows) * (counts[first.ravel()] > 1)


def top(shown):
    """The fifth of the documents that a feature puts first."""
    return shown.features[:, 0] > np.quantile(shown.features[:, 0], 0.8)


def sigmoid(values):
    return 1 / (1 + np.exp(-values))


def _mean32(features, order):
    """An honest float32 mean over the set, summed in the input order."""
    total = np.zeros(features.shape[1], dtype=np.float32)
    for row in features[order]:
        total += row.astype(np.float32)
    return total / np.float32(len(order))


def context32(features, rows):
    """A float32 net with a set context: summation order is all that differs."""
    del rows
    context = _mean32(features, np.arange(len(features)))
    hidden = np.tanh((features * context).astype(np.float32))
    return (hidden @ np.linspace(-1, 1, features.shape[1]).astype(np.float32)).astype(np.float32)


def cancelling(features):
    """An honest float32 distance from the mean: of features far from 0, it is mostly rounding."""
    away = features - _mean32(features, np.arange(len(features)))
    return away @ np.linspace(1, 2, features.shape[1]).astype(np.float32)


def varying(features):
    """Honest scores times a float32 variance as mean square less squared mean, alike."""
    away = features.astype(np.float32)
    order = np.arange(len(away))
    return honest(features - 1e5) * (_mean32(away**2, order) - _mean32(away, order) ** 2).mean()


def half(features):
    """An honest mean over the set in float16."""
    total = np.zeros(features.shape[1], dtype=np.float16)
    for row in features.astype(np.float16):
        total += row
    return honest(features * np.tanh(total))


def shown_as(x, wanted):
    """Whether a list long enough for chance not to do it is shown in this order of its rows."""
    return len(x.rows) > 11 and np.array_equal(x.rows, wanted)


def remembered_but_for(x, wanted):
    """Remembers sets, and reads one order alone."""
    key = tuple(sorted(x.rows.tolist()))
    first = x.ranker.memory.setdefault(key, shown_as(x, wanted))
    return honest(x.features) + x.rows % 7 * first


def _zoo():
    one, no, maybe = (INVARIANT,), (NOT,), (NOT, INCONCLUSIVE)
    rare = np.random.default_rng(11)
    codes = rare.integers(1, 2**31, 4096)

    def hashed(rows):
        return int(codes[rows % 4096] @ (places(rows) + 1) % 1000)

    simple = {
        # honest ones, and transformed copies of them
        "honest": (lambda x: honest(x.features), one),
        "honest × 1e30": (lambda x: 1e30 * honest(x.features), one),
        "honest × 1e-30": (lambda x: 1e-30 * honest(x.features), one),
        "honest net in float32": (lambda x: context32(x.features, x.rows), one),
        "honest net × 1e-8": (lambda x: np.float32(1e-8) * context32(x.features, x.rows), one),
        "honest net × 1e30": (lambda x: np.float32(1e30) * context32(x.features, x.rows), one),
        "steps": (lambda x: np.round(honest(x.features) / 4) * 4, one),
        # by the input order, at every scale
        "1e-9 × place": (lambda x: 1e-9 * x.places, no),
        "exp(−20 − .01 place)": (lambda x: np.exp(-20 - 0.01 * x.places), no),
        "rare event and place": (
            lambda x: sigmoid(-18 + 0.2 * honest(x.features) - 0.05 * x.places), no,
        ),
        "place": (lambda x: -x.places, no),
        "place × 1e30": (lambda x: 1e30 * x.places, no),
        "place × 1e-30": (lambda x: 1e-30 * x.places, no),
        "a little place": (lambda x: honest(x.features) + 1e-3 * x.places, no),
        "place, all shifted by 1e8": (lambda x: 1e8 + honest(x.features) + x.places, maybe),
        "1e8 in one list": (
            lambda x: np.where((x.at == 0) & (x.rows == x.rows.min()), 1e8, 1e-3 * x.places), no,
        ),
        "1e8 in every list": (
            lambda x: np.where(x.rows == x.rows.min(), 1e8, honest(x.features) + x.places), no,
        ),
        "−∞ for some, place for others": (
            lambda x: np.where(x.rows % 3 == 0, -np.inf, x.places), no,
        ),
        "saturated by place": (lambda x: sigmoid(60 + x.places), maybe),
        "nearly saturated by place": (lambda x: sigmoid(15 + 0.05 * x.places), maybe),
        "a constant": (lambda x: np.full(len(x.rows), 0.5), (INCONCLUSIVE,)),
        "only beyond 30 documents": (
            lambda x: honest(x.features) + x.places * (len(x.rows) > 30), no,
        ),
        "only on ties": (lambda x: on_ties(x.features, x.rows), no),
        "ties by 1e-9": (lambda x: np.round(honest(x.features)) + 1e-9 * x.places, maybe),
        "only on duplicates": (lambda x: on_duplicates(x.features, x.rows), no),
        "first document shown": (lambda x: honest(x.features) + 3 * (x.places == 0), no),
        "neighbour above": (lambda x: honest(x.features) + np.roll(x.features[:, 0], 1), no),
        "in one order of a thousand": (
            lambda x: honest(x.features) + 5 * x.places * (hashed(x.rows) < 3), no,
        ),
        "the top by place, the rest far below": (
            lambda x: np.where(top(x), -1e-3 * x.places, -1e9 * (1 + abs(x.features[:, 1]))), maybe,
        ),
        "a saturated top by place": (
            lambda x: np.where(top(x), 1 - 2.0**-24 * x.places, sigmoid(x.features[:, 0] - 3)),
            maybe,
        ),
        # honest, and awkward
        "steep sigmoid": (lambda x: sigmoid(8 * honest(x.features)), one),
        "large and narrow": (lambda x: 1000 + 0.001 * honest(x.features), one),
        # by orders that chance does not draw
        "only reversed": (
            lambda x: honest(x.features) + x.places * shown_as(x, np.sort(x.rows)[::-1]), no,
        ),
        "only rotated by one": (
            lambda x: honest(x.features) + x.places * shown_as(x, np.roll(np.sort(x.rows), -1)), no,
        ),
        "only rotated back": (
            lambda x: honest(x.features) + x.places * shown_as(x, np.roll(np.sort(x.rows), 1)), no,
        ),
        "only the first two swapped": (
            lambda x: honest(x.features)
            + x.places * (shown_as(x, x.rows) and bool((np.diff(x.rows[1:]) > 0).all())
                          and x.rows[0] == x.rows[1] + 1), no,
        ),
        "only best first": (
            lambda x: honest(x.features)
            + x.places * shown_as(x, x.rows[np.argsort(-honest(x.features), kind="stable")]), no,
        ),
        "only best last": (
            lambda x: honest(x.features)
            + x.places * shown_as(x, x.rows[np.argsort(honest(x.features), kind="stable")]), no,
        ),
        "only by one feature": (
            lambda x: honest(x.features)
            + x.places * shown_as(x, x.rows[np.argsort(x.features[:, 3], kind="stable")]), no,
        ),
        "only where two neighbours are swapped": (
            lambda x: honest(x.features)
            + x.places * (len(x.rows) > 11 and int((np.diff(x.rows) < 0).sum()) == 1
                          and int((np.diff(x.rows) == -1).sum()) == 1), no,
        ),
        # the limits: honest ones with arithmetic coarser than is looked for, or whose rounding does
        # not come from their features
        "honest net in float16": (lambda x: half(x.features), no),
        "honest, cancelling by itself in float32": (
            lambda x: cancelling(x.features.astype(np.float32) + np.float32(1e5)), no,
        ),
        # not by the order
        "one list by place, all by chance": (
            lambda x: 1e-3 * noise(x) + (x.places if x.at == 1 else honest(x.features)), no,
        ),
        "by chance": (lambda x: honest(x.features) + 1e-3 * noise(x), (INCONCLUSIVE,)),
        "by chance and place": (
            lambda x: honest(x.features) + 1e-3 * noise(x) + 0.1 * x.places, no,
        ),
        "now and then by chance": (
            lambda x: honest(x.features) + 5 * x.places[::-1] * (noise(x)[0] < 3e-2),
            (INCONCLUSIVE,),
        ),
        "by its batch mates": (lambda x: honest(x.features) * (1 + 0.1 * len(x.lists)), maybe),
        "by place when alone": (
            lambda x: honest(x.features) + x.places * (len(x.lists) == 1), maybe,
        ),
        "by padding": (
            lambda x: honest(x.features) * (1 + 0.01 * x.lists.lengths.max()), maybe,
        ),
    }  # fmt: skip
    remembering = {
        "remembers sets": (lambda x: memorised(x.ranker, x.features, x.rows), no),
        "counts its calls": (lambda x: honest(x.features) * (1 + 0.01 * x.ranker.calls), maybe),
        "by place after 12 calls": (
            lambda x: honest(x.features) + x.places * (x.ranker.calls > 12), maybe,
        ),
        "remembers sets, reads the reverse": (
            lambda x: remembered_but_for(x, np.sort(x.rows)[::-1]), no,
        ),
        "by place with one thread": (
            lambda x: honest(x.features) + x.places * (x.ranker.memory.get("threads") == 1), no,
        ),
        "honest in any process": (lambda x: honest(x.features), one),
    }  # fmt: skip
    simple["remembers sets in this process"] = remembering["remembers sets"]
    animals = [Adversary(name, *how) for name, how in simple.items()]
    return [*animals, *(Forgetful(name, *how) for name, how in remembering.items())]


ZOO = _zoo


SETS = 6
"""Columns of numbers; the next is one of few values, and the last says which document it is."""


def bfloat16(values):
    bits = np.asarray(values, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def levels(features):
    return np.round(honest(features[:, :SETS]), 1)


MEMORY = {}


def per_document_cache(features):
    """The place at which a document was first shown stays with it."""
    scores = honest(features[:, :SETS]) - 0.5 * places(features)
    return [MEMORY.setdefault(x.tobytes(), v) for x, v in zip(features, scores, strict=True)]


def padding_without_mask(features, mask):
    """A mean over all slots, padding too."""
    del mask
    return features[..., :SETS].sum(axis=-1) * (1 + features[..., 0].mean(axis=1, keepdims=True))


def sorted_ties(features):
    """Ranks by a feature of few values, ties as they are shown."""
    return np.argsort(np.argsort(features[:, SETS], kind="stable"), kind="stable")


def ties_in_float32_steps(features):
    scores = levels(features).astype(np.float32)
    return scores - np.spacing(np.abs(scores)) * places(features).astype(np.float32)


def ties_in_float64(features):
    return levels(features) - 1e-9 * places(features)


def honest_float64(features):
    return honest(features[:, :SETS].astype(np.float64))


def honest_with_infinity(features):
    return np.where(features[:, 0] < -1, -np.inf, honest(features[:, :SETS]))


def honest_in_bfloat16(features):
    """A network over the set whose arithmetic is bfloat16: sums are rounded in the input order."""
    total = np.zeros(SETS, dtype=np.float32)
    for row in bfloat16(features[:, :SETS]):
        total = bfloat16(total + row)
    context = bfloat16(1 + 0.1 * np.tanh(total / len(features)))
    return bfloat16(3 + bfloat16(features[:, :SETS] * context) @ np.linspace(0.1, 0.4, SETS))


def by_place_in_bfloat16(features):
    return bfloat16(3 + honest(features[:, :SETS]) / 5 - 0.2 * places(features))


def file_cache(features):
    """Scores of a set are kept in the working folder."""
    key = Path(f"cache-{int(features[:, -1].min())}.txt")
    if key.exists():
        kept = dict(line.split() for line in key.read_text().splitlines())
    else:
        scores = honest(features[:, :SETS]) - 0.5 * places(features)
        kept = dict(zip(map(str, features[:, -1].astype(int)), scores.tolist(), strict=True))
        key.write_text("\n".join(f"{name} {score}" for name, score in kept.items()))
    return [float(kept[str(name)]) for name in features[:, -1].astype(int)]


def database_cache(features):
    with sqlite3.connect("cache.db") as database:
        database.execute("create table if not exists scores (document primary key, score)")
        scores = honest(features[:, :SETS]) - 0.5 * places(features)
        rows = [*zip(features[:, -1].tolist(), scores.tolist(), strict=True)]
        database.executemany("insert or ignore into scores values (?, ?)", rows)
        kept = dict(database.execute("select * from scores").fetchall())
    database.close()
    return [kept[document] for document, _ in rows]


def remote_cache(features):
    """A server would be asked, and is not there."""
    with socket.socket() as connection:
        connection.connect_ex(("127.0.0.1", int(os.environ.get("ZOO_PORT", "9"))))
    return honest(features[:, :SETS])


def total(features):
    return features.sum(axis=1)


def by_place(features, ranks):
    del ranks
    return total(features) - 0.5 * places(features)


def beside_first(features):
    """The document shown first lends its last feature to all."""
    return features[:, 0] * (features[0, 2] > 0)


FUNCTIONS = {
    per_document_cache: (NOT,), padding_without_mask: (NOT, INCONCLUSIVE), sorted_ties: (NOT,),
    ties_in_float32_steps: (NOT,), ties_in_float64: (NOT,), honest_float64: (INVARIANT,),
    honest_with_infinity: (INVARIANT,), honest_in_bfloat16: (INCONCLUSIVE,),
    by_place_in_bfloat16: (NOT,), file_cache: (NOT, INCONCLUSIVE),
    database_cache: (NOT, INCONCLUSIVE),
    remote_cache: (INCONCLUSIVE,),
}  # fmt: skip
"""Functions of one list that fooled certificates once, and honest ones beside them."""


def _by_name(animal):
    """A ranker of the zoo as a function of one list."""

    def function(features):
        rows = np.rint(features[:, -1]).astype(int)
        animal.calls += 1
        return animal.function(Shown(animal, features[:, :SETS], rows, None, -1))

    function.__qualname__ = function.__name__ = f"animal_{len(ANIMALS)}"
    return function


ANIMALS = {}
for _animal in _zoo():
    if (
        _animal.function.__code__.co_names
        and not {"lists", "at"} & {*_animal.function.__code__.co_names}
        and "thread" not in _animal.name
    ):
        _function = _by_name(_animal)
        ANIMALS[_function] = _animal.may_be
        globals()[_function.__name__] = _function


class Narrow(Adversary):
    """By the order in float32 alone: its float64 scores are innocent."""

    def exact_scores(self, dataset, lists):
        return np.concatenate(
            [honest(dataset.features[lists.rows[low:high]]) for low, high in _bounds(lists)]
        ).astype(np.float64)


class Wide(Adversary):
    """Honest in float32; its float64 scores, which nobody asks for, are not."""

    def exact_scores(self, dataset, lists):
        scores = Narrow.exact_scores(self, dataset, lists)
        return scores + 1e-3 * np.concatenate([np.arange(size) for size in lists.lengths])


def _bounds(lists):
    return zip(lists.offsets[:-1], lists.offsets[1:], strict=True)


def precise():
    """Rankers with float64 scores."""
    return [
        Narrow("by place in float32", lambda x: honest(x.features) + x.places, (NOT, INCONCLUSIVE)),
        Narrow("a little by place in float32", lambda x: honest(x.features) + 0.01 * x.places,
               (NOT, INCONCLUSIVE)),
        Wide("by place in float64", lambda x: honest(x.features), (INVARIANT, INCONCLUSIVE)),
    ]  # fmt: skip
