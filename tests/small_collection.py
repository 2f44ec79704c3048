"""A text collection of a few documents, as a BEIR folder."""

import json

TOPICS = ("heated slabs", "thin wings", "shock waves", "boundary layers", "jet noise", "flutter")


def write(folder):
    """Write 18 documents, a query on each of six topics, and which documents answer it."""
    (folder / "qrels").mkdir(parents=True)
    documents = [
        {"_id": f"{at}-{grade}", "title": topic, "text": f"{(topic + ' ') * (grade + 1)}of flow"}
        for at, topic in enumerate(TOPICS)
        for grade in range(3)
    ]
    queries = [{"_id": str(at), "text": topic} for at, topic in enumerate(TOPICS)]
    lines = [f"{at}\t{at}-{grade}\t{grade}" for at in range(len(TOPICS)) for grade in range(3)]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    table = "\n".join(["query-id\tcorpus-id\tscore", *lines])
    (folder / "qrels" / "test.tsv").write_text(table + "\n")
