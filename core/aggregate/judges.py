"""Judges that are asked: a function, or an endpoint of HTTP, and what counts as their answer.

A judge is shown a query and two documents, `a` first, and says how strongly it prefers `a`: a
number in [0, 1], or "a", "b" or "tie". Anything else is a malformed answer, which is kept as such.
"""

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from shuffleproof.core.errors import DataError, UsageError, quoted
from shuffleproof.core.parameters import parts_of
from shuffleproof.core.user_code import DIGITS, MARK, digest_of, failure, import_module_of_user

JudgeInput: TypeAlias = Mapping[str, Any]
"""`query` (id, text), and `a` and `b` (id, text, features): what a judge is given, as JSON."""

WORDS: Mapping[str, float] = {"a": 1.0, "b": 0.0, "tie": 0.5}
LONGEST = 1 << 20
"""Bytes of an endpoint's answer that are read."""
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses of HTTP that may pass: the question is asked again."""
OFFERED = "SHUFFLEPROOF_JUDGES"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
AGAIN = "What was answered is kept: the same command goes on from there."


class FailedCallError(Exception):
    """A call without an answer that may succeed when it is made again."""


@dataclass(frozen=True)
class LiveJudge:
    """Who answers.

    Attributes:
        name: that its answers are noted under.
        known_by: what it is: a digest of the function's code, or the address.
        call: what is shown → its answer, as it came.
    """

    name: str
    known_by: str
    call: Callable[[JudgeInput], Any] = field(repr=False, compare=False)

    def ask(self, shown: JudgeInput, retries: int, wait: float) -> Any:
        """Its answer; a call that fails is made again after `wait`, 2 · `wait`, … seconds.

        Raises:
            DataError: no call succeeded.
        """
        for attempt in range(retries + 1):
            try:
                return self.call(shown)
            except FailedCallError as error:
                if attempt == retries:
                    calls = "1 call" if retries == 0 else f"{retries + 1} calls"
                    finding = f"no answer in {calls} ({error})"
                    raise DataError(self.name, finding, f"See that it runs. {AGAIN}") from error
                time.sleep(wait * 2**attempt)
        raise AssertionError(retries)


def preference_of(answer: Any) -> float | None:
    """How strongly `a` is preferred; None: the answer is malformed.

    >>> answers = ({"preference": "b"}, 0.75, "tie", 7, "A is better", True)
    >>> [preference_of(answer) for answer in answers]
    [0.0, 0.75, 0.5, None, None, None]
    """
    stated: Any = answer.get("preference") if isinstance(answer, Mapping) else answer
    if isinstance(stated, str):
        return WORDS.get(stated)
    if isinstance(stated, bool) or not hasattr(stated, "__float__"):
        return None
    value = float(stated)
    return value if 0 <= value <= 1 else None


def judges_for_pages() -> tuple[str, ...]:
    """The judges that pages may ask: those that `SHUFFLEPROOF_JUDGES` names, separated by commas.

    Whoever starts the dashboard says so; a visitor cannot make this machine call an address.
    """
    return tuple(parts_of(os.environ.get(OFFERED, "")))


def judge_of(judge: "str | Callable[..., Any]", name: str = "", timeout: float = 60.0) -> LiveJudge:
    """A judge by its address, as `module:function`, or a function itself.

    Args:
        judge: which.
        name: that answers are noted under; by default the address, or the function's name and
            digits of its code.
        timeout: seconds that an endpoint may take for an answer.

    Raises:
        UsageError: it is none of these.
        DataError: the module cannot be imported, or has no such function.
    """
    if callable(judge):
        return _of_function(judge, getattr(judge, "__qualname__", "function"), name)
    if judge.startswith(("http://", "https://")):
        return LiveJudge(name or judge, judge, _endpoint(judge, timeout))
    module, colon, function = judge.partition(":")
    if not (module and colon and function):
        raise UsageError(
            f"{quoted(judge)} is no judge: name an address (http://…) or a function "
            "(module:function)"
        )
    import_module_of_user(module)
    target = getattr(import_module(module), function, None)
    if not callable(target):
        raise DataError(judge, f"{module} has no function {function}", "Mend the name.")
    return _of_function(target, judge, name)


def _of_function(function: Callable[..., Any], called: str, name: str) -> LiveJudge:
    digest = digest_of(function)

    def call(shown: JudgeInput) -> Any:
        try:
            return function(shown["query"], shown["a"], shown["b"])
        except Exception as error:  # whatever somebody's function does
            raise FailedCallError(failure(error)) from error

    return LiveJudge(name or f"{called}{MARK}{digest[:DIGITS]}", digest or called, call)


def _endpoint(address: str, timeout: float) -> Callable[[JudgeInput], Any]:
    is_local = urlsplit(address).hostname in LOOPBACK
    handlers = [urllib.request.ProxyHandler({})] if is_local else []
    opener = urllib.request.build_opener(*handlers)

    def call(shown: JudgeInput) -> Any:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        body = json.dumps(shown).encode()
        request = urllib.request.Request(address, body, headers)  # noqa: S310 (http or https)
        try:
            with opener.open(request, timeout=timeout) as response:
                text = response.read(LONGEST)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in BUSY:
                raise FailedCallError(f"HTTP status {error.code}") from error
            finding = f"it answers with HTTP status {error.code}"
            raise DataError(
                address, finding, f"Mend the address or the endpoint. {AGAIN}"
            ) from error
        except OSError as error:
            raise FailedCallError(str(getattr(error, "reason", error))) from error
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return {"text": text.decode(errors="replace")}

    return call
