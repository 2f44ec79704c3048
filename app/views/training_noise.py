"""The page of training noise: spread of trainings on shuffled rows, queries, columns, seeds."""

from shuffleproof.app.study.form import Form
from shuffleproof.app.study.page import StudyPage
from shuffleproof.core.rankers import registry
from shuffleproof.core.studies.kinds.training_noise.question import TrainingNoise

FORM = Form(
    TrainingNoise.kind,
    rows=(("rankers",), ("repeats", "seed")),
    from_shown=("repeats",),
    offered=lambda name: name in registry.RANKERS and registry.RANKERS[name].learns,
    note="Every source of noise trains each ranker this many times.",
)
PAGE = StudyPage(
    "Training noise", FORM, caption="A mark is a training, the line the training as it is."
)
page = PAGE.draw
