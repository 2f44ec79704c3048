"""Later work in a store: everything in it once more, under other keys and of a later day."""

import json
import shutil
from dataclasses import replace

import numpy as np

from shuffleproof.core.answers.trained_rankers import trained_on
from shuffleproof.core.store.keys import key_of
from shuffleproof.core.store.manifest import MANIFEST
from shuffleproof.core.studies.result import StudyResult

LATER = "2999-01-01T00:00:00+00:00"


def work(store, folds):
    """Store every study and every ranker of these folds once more, otherwise made; their keys."""
    made = [_study(store, one) for one in list(store.artefacts("study"))]
    for fold in folds:
        parts = (fold.train.fingerprint, fold.valid.fingerprint)
        own = {ranker.key for ranker in trained_on(store, *parts)}
        rankers = [one for one in store.artefacts("ranker") if str(one.key) in own]
        made += [_ranker(store, one, parts) for one in rankers]
    return made


def _study(store, artefact):
    """A study of another seed with half of every value."""
    recipe = {**artefact.recipe, "seed": 2999}
    result = StudyResult.open(artefact.path)
    halved = replace(result, recipe=recipe, values=np.asarray(result.values) / 2)
    return _stored(store, key_of("study", recipe), recipe, halved.save, artefact.facts)


def _ranker(store, artefact, parts):
    """The same weights under a recipe that says another seed."""
    recipe = json.loads(json.dumps(dict(artefact.recipe)))
    recipe["ranker"]["later"] = 2999

    def write(place):
        for path in artefact.path.iterdir():
            if path.name != MANIFEST:
                shutil.copy(path, place)

    return _stored(store, key_of("ranker", recipe, parts), recipe, write, artefact.facts)


def _stored(store, key, recipe, write, facts):
    made = store.add(key, recipe, write, facts)
    file = made.path / MANIFEST
    file.write_text(json.dumps(json.loads(file.read_text()) | {"created": LATER}))
    return str(key)
