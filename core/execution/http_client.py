"""HTTP calls to judges and rerankers: JSON there and back, one deadline, no redirects, retries.

Documents go to the named address and to no other. Keys are read from the environment when a call is
made, and never stored.
"""

import functools
import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit
from urllib.request import getproxies, proxy_bypass

from urllib3 import PoolManager, ProxyManager, Timeout
from urllib3.exceptions import HTTPError, NewConnectionError, TimeoutError  # noqa: A004 (the library's name)

from shuffleproof.core.errors import DataError, UsageError, quoted
from shuffleproof.core.words import counted

LONGEST = 1 << 22
"""Bytes of an answer that are read."""

BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Temporary statuses: the call is repeated."""

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

SECRET = re.compile(r"key|token|secret|passw|signature|^sig$|^auth", re.IGNORECASE)
"""Names of parameters of an address that hold a credential."""

CONNECTIONS, LONGEST_QUOTE = 256, 200

Answer = TypeVar("Answer")


class FailedCallError(Exception):
    """A call without an answer that may succeed when it is repeated.

    Args:
        finding: the fault.
        wait: seconds that the server asks to wait; None: it does not say.
        remedy: empty: the caller knows one.
    """

    def __init__(self, finding: str, wait: float | None = None, remedy: str = "") -> None:
        super().__init__(finding)
        self.wait, self.remedy = wait, remedy


def with_retries(
    call: Callable[[], Answer], place: str, retries: int, wait: float, remedy: str
) -> Answer:
    """Answer of a call, repeated after `wait`, 2 · `wait`, … seconds when it fails.

    Args:
        call: raises FailedCallError.
        place: called, for the error.
        retries: number of repetitions.
        wait: seconds before the first one, unless the server asks for more.
        remedy: for an error without one.

    Raises:
        DataError: no call succeeded.
    """
    for attempt in range(retries + 1):
        try:
            return call()
        except FailedCallError as error:
            if attempt == retries:
                finding = f"no answer in {counted(retries + 1, 'call')} ({error})"
                raise DataError(
                    place, finding, " ".join(filter(None, [error.remedy, remedy]))
                ) from error
            time.sleep(max(wait * 2**attempt, error.wait or 0.0))
    raise AssertionError(retries)


def check_address(address: str, what: str) -> None:
    """Refuse what cannot be an address, or one with a credential, since addresses are stored.

    Args:
        address: to check.
        what: its owner in words: `judge`.

    Raises:
        UsageError: it cannot be used.
    """
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 (raises where it is no number)
        names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    except ValueError as error:
        raise UsageError(
            f"the {what}'s address cannot be read ({error}): write http://HOST[:PORT]/PATH"
        ) from error
    if not parts.hostname or not address.isascii() or any(letter.isspace() for letter in address):
        raise UsageError(
            f"the {what}'s address has no host, or has blanks: write http://HOST[:PORT]/PATH"
        )
    if parts.username is not None or any(map(SECRET.search, names)):
        raise UsageError(
            f"the address of the {what} at {parts.hostname} holds a credential, and addresses are "
            "stored: use an environment variable, or name a function (module:function) that reads "
            "the credential"
        )


def post(
    address: str, payload: Any, timeout: float, headers: Mapping[str, str] | None = None
) -> Any:
    """JSON answer of a POST request; {"text": …} where the answer is no JSON.

    Args:
        address: http or https.
        payload: JSON value.
        timeout: seconds for the whole answer.
        headers: further headers, such as `Authorization`.

    Raises:
        FailedCallError: no answer, which may be temporary.
        DataError: a status that will not change, such as 404 or a redirect.
    """
    end = time.monotonic() + timeout
    sent = {"Content-Type": "application/json", "Accept": "application/json", **(headers or {})}
    try:
        response = _pool(urlsplit(address).scheme, urlsplit(address).hostname or "").request(
            "POST", address, body=json.dumps(payload).encode(), headers=sent,
            timeout=Timeout(total=timeout), retries=False, redirect=False, preload_content=False,
        )  # fmt: skip
        try:
            text = b""
            while len(text) < LONGEST and (part := response.read1(LONGEST - len(text))):
                text += part
                if time.monotonic() > end:  # each part came in time, and all of them did not
                    raise _late(timeout)
            if len(text) < LONGEST:
                response.read()  # the end of the answer: the connection can be used again
        finally:
            response.close()
    except HTTPError as error:
        if isinstance(error, TimeoutError) and not isinstance(error, NewConnectionError):
            raise _late(timeout) from error
        remedy = "Start the server, or correct host and port."
        raise FailedCallError(_reason(error), remedy=remedy) from error
    if response.status >= 300:
        raise _refusal(address, response.status, response.headers.get("Retry-After"), text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {"text": text.decode(errors="replace")}


@functools.lru_cache
def _pool(scheme: str, host: str) -> PoolManager:
    """Connections to a host, through the proxy of the environment if there is one."""
    proxy = None if host in LOOPBACK or proxy_bypass(host) else getproxies().get(scheme)
    return ProxyManager(proxy, maxsize=CONNECTIONS) if proxy else PoolManager(maxsize=CONNECTIONS)


def _late(timeout: float) -> FailedCallError:
    remedy = "Send fewer or shorter texts, or allow more seconds."
    return FailedCallError(f"no whole answer within {timeout:.3g} s", remedy=remedy)


STATUSES: Mapping[int, tuple[str, str]] = {
    401: (", no permission",
          "Set the key in SHUFFLEPROOF_API_KEY, or in the service's own variable."),
    404: (", no such path", "Correct the path, such as /v1/rerank or /v1/chat/completions."),
    405: (", no POST there", "Correct the path, such as /v1/rerank or /v1/chat/completions."),
    429: (", too many calls", "Wait, or make fewer calls at a time."),
    500: ("", "Read the server's log: it failed on this call."),
    503: (", not ready", "Wait until the server has loaded its model, or read its log."),
}  # fmt: skip
"""Meaning and remedy of error statuses; 403 is as 401, others from 500 on are as 500."""


def _refusal(address: str, status: int, retry_after: str | None, text: bytes) -> Exception:
    """Meaning of an error status, with the start of the answer."""
    like = 401 if status == 403 else 500 if status > 500 and status != 503 else status
    words, remedy = STATUSES.get(like, ("", "Mend the address or the endpoint."))
    finding = f"HTTP status {status}{words}"
    if status in BUSY:
        seconds = float(retry_after) if retry_after and retry_after.isdecimal() else None
        return FailedCallError(finding, seconds, remedy)
    if 300 <= status < 400:
        finding += ", a redirect, which is not followed"
        remedy = "Name the address that it redirects to, if that is yours."
    elif (shown := " ".join(text[:LONGEST_QUOTE].decode(errors="replace").split())) and (
        like not in STATUSES
    ):
        finding += f" ({quoted(shown)})"
    return DataError(address, finding, remedy)


def _reason(error: Exception) -> str:
    """Reason of a failed call, without the address and objects of the library."""
    reason = str(getattr(error, "reason", None) or error)
    if isinstance(error, NewConnectionError) and "resolve" in reason:
        return "no host of that name"
    if "refused" in reason:
        return "connection refused: nothing listens there"
    return (
        re.sub(r"<[^>]*>:? ?|^\w+\([^)]*\): ", "", reason)[:LONGEST_QUOTE] or type(error).__name__
    )
