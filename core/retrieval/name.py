"""Names of retrievers, and the presets behind them."""


def parsed(text: str) -> tuple[str, str]:
    """A retriever's name and its preset, empty where none is named.

    >>> parsed("snrm@small"), parsed(" BM25 ")
    (('snrm', 'small'), ('bm25', ''))
    """
    base, _, preset = text.strip().casefold().partition("@")
    return base, preset
