"""Command that stores recorded answers of rerankers."""

import argparse

from shuffleproof.core.cli.answer import Answer, table
from shuffleproof.core.cli.open import store_of
from shuffleproof.core.errors import UsageError
from shuffleproof.core.parameters import parts_of
from shuffleproof.core.rerank import reading
from shuffleproof.core.words import counted

SIZES = {"lists": "list", "windows": "window", "queries": "query"}


def ingest(arguments: argparse.Namespace) -> Answer:
    """`ingest-reranks`: read files, store their calls, and print the groups that were guessed."""
    given = dict(part.partition("=")[::2] for part in parts_of(arguments.groups or ""))
    if not all(given.values()):
        raise UsageError("--groups: write FIELD=VALUE, as in reranker=my-model")
    artefact = reading.ingest(
        arguments.path, arguments.name, store_of(arguments), arguments.qrels, given
    )
    facts = dict(artefact.facts)
    answer = {"name": arguments.name, "key": str(artefact.key), **facts}
    sizes = ", ".join(counted(facts[name], one) for name, one in SIZES.items())
    lines = [
        table(facts["groups"]),
        f"{arguments.name}: {sizes}. {' '.join(facts['notes'])}".rstrip(),
    ]
    lines.append(f"Next: shuffleproof study rerankers --data {arguments.name}")
    return Answer(answer, "\n".join(lines))
