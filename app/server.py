"""The web server: Streamlit behind a content security policy, with health and readiness routes.

`python -m app.server --host 127.0.0.1 --port 8501`; the command line's `app` starts it.
"""

import argparse
import gc
import json
import logging
import os
import re
import secrets
import sys
import tomllib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import streamlit as st
import streamlit.logger
import uvicorn.config
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.runtime import Runtime, exists, get_instance

from shuffleproof.app.door import Door
from shuffleproof.app.page_style import LOOKS
from shuffleproof.app.spool import Spool
from shuffleproof.core.errors import JobError
from shuffleproof.core.jobs import jobs_of, start_waiting
from shuffleproof.core.store.artefacts import default_store
from shuffleproof.core.words import counted

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
ALLOWED = (
    "default-src 'self'",
    # Streamlit's page has one script, and loads that of our cards as a blob made by itself.
    "script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval' blob:",
    "style-src 'self' 'unsafe-inline'",  # its components style themselves
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "worker-src 'self' blob:",
    "object-src 'none'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
)
HISTORY = Path(__file__).parent / "assets" / "history.js"
OWN_HOST = re.compile(r"[a-z0-9.-]+(:[0-9]{1,5})?", re.IGNORECASE)
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
OF_THE_FILE = frozenset(
    {b"content-length", b"etag", b"last-modified"}
)  # not of the page made of it
SWITCH_SECONDS = 0.0005
"""Thread switch interval: pages are sent while their script runs."""

MESSAGE, STATE = 32, 5
"""Megabytes of a websocket's message, and of what a browser says that a page's controls are."""

log = logging.getLogger("shuffleproof")
OF_NO_PAGE = "streamlit.runtime.scriptrunner_utils.script_run_context"
"""Where Streamlit says of its caches that no page asks for them, as while the server starts."""


