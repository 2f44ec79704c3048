"""Built-in text collection, generated so that it has no copyright restrictions.

Each subject has two vocabularies. A query uses one of them, but documents in the other one are
relevant too. Word matching misses these; retrieval by latent dimensions may find them.
"""

from dataclasses import replace
from functools import cache

import numpy as np

from shuffleproof.core.data.ragged import offsets_of
from shuffleproof.core.data.text import TextColumn
from shuffleproof.core.retrieval.collection import Collection, digest_of
from shuffleproof.core.seeds import generator

NAME = "sample"
DOCUMENTS = 20  # Number of documents per subject
QUERIES = 2  # Number of queries per subject: one in each vocabulary
SUBJECTS = """\
energy|heat pumps|compressor evaporator refrigerant radiator insulation|boiler warmth exchanger \
thermostat heating
energy|wind turbines|blade rotor gearbox gust tower|windmill propeller breeze nacelle generator
energy|solar cells|photovoltaic panel silicon sunlight inverter|irradiance wafer rooftop \
module electrode
medicine|migraine|headache aura nausea triptan trigger|cephalalgia throbbing photophobia \
analgesic onset
medicine|diabetes|insulin glucose pancreas fasting injection|glycaemia sugar metformin \
hormone diet
medicine|vaccines|antibody immunisation booster antigen dose|inoculation immunity serum jab \
adjuvant
farming|soil erosion|topsoil runoff gully terrace slope|sediment washout furrow contour \
degradation
farming|bees|hive pollen honey queen swarm|apiary nectar colony brood beekeeper
farming|irrigation|drip sprinkler canal moisture valve|watering hose ditch reservoir evaporation
transport|railways|locomotive track sleeper signal gauge|train rails carriage junction platform
transport|bicycles|pedal saddle derailleur spoke helmet|cycling wheel handlebar chain rider
transport|ships|hull keel anchor ballast rudder|vessel freighter harbour cargo bow
computing|compilers|parser grammar register optimiser syntax|translator lexer bytecode \
inlining codegen
computing|search engines|crawler ranking index query relevance|retrieval spider postings \
snippet matching
computing|encryption|cipher key plaintext signature certificate|cryptography secret hash \
decryption handshake
geology|volcanoes|lava eruption magma crater ash|caldera vent pyroclastic basalt plume
geology|earthquakes|fault tremor epicentre seismograph rupture|quake aftershock magnitude \
shaking seismic
geology|glaciers|ice moraine crevasse meltwater snowfield|glacial calving firn cirque thaw
music|violins|bow string bridge rosin varnish|fiddle luthier fingerboard scroll vibrato
music|organs|pipe bellows manual stop pedalboard|windchest reed keyboard rank swell
music|drums|snare cymbal drumhead stick rhythm|percussion beat timpani hi-hat groove
cooking|bread|yeast dough oven crust flour|loaf sourdough kneading baking gluten
cooking|cheese|rennet curd whey ripening rind|dairy milk cheddar maturing culture
cooking|coffee|roast espresso grinder bean crema|brew barista filter caffeine arabica
"""
"""Area, subject, and the two vocabularies of the subject, per line."""

COMMON = """report study method result measure year cost problem change part test use standard
design practice case group material effect quality time work system model value""".split()  # noqa: SIM905 (a list of words)
SENTENCES = (
    "The {0} depends on the {1} and on the {2}.",
    "A {2} of the {0} was compared with the {1}.",
    "In this {2} the {0} and the {1} are described.",
    "Without a {0} the {1} fails, which the {2} shows.",
    "How the {0} acts on the {1} is a matter of {2}.",
)


@cache
def planted_collection(seed: int = 0) -> Collection:
    """Collection of 480 documents on 24 subjects, 48 queries, grades 2 (own subject) and 1.

    Documents of another subject that mention the query's have grade 1; the others are unjudged.

    >>> collection = planted_collection()
    >>> len(collection), len(collection.queries), collection.titles[0]
    (480, 48, 'Heat pumps: evaporator and insulation')
    """
    draws = generator(seed, "planted collection")
    subjects = [line.split("|") for line in SUBJECTS.replace("\\\n", "").splitlines()]
    words = [(usual.split(), other.split()) for _, _, usual, other in subjects]
    owners = draws.permutation(np.repeat(np.arange(len(subjects)), DOCUMENTS))
    owners[np.flatnonzero(owners == 0)[0]], owners[0] = owners[0], 0
    titles, texts, beside = [], [], []
    for owner in owners.tolist():
        vocabulary, synonyms = words[owner][:: 1 if draws.random() < 0.5 else -1]
        near = [at for at, subject in enumerate(subjects) if subject[0] == subjects[owner][0]]
        guest = int(draws.choice([at for at in near if at != owner]))
        mentions = draws.random() < 0.3
        pool = [*vocabulary, *vocabulary, *vocabulary, *(synonyms if draws.random() < 0.3 else ())]
        pool += [*words[guest][int(draws.integers(2))]] if mentions else []
        lines = []
        for _ in range(int(draws.integers(4, 10))):
            terms = draws.choice(pool, 2)
            form = str(draws.choice(SENTENCES))
            lines.append(form.format(*terms, str(draws.choice(COMMON))))
        pair = draws.choice(vocabulary, 2, replace=False)
        titles.append(f"{subjects[owner][1].capitalize()}: {pair[0]} and {pair[1]}")
        texts.append(" ".join(lines))
        beside.append(guest if mentions else -1)
    queries, judged, grades, counts = [], [], [], []
    for at in range(len(subjects)):
        rows = [
            (place, 2 if owner == at else 1)
            for place, (owner, guest) in enumerate(zip(owners.tolist(), beside, strict=True))
            if at in {owner, guest}
        ]
        for which in range(QUERIES):
            query_terms = draws.choice(words[at][which], 2, replace=False)
            queries.append(f"{query_terms[0]} {draws.choice(COMMON)} {query_terms[1]}")
            judged += [place for place, _ in rows]
            grades += [grade for _, grade in rows]
            counts.append(len(rows))
    ids = [f"d{place + 1}" for place in range(len(texts))]
    made = Collection(
        name=NAME, doc_ids=TextColumn.of(ids), titles=TextColumn.of(titles),
        texts=TextColumn.of(texts),
        query_ids=tuple(f"q{place + 1}" for place in range(len(queries))),
        queries=tuple(queries), judged_offsets=offsets_of(np.array(counts, np.int64)),
        judged_ids=TextColumn.of([ids[place] for place in judged]),
        judged=np.array(judged, np.int32), grades=np.array(grades, np.int32),
    )  # fmt: skip
    return replace(made, digest=digest_of(made))
