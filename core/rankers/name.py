"""Names of rankers: every form as a value, parsed once and printed back.

Text becomes a name at the border, by `RankerName.parse` of input and `RankerName.of` of labels in
results; functions behind it take the name. This module loads neither NumPy nor the registry, which
knows the existing rankers.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter
from pathlib import PurePath
from urllib.parse import urlsplit

from shuffleproof.core.errors import UsageError, quoted
from shuffleproof.core.numerals import is_count
from shuffleproof.core.perturb import names as families
from shuffleproof.core.rankers.combining import (
    AGGREGATES,
    BEGINNINGS,
    ORDERS,
    Combining,
    Fusion,
    Pairwise,
    ShuffleOptions,
    SubsetOptions,
)

INITIAL = "initial ranking"
"""The initial ranking of the lists among the rankers of a study."""

REFERENCES = ("ideal", INITIAL, "random")
"""Rows of a table without a request."""

OBJECT = "python"
"""What a name of user code in this process begins with (`core.rankers.outside.user_rankers`)."""

SCORES, LIGHTGBM, XGBOOST, SKLEARN = "scores", "lightgbm", "xgboost", "sklearn"


@dataclass(frozen=True)
class FileKind:
    """Kind of a ranker's file.

    Attributes:
        label: for menus.
        description: for sentences.
        hint: how such a file is written.
        endings: of names of files that are probably of this kind.
    """

    label: str
    description: str
    hint: str
    endings: tuple[str, ...] = ()


FILES: Mapping[str, FileKind] = {
    SCORES: FileKind(
        "Scores", "scores from a file", "One number a line, higher is better. Plain or .gz."
    ),
    LIGHTGBM: FileKind(
        "LightGBM", "a LightGBM model", "Text, as Booster.save_model writes.", ("txt",)
    ),
    XGBOOST: FileKind(
        "XGBoost", "an XGBoost model",
        "JSON or UBJSON, as Booster.save_model writes.", ("json", "ubj"),
    ),
    "onnx": FileKind(
        "ONNX", "an ONNX model",
        "One input float[documents, features], also with an axis of 1 in front. One output: "
        "scores, or probabilities of the grades.", ("onnx",),
    ),
    "torchscript": FileKind(
        "TorchScript", "a TorchScript model",
        "As torch.jit.script(model).save writes; forward(features) returns scores.", ("pt",),
    ),
    "catboost": FileKind(
        "CatBoost", "a CatBoost model",
        "As model.save_model writes: .cbm, or JSON with format='json'.", ("cbm",),
    ),
    SKLEARN: FileKind(
        "scikit-learn", "a scikit-learn model",
        "As skops.io.dump writes. Files of pickle and joblib are refused.", ("skops",),
    ),
    "ranklib": FileKind(
        "RankLib", "a RankLib model",
        "Text of LambdaMART, MART, Random Forests, Linear Regression or Coordinate Ascent.",
        ("xml",),
    ),
}  # fmt: skip
"""Kinds of files by what a name begins with; `outside.model_files.LIBRARIES` reads the models."""

CONFIGS = {
    "lightgbm-config": "LightGBM",
    "xgboost-config": "XGBoost",
    "catboost-config": "CatBoost",
}
"""Libraries that are trained by a file of their own parameters, by what a name begins with."""

SERVICES: Mapping[str, tuple[str, ...]] = {
    "chat": ("/chat/completions",),
    "voyage": ("voyageai.com",),
    "mixedbread": ("/reranking",),
    "tei": (),
    "cohere": (),
}
"""What a name of a reranker behind HTTP begins with; ends of hosts and paths that mean it."""

_WEB = ("http://", "https://")
_NO_ADDRESS = re.compile(r"/|(\S+:)?\d+/")
"""Rest of an address that lacks `http://`, from its first colon on."""

_FILE_NAMES: dict[str, str] = {}
"""What the files of stored rankers are called, by the digests of their keys, which hold that."""

SPOKEN = {
    "dlcm": "DLCM",
    "dlcm-without-init": "DLCM without init",
    "setrank-msab": "SetRank MSAB",
    "setrank-imsab": "SetRank IMSAB",
    "setrank-msab-init": "SetRank MSAB + init",
    "setrank-imsab-init": "SetRank IMSAB + init",
    "setrank-imsab-multi-init": "SetRank IMSAB + multi-init",
    "dlcm-listmle": "DLCM ListMLE",
    "dlcm-softrank": "DLCM SoftRank",
    "gsf": "GSF",
    "ranksvm": "RankSVM",
    "irsvm": "IR-SVM",
    "rankboost": "RankBoost",
    "ranknet": "RankNet",
    "lambdarank": "LambdaRank",
    "frank": "FRank",
    "frank-additive": "FRank additive",
    "listnet": "ListNet",
    "mlp": "MLP",
    "lambdamart": "LambdaMART",
    "mart": "MART",
    "pair-net": "Pair net",
    "pair-trees": "Pair trees",
}
"""What the literature calls the rankers of the registry that are trained."""

_FEATURE = "feature"
_ALONE = f"{INITIAL.partition(' ')[0]}: "
_COMBINED = re.compile(
    rf"(?P<method>rrf|mean-rank|shuffled|subset)(?:-(?P<way>{'|'.join(AGGREGATES)}))?"
    r"(?:-(?P<number>[0-9]{1,9}))?:(?P<parts>.+)"
)
_PAIRWISE = re.compile(
    rf"pairwise-(?P<way>{'|'.join(sorted(ORDERS, key=len, reverse=True))})"
    r"(?:-(?P<number>[0-9]{1,9}))?:(?P<parts>.+)"
)
_PAIRWISE_CALL = re.compile(
    r"pairwise\(\s*(?P<parts>.+?)\s*,\s*(?P<way>[\w–-]+)\s*(?:,\s*(?P<number>[0-9]{1,9})\s*)?\)",
    re.IGNORECASE,
)
"""The name of preferences and aggregator as papers write it: `pairwise(pair-net, goa)`."""
_PRESET = re.compile(r"@\w+")
_RUN_FILE = re.compile(r"(\.(txt|run))?(\.gz)?$")
_STORED = re.compile(r"(?P<base>[^@#~ ]+)(?:#(?P<digits>[0-9a-f]+)| (?P<shown>[0-9a-f]{6,}))")
_REGISTERED = re.compile(r"(?P<base>[^@~]+)(?:@(?P<preset>[^~\s@]+))?(?:~(?P<revision>.+))?")


class Kind(StrEnum):
    """Kinds of ranker names."""

    REGISTERED = "registered"
    STORED = "stored"
    COMBINATION = "combination"
    FILE = "file"
    CONFIG = "config"
    FUNCTION = "function"
    OBJECT = "object"
    ENDPOINT = "endpoint"
    INITIAL = "initial"


@dataclass(frozen=True)
class RankerName:
    """The name of a ranker.

    Attributes:
        kind: how it is named.
        head: the registry's name; the kind of a file, also of parameters; the service of an
            endpoint;
            `module:function`; `python:NAME` of user code in this process; empty of a combination.
        preset: of one that is registered; empty: none is named.
        revision: digits of the recipe that the preset had, where that was changed since.
        digits: of the key of a stored one.
        path: of a file; address and options of an endpoint.
        parts: members of a combination, or the source of an initial ranking.
        options: of a combination.

    >>> name = RankerName.parse("rrf:shuffled-8:dlcm@tuned+mart#3f2a91")
    >>> str(name), name.base, [leaf.base for leaf in name.leaves]
    ('rrf:shuffled-8:dlcm@tuned+mart#3f2a91', 'rrf:shuffled-8:dlcm+mart', ['dlcm', 'mart'])
    """

    kind: Kind
    head: str = ""
    preset: str = ""
    revision: str = ""
    digits: str = ""
    path: str = ""
    parts: tuple["RankerName", ...] = ()
    options: Combining | None = None

    @classmethod
    def parse(cls, text: str) -> "RankerName":
        """The name that a text means; a page's `dlcm 3f2a91` is `dlcm#3f2a91`.

        >>> [str(RankerName.parse(text)) for text in ("dlcm 3f2a91", "shuffled-mean-8:rrf:a+b")]
        ['dlcm#3f2a91', 'shuffled-8:rrf:a+b']
        >>> str(RankerName.parse("pairwise(pair-net, goa)"))
        'pairwise-goa:pair-net'

        Raises:
            UsageError: no name, or a combination of nothing, of one twice, of a fusion.
            ParameterError: a number that a combination does not take.
        """
        return _parsed(_pairwise_call(text))

    @classmethod
    def made_of(cls, texts: Iterable[str], options: Combining) -> "RankerName":
        """The name of a combination of rankers."""
        parts = tuple(map(_parsed, texts))
        return cls(Kind.COMBINATION, parts=parts, options=options)

    @classmethod
    def of(cls, label: str) -> "RankerName":
        """The name that a result has as a label; whatever it is, it is shown and not refused.

        >>> RankerName.of("rrf:my run").base
        'rrf:my run'
        """
        try:
            return _parsed(label)
        except UsageError:
            return cls(Kind.REGISTERED, label)

    def __str__(self) -> str:
        """The text that parses back to it."""
        if self.parts:
            return self._whole(str)
        if self.kind in {Kind.FILE, Kind.CONFIG, Kind.ENDPOINT}:
            return f"{self.head}:{self.path}"
        marks = (("@", self.preset), ("~", self.revision), ("#", self.digits))
        return self.head + "".join(mark + value for mark, value in marks if value)

    @property
    def base(self) -> str:
        """Name in the registry without the preset, or the equivalent of other kinds."""
        return self._whole(attrgetter("base")) if self.parts else self.head

    @property
    def display(self) -> str:
        """Display name, the same everywhere; digits of a key are for tooltips.

        >>> [RankerName.parse(text).display for text in ("dlcm#3f2a91", "rrf:gsf+mlp@small")]
        ['DLCM', 'RRF(GSF, MLP small)']
        >>> [RankerName.parse(text).display for text in ("scores:my/a.txt", "my/rank.py:score")]
        ['a.txt', 'rank.py:score']
        >>> [RankerName.of(f"lightgbm-config{rest}").display for rest in (":my/a.json", "#77b0c2")]
        ['LightGBM a.json', 'LightGBM by parameters']
        >>> RankerName.of("bm25.rank-vicuna.dl19.txt.gz").display
        'bm25.rank-vicuna.dl19'
        >>> remember_file_name("77b0c2", "my scores.txt")
        >>> [RankerName.parse(f"scores#{digits}").display for digits in ("77b0", "77b1")]
        ['my scores.txt', 'scores']
        """
        if isinstance(self.options, Pairwise):
            seed = f", {self.options.seed}" if self.options.seed else ""
            return f"Pairwise({self.parts[0].display}, {self.options.aggregator}{seed})"
        if self.options is not None:
            method = self.options.prefix.replace("rrf", "RRF")
            members = ", ".join(part.display for part in self.parts)
            return f"{method[:1].upper()}{method[1:]}({members})"
        if self.parts:
            return self._whole(attrgetter("display"))
        if self.kind in {Kind.FILE, Kind.FUNCTION, Kind.ENDPOINT}:
            path = PurePath(self.path or self.head)
            return _endpoint_display(self.path) if self.kind is Kind.ENDPOINT else path.name
        if self.kind is Kind.STORED and self.head in FILES and (file := self._file_name()):
            return file
        name = SPOKEN.get(self.head, _RUN_FILE.sub("", self.registered_name))
        if self.head in CONFIGS:
            name = f"{CONFIGS[self.head]} {PurePath(self.path).name or 'by parameters'}"
        return " ".join(filter(None, (name, self.preset, self.revision)))

    def _file_name(self) -> str:
        """File name of a stored ranker; empty if it is not known."""
        known = (file for digest, file in _FILE_NAMES.items() if digest.startswith(self.digits))
        return next(known, "")

    @property
    def registered_name(self) -> str:
        """The name under which user code is registered; of others the head.

        >>> RankerName.parse("python:mine").registered_name
        'mine'
        """
        return self.head.removeprefix(f"{OBJECT}:")

    def _whole(self, text_of: Callable[["RankerName"], str]) -> str:
        lead = _ALONE if self.options is None else f"{self.options.prefix}:"
        return lead + "+".join(map(text_of, self.parts))

    @property
    def leaves(self) -> tuple["RankerName", ...]:
        """The rankers that a combination is made of in the end; itself if it is none."""
        if self.kind is not Kind.COMBINATION:
            return (self,)
        return tuple(leaf for part in self.parts for leaf in part.leaves)

    @property
    def last_digits(self) -> str:
        """Digits at its end, where there are no others: of a combination they may mean the whole.

        >>> RankerName.parse("rrf:dlcm+mart#3f2a91").last_digits
        '3f2a91'
        """
        *earlier, last = self.leaves
        return "" if any(leaf.digits for leaf in earlier) else last.digits

    @property
    def is_initial(self) -> bool:
        """True for an initial ranking: that of the lists, or a single one."""
        return self.kind is Kind.INITIAL

    @property
    def is_reference(self) -> bool:
        """True for an initial ranking, the ideal and chance, which need no request."""
        return self.is_initial or str(self) in REFERENCES

    @property
    def is_from_outside(self) -> bool:
        """True for a function, object, endpoint or file, also when imported from its file."""
        kinds = {Kind.FUNCTION, Kind.OBJECT, Kind.ENDPOINT}
        return self.kind in kinds or self.head in FILES

    @property
    def is_scored_apart(self) -> bool:
        """True for a module's function or a library's model: a process of its own scores it."""
        is_model = self.head in CONFIGS or (self.head in FILES and not self.is_scores)
        return self.kind is Kind.FUNCTION or is_model

    @property
    def is_scores(self) -> bool:
        """True for scores in a file, which cannot score other inputs."""
        return self.head == SCORES

    def at(self, preset: str) -> "RankerName":
        """The same at a preset, where it is registered and names none."""
        if self.kind is not Kind.REGISTERED or self.preset:
            return self
        return replace(self, preset=preset)

    @property
    def feature(self) -> int | None:
        """The id of the feature that it ranks by.

        >>> RankerName.parse("feature:39").feature
        39
        """
        return feature_of(self.head)


def feature_of(head: str) -> int | None:
    """The id of the feature in a name of the registry, `feature:39`; None: another ranker."""
    prefix, _, number = head.partition(":")
    return int(number) if prefix == _FEATURE and is_count(number) else None


def service_of(address: str) -> str:
    """Service that an address without one means.

    >>> [service_of(f"http://h{path}") for path in ("/rerank", "/v1/chat/completions")]
    ['cohere', 'chat']
    """
    parts = urlsplit(address.partition(";")[0])
    means = (name for name, ends in SERVICES.items() if ends
             and (parts.path.endswith(ends) or (parts.hostname or "").endswith(ends)))  # fmt: skip
    return next(means, "cohere")


def _endpoint_display(path: str) -> str:
    """Model of an endpoint, or its host and path.

    >>> _endpoint_display("http://h:80/rerank;model=m"), _endpoint_display("http://h:80/rerank")
    ('m', 'h:80/rerank')
    """
    address, *options = path.split(";")
    models = [option.partition("=")[2] for option in options if option.startswith("model=")]
    return models[0] if models else address.partition("://")[2]


def remember_file_name(digest: str, file: str) -> None:
    """Call a ranker from a file by the file's name from now on, wherever people read it.

    Its key is made of that name too, so no other can be meant by the digest.

    Args:
        digest: of the key under which it is stored.
        file: its name.
    """
    _FILE_NAMES[digest] = PurePath(file).name


def display_names(labels: Iterable[str]) -> dict[str, str]:
    """Display names of rankers that are shown together, all different.

    Of several that are called the same the first keeps the name and the next are numbered, as
    where two trainings of one recipe stand side by side.

    >>> list(display_names(["dlcm", "dlcm@small", "dlcm#3f2a91", "dlcm#77b0c2"]).values())
    ['DLCM', 'DLCM small', 'DLCM (2)', 'DLCM (3)']
    """
    distinct = list(dict.fromkeys(labels))
    return dict(
        zip(distinct, number_names(RankerName.of(label).display for label in distinct), strict=True)
    )


def number_names(names: Iterable[str]) -> list[str]:
    """Names of which no two are alike: the first keeps its own, the next are numbered.

    >>> number_names(["DLCM", "GSF", "DLCM"])
    ['DLCM', 'GSF', 'DLCM (2)']
    """
    unique: dict[str, None] = {}
    for name in names:
        text, number = name, 1
        while text in unique:
            number += 1
            text = f"{name} ({number})"
        unique[text] = None
    return list(unique)


def with_display_names(sentence: str, among: Iterable[str] = ()) -> str:
    """A sentence with display names instead of labels of rankers and stored names of families.

    Args:
        sentence: to change.
        among: labels of all rankers on the page, so that no two share a name.

    >>> with_display_names(
    ...     "dlcm@small keeps 0.5; scores:my/a.txt and rrf:gsf+mlp lose (ranksvm wins).")
    'DLCM small keeps 0.5; a.txt and RRF(GSF, MLP) lose (RankSVM wins).'
    >>> with_display_names(
    ...     "gradient-sign@dlcm costs dlcm#3f2a91 and dlcm#77b0c2 most, martian-1 nothing")
    'gradient-sign@dlcm costs DLCM and DLCM (2) most, martian-1 nothing'
    >>> with_display_names("scores#12ab, of a file that nobody knows, wins")
    'scores#12ab, of a file that nobody knows, wins'
    >>> with_display_names("bm25.dl19.txt.gz ranks first.")
    'bm25.dl19 ranks first.'
    >>> with_display_names("By 80 transpositions, dlcm@small: NDCG@10 falls")
    'By 80 transpositions, DLCM small: NDCG@10 falls'
    """
    # Numbered over the whole page, so that no two rankers share a name
    names = display_names([*among, *_IN_SENTENCES.findall(sentence)])

    def shown(match: re.Match[str]) -> str:
        name = names[match.group()]
        return match.group() if name in FILES else name

    return families.with_display_names(_IN_SENTENCES.sub(shown, sentence))


def without_presets(text: str) -> str:
    """A text that names rankers, such as a condition, without their presets.

    >>> without_presets("oracle for mart@small")
    'oracle for mart'
    """
    return _PRESET.sub("", text)


PRESETS = ("paper", "released", "tuned", "small")
"""Of rankers that have all of them; the first is meant where none is named."""


def parse_forgiving(text: str) -> str:
    """A ranker's name as `RankerName.parse` has it, from how people and tables write it.

    Blanks, case and terms of the literature are accepted, but not in names of files and functions.

    >>> [parse_forgiving(text) for text in ("LambdaMART", " SetRank IMSAB + init ",
    ...     "DLCM tuned 3f2a91")]
    ['lambdamart', 'setrank-imsab-init', 'dlcm#3f2a91']
    >>> (parse_forgiving("RRF: DLCM tuned + mart"), parse_forgiving("Mine:score"),
    ...     parse_forgiving("Initial ranking"))
    ('rrf:dlcm@tuned+mart', 'Mine:score', 'initial ranking')
    >>> parse_forgiving("Shuffled-8(RRF(DLCM, SetRank IMSAB + init))")
    'shuffled-8:rrf:dlcm+setrank-imsab-init'
    """
    text = text.strip()
    if _PAIRWISE_CALL.fullmatch(text):
        return _pairwise_call(text)
    prefix, colon, remainder = text.partition(":")
    small = prefix.strip().casefold()
    combined = _SHOWN_COMBINED.fullmatch(text)
    if combined or (colon and small.startswith(BEGINNINGS)):
        single = small.startswith((ShuffleOptions.kind, Pairwise.kind, SubsetOptions.kind))
        single = single and not remainder.strip().casefold().startswith("rrf")
        parts = [remainder] if single else _PLUS.split(remainder)
        if combined:
            small, parts = combined["prefix"].casefold(), _COMMA.split(combined["parts"])
        return f"{small}:{'+'.join(parse_forgiving(part) for part in parts)}"
    if colon:
        is_known = small == _FEATURE or small in FILES or small in CONFIGS
        return f"{small}:{remainder.strip()}" if is_known else text
    return INITIAL if small == INITIAL else _forgiven_single(text)


def _pairwise_call(text: str) -> str:
    """`pairwise(pair-net, goa, 7)` as `pairwise-goa-7:pair-net`."""
    call = _PAIRWISE_CALL.fullmatch(text)
    if call is None:
        return text
    number = f"-{call['number']}" if call["number"] else ""
    return f"pairwise-{call['way'].casefold()}{number}:{parse_forgiving(call['parts'])}"


def _forgiven_single(text: str) -> str:
    """The name of one ranker, without what others are made of."""
    match = _SAID.fullmatch(text)
    if match is None:
        return text
    spelling, preset = match["words"].strip(), match["preset"] or ""
    if _letters(spelling) not in _BY_LETTERS and not preset:
        base_words, _, last_word = spelling.rpartition(" ")
        if _letters(base_words) in _BY_LETTERS:
            spelling, preset = base_words, last_word
    head = _BY_LETTERS.get(_letters(spelling), spelling)
    if digits := match["digits"] or match["shown"]:
        return f"{head}#{digits.casefold()}"
    revision = f"~{match['revision']}" if match["revision"] else ""
    return head + (f"@{preset.strip().casefold()}" if preset else "") + revision


def _letters(text: str) -> str:
    """Common form of two spellings of a name."""
    return re.sub(r"[\s+_-]+", "", text).casefold()


_SAID = re.compile(
    r"(?P<words>[^@#~]+?)\s*(?:@(?P<preset>[^@#~]+))?(?:~(?P<revision>[^@#~]+))?"
    r"(?:\s*#\s*(?P<digits>[0-9a-fA-F]+)| (?P<shown>(?=\S*[0-9])[0-9a-fA-F]{6,}))?"
)
_IN_SENTENCES = re.compile(
    r"(?<![\w@#:+./~-])(?:"
    rf"(?:{'|'.join(SERVICES)}):https?://[^\s,()']*[^\s,;()'.:]"
    rf"|(?:(?:{'|'.join(BEGINNINGS)})[\w-]*|{'|'.join((*CONFIGS, *FILES))}):[^\s,;()']*[^\s,;()'.:]"
    rf"|(?:{'|'.join(sorted(SPOKEN, key=len, reverse=True))})(?:@\w+)?(?:~\w+)?(?:#[0-9a-f]+)?"
    rf"|(?:{'|'.join((*CONFIGS, *FILES))})#[0-9a-f]+"
    r"|[\w.-]*\w\.(?:run|(?:run|txt)\.gz)"
    r")(?![\w@#+/~-]|[:.]\S)"
)
_PLUS = re.compile(r"\+(?!\s*(?:multi-)?init\b)")
_COMMA = re.compile(r",(?![^(]*\))")
_SHOWN_COMBINED = re.compile(
    r"(?P<prefix>(?:rrf|mean-rank|shuffled|subset)[\w-]*)\s*\((?P<parts>.+)\)", re.IGNORECASE
)
_BY_LETTERS = {_letters(spelling): name for name in SPOKEN for spelling in (name, SPOKEN[name])} | {
    _letters(name): name for name in ("file-order", "random", "ideal")
}


@lru_cache(maxsize=4096)
def _parsed(text: str) -> RankerName:
    if text.startswith(_WEB):
        text = f"{service_of(text)}:{text}"
    prefix, colon, remainder = text.partition(":")
    is_endpoint = prefix in SERVICES and remainder.startswith(_WEB)
    if colon and not remainder and not prefix.startswith(BEGINNINGS):
        is_file = prefix in FILES or prefix in CONFIGS
        meant = f"{prefix}:FILE" if is_file else f"{prefix}:FUNCTION"
        raise UsageError(f"{quoted(text)} names nothing behind the colon: write {meant}")
    if text == INITIAL or text.startswith(_ALONE):
        source = (_parsed(text.removeprefix(_ALONE)),) if colon else ()
        return RankerName(Kind.INITIAL, INITIAL, parts=source)
    if is_endpoint or (colon and (prefix in FILES or prefix in CONFIGS)):
        of_path = Kind.CONFIG if prefix in CONFIGS else Kind.FILE
        return RankerName(Kind.ENDPOINT if is_endpoint else of_path, prefix, path=remainder)
    if colon and prefix.startswith(BEGINNINGS):
        return _combined(text)
    if colon and prefix == OBJECT and not _STORED.fullmatch(text):
        return RankerName(Kind.OBJECT, text)
    if _NO_ADDRESS.match(remainder):
        raise UsageError(f"{quoted(text)} is no address of a reranker: write http://HOST:PORT/PATH")
    if colon and prefix not in {_FEATURE, OBJECT}:
        return RankerName(Kind.FUNCTION, text)
    return _single(text)


def _single(text: str) -> RankerName:
    if match := _STORED.fullmatch(text):
        return RankerName(Kind.STORED, match["base"], digits=match["digits"] or match["shown"])
    match = _REGISTERED.fullmatch(text)
    if match is None or "#" in text:
        raise UsageError(
            f"{quoted(text)} names no ranker: write dlcm, dlcm@tuned (a preset) or "
            "dlcm#3f2a91 (digits of a stored ranker's key)"
        )
    return RankerName(
        Kind.REGISTERED, match["base"], match["preset"] or "", match["revision"] or ""
    )


def _pairwise(text: str) -> RankerName:
    match = _PAIRWISE.fullmatch(text)
    if match is None:
        aggregators = ", ".join(ORDERS)
        raise UsageError(
            f"{text}: write pairwise-goa:pair-net or pairwise(pair-net, goa); "
            f"aggregators: {aggregators}"
        )
    options = Pairwise(match["way"], int(match["number"] or 0))
    return RankerName.made_of([match["parts"]], options)


def _combined(text: str) -> RankerName:
    if text.startswith(Pairwise.kind):
        return _pairwise(text)
    match = _COMBINED.fullmatch(text)
    if match is None:
        raise UsageError(f"{text}: name its members, as in rrf:dlcm+mart, shuffled:dlcm")
    method, way, number = match["method"], match["way"], match["number"]
    if method == "shuffled":
        options = ShuffleOptions(
            int(number or ShuffleOptions.shuffles), way or ShuffleOptions.aggregate
        )
        return RankerName.made_of([match["parts"]], options)
    if method == SubsetOptions.kind and not way:
        return RankerName.made_of(
            [match["parts"]], SubsetOptions(int(number or SubsetOptions.size))
        )
    if way or (method == "mean-rank" and number):
        raise UsageError(f"{text}: {method} takes no such option; write {method}:a+b")
    texts = match["parts"].split("+")
    if len(set(texts)) < len(texts):
        raise UsageError(f"{text}: name each ranker once; one twice is no fusion")
    combination = RankerName.made_of(filter(None, texts), Fusion(method, int(number or Fusion.k)))
    nested = [part for part in combination.parts if isinstance(part.options, Fusion)]
    if len(texts) < 2 or not all(texts) or nested:
        raise UsageError(f"{text}: name two or more rankers with + between them, no fusion inside")
    return combination
