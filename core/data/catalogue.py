"""The data sets a person can name: the shipped sample for now."""

from pathlib import Path

from core.data import letor
from core.data.dataset import Fold
from core.store.artefacts import Store

SAMPLE = Path(__file__).resolve().parents[2] / "sample_data"


def resolve(text: str, store: Store) -> Fold:
    """The fold that a text names."""
    del text, store
    return Fold(*(letor.read(SAMPLE / f"{part}.txt.gz").dataset for part in ("train", "vali", "test")))
