"""Live judges: functions or HTTP endpoints, and the rules for their answers.

A judge gets a query and two documents, `a` first, and returns its preference for `a`: a number in
[0, 1], or "a", "b" or "tie". Any other answer is malformed, and stored as such.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeAlias

from shuffleproof.core.errors import DataError, UsageError, quoted
from shuffleproof.core.execution.http_client import (
    FailedCallError,
    check_address,
    post,
    with_retries,
)
from shuffleproof.core.parameters import parts_of
from shuffleproof.core.user_code import DIGITS, MARK, digest_of, failure, import_module_of_user

JudgeInput: TypeAlias = Mapping[str, Any]
"""`query` (id, text), and `a` and `b` (id, text, features): what a judge is given, as JSON."""

WORDS: Mapping[str, float] = {"a": 1.0, "b": 0.0, "tie": 0.5}
OFFERED = "SHUFFLEPROOF_JUDGES"


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
        remedy = "See that it runs. Answers are stored: the same command continues from there."
        return with_retries(lambda: self.call(shown), self.name, retries, wait, remedy)


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
        check_address(judge, "judge")
        return LiveJudge(name or judge, judge, lambda shown: post(judge, dict(shown), timeout))
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
