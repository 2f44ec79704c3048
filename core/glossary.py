"""Terms of the field in plain words, each with its source: one list for every page and command."""

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Term:
    """A term and what it means.

    Attributes:
        name: in the glossary.
        meaning: one or two sentences.
        source: where it is defined; empty where it is ours.
        forms: how texts write it, beside the name.
    """

    name: str
    meaning: str
    source: str = ""
    forms: tuple[str, ...] = ()


TERMS = (
    Term(
        "Ablation", "Taking a design apart: one choice is changed at a time, to see what it does.",
    ),
    Term(
        "Attention", "Weights, adding up to 1, by which a network draws on the other documents of "
        "a list when it scores one of them.", "Vaswani et al., NeurIPS 2017",
    ),
    Term(
        "BCa interval", "A bootstrap interval corrected for bias and skew: what other samples of "
        "queries would have given.", "Efron, JASA 1987", ("BCa",),
    ),
    Term(
        "Candidates", "The documents that a first stage retrieved for a query, and that a ranker "
        "puts in order.", "", ("candidate list", "candidate lists"),
    ),
    Term(
        "Certificate", "A statement that no input order changes a ranker's answer: by proof where "
        "the network allows one, else by the orders that were tried.",
    ),
    Term(
        "Cohen's d", "A mean difference divided by its standard deviation over queries: 0.2 is "
        "small, 0.8 large.", "Cohen 1988",
    ),
    Term(
        "Cross-fitted", "Candidate lists for training come from initial rankers that were not "
        "trained on those queries, so that they are as good, or as bad, as they will be on new "
        "ones.", "Chernozhukov et al. 2018", ("cross-fitting",),
    ),
    Term(
        "CVaR", "The mean over the worst share of queries, here the worst 5 %.",
        "Rockafellar & Uryasev 2000",
    ),
    Term(
        "DLCM", "Deep Listwise Context Model: a recurrent network that reads the candidates in "
        "the order of the initial ranking.", "Ai et al., SIGIR 2018",
    ),
    Term(
        "ERR", "Expected reciprocal rank: a reader scans downwards and stops at the first "
        "document that satisfies.", "Chapelle et al., CIKM 2009",
    ),
    Term(
        "GSF", "Groupwise scoring functions: documents are scored in groups, and the scores of "
        "many groups are averaged.", "Ai et al., ICTIR 2019",
    ),
    Term(
        "Holm's adjustment", "Makes p-values of several tests larger, so that the chance of even "
        "one false alarm stays at 5 %.", "Holm 1979", ("Holm",),
    ),
    Term(
        "IMSAB", "SetRank's block that attends by way of a few learnt points, in time linear in "
        "the length of the list.", "Pang et al., SIGIR 2020",
    ),
    Term(
        "Initial ranking", "The order in which the first stage delivers the candidates. Some "
        "rankers read it, as the input order or as ranks.", "",
        ("initial rankings", "initial ranker", "initial rankers"),
    ),
    Term(
        "Invariant", "The same answer in whatever order the documents are shown.",
        "Pang et al., SIGIR 2020, section 3", ("permutation invariant", "invariance"),
    ),
    Term(
        "Inversion", "A pair of documents in the opposite order of before.", "", ("inversions",),
    ),
    Term(
        "Kendall τ", "How far two orders agree: 1 the same, 0 unrelated, −1 reversed.",
        "Kendall 1938", ("τ",),
    ),
    Term(
        "LambdaMART", "Boosted trees trained on how much swapping two documents would change "
        "NDCG.", "Burges 2010",
    ),
    Term(
        "LETOR", "The text format of learning to rank: a grade, a query and numbered features in "
        "each line.", "Qin & Liu 2013", ("LETOR text",),
    ),
    Term("MSAB", "SetRank's block of self-attention over all documents of the list.",
         "Pang et al., SIGIR 2020"),
    Term(
        "NDCG", "Discounted gain of the first documents, divided by that of the best possible "
        "order: 1 is perfect. @10: of the first ten.", "Järvelin & Kekäläinen 2002",
    ),
    Term(
        "Oracle", "The judgments themselves as a ranking; an anti-oracle is that upside down.",
    ),
    Term(
        "Ordinal embedding", "A learnt vector for each rank of the initial ranking, added to the "
        "document's features.", "Pang et al., SIGIR 2020", ("ordinal embeddings",),
    ),
    Term(
        "Paired t test", "Compares two rankers query by query, so that hard and easy queries "
        "cancel out.", "Student 1908", ("paired t",),
    ),
    Term(
        "Perturbation", "A stated change of a ranker's input, of a family and at a level.", "",
        ("perturbations",),
    ),
    Term("Preset", "A named set of sizes and settings for training: small is quick, paper as "
         "published, released as the authors' code has it."),
    Term("Qrels", "The judgments of a test collection: topic, document, grade.",
         "trec_eval (NIST)"),
    Term("RankSVM", "A linear ranker that learns from pairs of documents.", "Joachims 2002"),
    Term("Seed", "The number from which all random choices of a run follow."),
    Term(
        "SetRank", "A network of self-attention over the set of documents; the input order plays "
        "no part in it.", "Pang et al., SIGIR 2020",
    ),
    Term(
        "Transposition", "Two documents of the ranking, drawn at random, change places.",
        "Pang et al., SIGIR 2020, Figure 3", ("transpositions",),
    ),
    Term("TREC run", "A ranking in TREC's format: topic, document, rank and score in each line.",
         "trec_eval (NIST)", ("TREC runs",)),
    Term("Worst case", "The order within a budget of inversions that a search found to hurt most: "
         "something worse may exist."),
)  # fmt: skip
"""The glossary, by name."""


@cache
def _pattern() -> tuple[re.Pattern[str], dict[str, Term]]:
    by_form = {form.lower(): term for term in TERMS for form in (term.name, *term.forms)}
    longest = sorted(by_form, key=len, reverse=True)
    forms = "|".join(map(re.escape, longest))
    return re.compile(rf"(?<!\w)({forms})(?!\w)", re.IGNORECASE), by_form


def terms_in(text: str) -> list[Term]:
    """The terms that a text uses, in its order.

    >>> [term.name for term in terms_in("Kendall τ of dlcm; NDCG@10 by Holm, ndcg@10")]
    ['Kendall τ', 'DLCM', 'NDCG', "Holm's adjustment"]
    """
    pattern, by_form = _pattern()
    return list(dict.fromkeys(by_form[hit.lower()] for hit in pattern.findall(text)))