class SecurityHeaders:
    """Adds the policy to every answer; nothing may be loaded from, or sent to, another host."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and the headers with the answer."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                host = Headers(scope=scope).get("host", "")
                policy = (b"content-security-policy", "; ".join(policy_for(host)).encode())
                message["headers"] = [*message.get("headers", ()), *HEADERS, policy]
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


def policy_for(host: str) -> list[str]:
    """The rules for a page of this host: it may talk to its own server alone.

    Older browsers do not count websockets among 'self', so they are named.
    """
    named = f" ws://{host} wss://{host}" if OWN_HOST.fullmatch(host) else ""
    return [*ALLOWED, f"connect-src 'self'{named}"]


class KnownBase:
    """Tells the browser in the page itself where the server's root is, what Back means, its looks.

    Streamlit's page finds its server by asking below its own address first, which is a failed
    request (and an error in the browser's console) for every address below the root.
    """

    def __init__(self, app: ASGIApp, base_path: str) -> None:
        """Wrap an application served below a path ("" for the root)."""
        self.app = app
        below = json.dumps("/" + base_path.strip("/") if base_path else "")
        self.head = (
            f"<script>window.__streamlit={{BACKEND_BASE_URL:location.origin+{below}}}</script>"
            f"<script>{HISTORY.read_text(encoding='utf-8')}</script>" + LOOKS
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass requests on; pages get script and style at the head of their head."""
        wanted = dict(scope.get("headers", ())).get(b"accept", b"")
        if scope["type"] != "http" or b"text/html" not in wanted:
            await self.app(scope, receive, send)
            return
        plain = [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]
        start: Message = {}
        body = bytearray()

        async def gathered(message: Message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
                return
            body.extend(message.get("body", b""))
            if not message.get("more_body"):
                page = bytes(body).replace(b"<head>", b"<head>" + self.head.encode(), 1)
                kept = [pair for pair in start["headers"] if pair[0].lower() not in OF_THE_FILE]
                length = (b"content-length", str(len(page)).encode())
                await send({**start, "headers": [*kept, length]})
                await send({"type": "http.response.body", "body": page})

        await self.app({**scope, "headers": plain}, receive, gathered)


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, message, and the id that an error message shows."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if hasattr(record, "error_id"):
            line["id"] = record.error_id
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


async def health(_request: Request) -> JSONResponse:
    """The process lives."""
    return JSONResponse({"status": "ok"})


async def ready(_request: Request) -> JSONResponse:
    """The store can be read, so pages can answer."""
    from shuffleproof.app import services  # noqa: PLC0415 (only when asked, after the server is up)

    try:
        stored = sum(1 for _ in services.store().artefacts())
    except Exception:
        error_id = secrets.token_hex(4)
        log.exception("not ready", extra={"error_id": error_id})
        return JSONResponse({"status": "the store cannot be read", "id": error_id}, 503)
    return JSONResponse({"status": "ready", "artefacts": stored})


async def overview(request: Request) -> RedirectResponse:
    """The first page by its name: it stands at the root, with whatever was chosen."""
    return RedirectResponse(f"./?{request.url.query}" if request.url.query else "./")


def on_script_error(error: Exception) -> bool:
    """Show a sentence and a log id, never a traceback; the log has the rest."""
    error_id = secrets.token_hex(4)
    log.error("page failed: %s", error, exc_info=error, extra={"error_id": error_id})
    st.error(
        f"Something went wrong on this page. What you chose is kept; the log has the details "
        f"under id {error_id}."
    )
    return True


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[dict[str, Any]]:
    """Start the scoring process, and the worker where work was left; freeze what start-up made."""
    from shuffleproof.app import scoring, services  # noqa: PLC0415 (after the server's configuration is set)

    scoring.start()
    store = services.store()
    if jobs_of(store).list("waiting", "running"):  # left by a power cut, or by the last server
        start_waiting(store)
    # else the first visitor waits
    for name in ("overview", "invariance", "ranking_degradation"):
        import_module(f"shuffleproof.app.views.{name}")
    gc.collect()
    gc.freeze()
    yield {}
    scoring.resident().close()


class Dashboard(st.App):
    """Streamlit's application, which keeps uploaded files on the disk instead of in memory."""

    def _create_runtime(self) -> Runtime:
        runtime: Any = super()._create_runtime()
        folder = default_store().root / "uploads" / f"new.spool.{os.getpid()}"
        spool = Spool(runtime.uploaded_file_mgr.endpoint, folder)
        runtime._uploaded_file_mgr = runtime._session_mgr._uploaded_file_mgr = spool  # noqa: SLF001
        return cast("Runtime", runtime)


def spool() -> Spool | None:
    """Spool of uploaded files, once the server is up."""
    files = get_instance().uploaded_file_mgr if exists() else None
    return files if isinstance(files, Spool) else None


def all_lines_as_json() -> None:
    """Let every line of the log be a JSON object, those of Streamlit and the web server too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())

    def formatted(logger: logging.Logger) -> None:
        logger.handlers, logger.propagate = [], True

    logging.root.handlers = [handler]
    log.setLevel(logging.INFO)
    logging.getLogger(OF_NO_PAGE).addFilter(lambda line: "missing ScriptRunContext" not in line.msg)
    streamlit.logger.setup_formatter = formatted
    streamlit.logger.update_formatter()
    uvicorn.config.LOGGING_CONFIG["formatters"]["default"] = {"()": lambda **_: JsonLines()}
    uvicorn.config.LOGGING_CONFIG["loggers"]["uvicorn.error"]["level"] = "WARNING"


def application(base_path: str = "", allow_host: Sequence[str] = ()) -> st.App:
    """The ASGI application, served below a path of a proxy's or at the root.

    Streamlit compares the host of websockets only; here every request's is, so that no page of
    another name that points to this address (DNS rebinding) can read anything.
    """
    below = base_path.strip("/")
    roots = ["", f"/{below}"] if below else [""]
    answers = (("/healthz", health), ("/readyz", ready), ("/overview", overview))
    hosts = ["[::1]", *_hosts(allow_host)]
    return Dashboard(
        Path(__file__).with_name("main.py"),
        lifespan=lifespan,
        routes=[Route(root + path, answer) for root in roots for path, answer in answers],
        middleware=[
            Middleware(SecurityHeaders),
            Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False),
            Middleware(KnownBase, base_path=base_path),
            Middleware(Door, base_path=base_path, spool=spool),
        ],
        on_script_error=on_script_error,
    )


def _hosts(allow_host: Sequence[str]) -> list[str]:
    return [*sorted(LOOPBACK), *(host.lower() for host in allow_host)]


def settings(beside: Path = Path(__file__).parents[1]) -> dict[str, Any]:
    """Streamlit's options of `.streamlit/config.toml`, where Streamlit does not find them itself.

    An installed package cannot have a folder of that name: its file lies in `streamlit`.

    Args:
        beside: the folder in which `app` lies.
    """
    installed = beside / "streamlit" / "config.toml"
    if not installed.is_file():
        return {}
    sections = tomllib.loads(installed.read_text(encoding="utf-8"))
    return {
        f"{section}.{name}": value
        for section, values in sections.items()
        for name, value in values.items()
    }


def configuration(arguments: argparse.Namespace) -> dict[str, Any]:
    """Streamlit's options for these flags."""
    options: dict[str, Any] = settings() | {
        "server.address": arguments.host,
        "server.port": arguments.port,
        "server.headless": True,
        "server.allowedHosts": _hosts(arguments.allow_host),
        "server.maxMessageSize": MESSAGE,
        "server.maxWidgetStateSize": STATE,
        "logger.enableRich": False,
        "client.allowedOrigins": [],  # of pages that could speak to ours: Streamlit's own hosts
    }
    if arguments.base_path:
        options["server.baseUrlPath"] = arguments.base_path
    return options


def main(given: Sequence[str]) -> None:
    """Start the server and stay until it ends."""
    parser = argparse.ArgumentParser(prog="python -m shuffleproof.app.server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8501)
    parser.add_argument("--allow-host", nargs="+", default=[], help="host names it answers to")
    parser.add_argument("--base-path", default="", help="path below which a proxy serves it")
    arguments = parser.parse_args(given)
    if arguments.host not in LOOPBACK and not arguments.allow_host:
        parser.error(
            f"--host {arguments.host} opens the dashboard to other machines: "
            "name the hosts it may answer to with --allow-host"
        )
    all_lines_as_json()
    sys.setswitchinterval(SWITCH_SECONDS)
    application(arguments.base_path, arguments.allow_host).run(config=configuration(arguments))


def _going_on() -> str:
    """Message about jobs that outlive the server; empty if there are none."""
    with suppress(JobError):  # the page Jobs tells it
        running = len(jobs_of(default_store()).list("running"))
        if running:
            go = "goes" if running == 1 else "go"
            return f"{counted(running, 'job')} {go} on; the next dashboard shows or cancels that\n"
    return ""


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:  # raised once more when the server has ended
        sys.stderr.write(_going_on())
        sys.exit(130)
