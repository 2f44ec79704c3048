"""Live judges: functions or HTTP endpoints, and the rules for their answers.

A judge gets a query and two documents, `a` first, and returns its preference for `a`: a number in
[0, 1], or "a", "b" or "tie". Any other answer is malformed, and stored as such.
"""

import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException, IncompleteRead
from importlib import import_module
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from shuffleproof.core.errors import DataError, UsageError, quoted
from shuffleproof.core.parameters import parts_of
from shuffleproof.core.user_code import DIGITS, MARK, digest_of, failure, import_module_of_user

JudgeInput: TypeAlias = Mapping[str, Any]
"""`query` (id, text), and `a` and `b` (id, text, features): what a judge is given, as JSON."""

WORDS: Mapping[str, float] = {"a": 1.0, "b": 0.0, "tie": 0.5}
LONGEST = 1 << 20
"""Bytes of an endpoint's answer that are read."""
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Temporary HTTP statuses: the call is repeated."""
OFFERED = "SHUFFLEPROOF_JUDGES"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
SECRET = re.compile(r"key|token|secret|passw|signature|^sig$|^auth", re.IGNORECASE)
"""Names of parameters of an address that hold a credential."""

AGAIN = "Answers are stored: the same command continues from there."


class FailedCallError(Exception):
    """A call without an answer that may succeed when it is made again."""


@dataclass(frozen=True)
class LiveJudge:
    """A judge.

    Attributes:
        name: of the judge in the stored answers.
        known_by: a digest of the function's code, or the address.
        call: material → raw answer.
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
    """Preference for `a`; None: the answer is malformed.

    >>> answers = ({"preference": "b"}, 0.75, "tie", 7, "A is better", True)
    >>> [preference_of(answer) for answer in answers]
    [0.0, 0.75, 0.5, None, None, None]
    """
    stated: Any = answer.get("preference") if isinstance(answer, Mapping) else answer
    if isinstance(stated, str):
        return WORDS.get(stated)
    if isinstance(stated, bool) or not hasattr(stated, "__float__"):  # True is no 1.0
        return None
    value = float(stated)
    return value if 0 <= value <= 1 else None  # NaN fails both


def judges_for_pages() -> tuple[str, ...]:
    """The judges that pages may ask: those that `SHUFFLEPROOF_JUDGES` names, separated by commas.

    The owner of the dashboard names them; a visitor cannot make this machine call an address.
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
        UsageError: it is none of these, or an address with a credential.
        DataError: the module cannot be imported, or has no such function.
    """
    if callable(judge):
        return _of_function(judge, getattr(judge, "__qualname__", "function"), name)
    if judge.startswith(("http://", "https://")):
        _check_address(judge)
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
    digest = digest_of(called, function)

    def call(shown: JudgeInput) -> Any:
        try:
            return function(shown["query"], shown["a"], shown["b"])
        except Exception as error:  # whatever a user's function does
            raise FailedCallError(failure(error)) from error

    return LiveJudge(name or f"{called}{MARK}{digest[:DIGITS]}", digest, call)


def _check_address(address: str) -> None:
    """Refuse an address that cannot be one, or that holds a credential: addresses are stored."""
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 (raises where it is no number)
        names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    except ValueError as error:
        raise UsageError(
            f"the judge's address cannot be read ({error}): write http://HOST[:PORT]/PATH"
        ) from error
    if not parts.hostname or not address.isascii() or any(letter.isspace() for letter in address):
        raise UsageError(
            "the judge's address has no host, or has blanks: write http://HOST[:PORT]/PATH"
        )
    if parts.username is not None or any(map(SECRET.search, names)):
        raise UsageError(
            f"the address of the judge at {parts.hostname} holds a credential, and addresses are "
            "stored: name a function (module:function) that takes it from the environment"
        )


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Documents go to the address that was named and to no other."""

    def redirect_request(self, *_: Any) -> None:
        """No request: the status is an error."""
        return


def _endpoint(address: str, timeout: float) -> Callable[[JudgeInput], Any]:
    is_local = urlsplit(address).hostname in LOOPBACK
    proxies = [urllib.request.ProxyHandler({})] if is_local else []
    opener = urllib.request.build_opener(*proxies, _NoRedirect)

    def call(shown: JudgeInput) -> Any:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        request = urllib.request.Request(address, json.dumps(shown).encode(), headers)  # noqa: S310 (http or https)
        end = time.monotonic() + timeout
        try:
            with opener.open(request, timeout=timeout) as response:
                text = b""
                while len(text) < LONGEST and (part := response.read1(LONGEST - len(text))):
                    text += part
                    if time.monotonic() > end:  # each part came in time, and all of them did not
                        raise TimeoutError
                if response.length and len(text) < LONGEST:  # the connection ended early
                    raise IncompleteRead(text, response.length)
        except urllib.error.HTTPError as error:
            error.close()
            raise _refusal(address, error.code) from error
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise FailedCallError(f"no whole answer within {timeout:g} s") from error
            broken = "" if isinstance(error, OSError) else "broken HTTP: "
            what = str(reason) or type(error).__name__
            raise FailedCallError(f"{broken}{what[:200]}") from error
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return {"text": text.decode(errors="replace")}

    return call


def _refusal(address: str, status: int) -> Exception:
    """The meaning of an error status of HTTP."""
    if status in BUSY:
        return FailedCallError(f"HTTP status {status}")
    finding, remedy = f"it answers with HTTP status {status}", "Mend the address or the endpoint."
    if 300 <= status < 400:
        finding += ", a redirect, which is not followed"
        remedy = "Name the address that it redirects to, if that is yours."
    return DataError(address, finding, f"{remedy} {AGAIN}")
