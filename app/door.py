"""Filter of requests before Streamlit: own routes, own origin, readable messages, within limits.

Streamlit alone serves more routes than the pages use and accepts websockets from any local port.
It asks an external host for its own address before it refuses another origin. It also logs a
traceback for every unreadable message.
"""

import logging
import secrets
from collections.abc import Callable
from urllib.parse import urlsplit

from google.protobuf.message import DecodeError
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

from shuffleproof.app import login
from shuffleproof.app.spool import Spool

WINDOWS = 128
"""Most browser windows open at the same time."""

NAMES = 1000
"""Most files that one message may announce."""

STREAM, UPLOADS = "_stcore/stream", "_stcore/upload_file"
OURS = (STREAM, UPLOADS, "_stcore/health", "_stcore/host-config")
"""Streamlit's routes that the pages use."""

CLOSED = ("_stcore", "component")
"""Prefixes of routes that are closed otherwise: metrics, agents, custom components."""

PRIVATE = ("media", UPLOADS)
"""Routes of a session's downloads and uploads: they need the login, if one is configured."""

UNUSED = frozenset(
    {
        "clear_cache", "set_run_on_save", "load_git_info", "debug_shutdown_runtime",
        "debug_disconnect_websocket",
    }
)  # fmt: skip
"""Messages that change the server for all users; the pages never send them."""

PORTS = {"http": 80, "https": 443}
WORDS = {"ws": "http", "wss": "https"}

log = logging.getLogger("shuffleproof")


class Door:
    """ASGI filter: passes requests of the pages on, refuses others and logs them."""

    def __init__(self, app: ASGIApp, base_path: str, spool: Callable[[], Spool | None]) -> None:
        """Wrap an application served below a path ("" for the root)."""
        self.app, self.spool = app, spool
        self.root = f"/{base_path.strip('/')}/" if base_path else "/"
        self.open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request or a websocket on, or refuse it."""
        if scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, spool = self._path(scope), self.spool()
        refused = self._refused(scope, path)
        if refused:
            await refused(scope, receive, send)
        elif spool is None or scope["method"] != "PUT" or not _below(path, UPLOADS):
            await self.app(scope, receive, send)
        else:
            session = path.removeprefix(UPLOADS).strip("/").partition("/")[0]
            with spool.arriving(session, int(Headers(scope=scope)["content-length"])) as full:
                await (PlainTextResponse(full, 413) if full else self.app)(scope, receive, send)

    def _path(self, scope: Scope) -> str:
        return str(scope["path"]).removeprefix(self.root).strip("/")

    def _refused(self, scope: Scope, path: str) -> PlainTextResponse | None:
        if _below(path, *CLOSED) and not _below(path, *OURS):
            return PlainTextResponse("Not Found", 404)
        if not _below(path, *PRIVATE) or scope["method"] == "OPTIONS":  # preflights have no cookies
            return None
        if not login.has_logged_in(HTTPConnection(scope).cookies):
            return PlainTextResponse("Log in first", 403)
        # Without a size an upload could fill the disk before the limit is known.
        length = Headers(scope=scope).get("content-length", "")
        if scope["method"] == "PUT" and not (length.isascii() and length.isdigit()):
            return PlainTextResponse("The request has no Content-Length", 411)
        return None

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if not same_origin(origin, headers.get("host", ""), _scheme(scope, headers)):
            log.warning("websocket of another origin refused: %s", origin)
            await send({"type": "websocket.close", "code": 1008})  # policy violation
            return
        if self.open >= WINDOWS:
            log.warning("websocket refused: %d windows are open", self.open)
            await send({"type": "websocket.close", "code": 1013})  # try again later
            return
        frames = Frames(receive, send)
        self.open += 1
        try:
            await self.app(_by_its_origin(scope, origin), frames.receive, frames.send)
        except Exception:
            error_id = secrets.token_hex(4)
            log.exception("websocket failed", extra={"error_id": error_id})
            await frames.close(1011)
        finally:
            self.open -= 1


class Frames:
    """One websocket, closed at the first invalid message, without a traceback."""

    def __init__(self, receive: Receive, send: Send) -> None:
        """Wrap the two directions of a websocket."""
        self._receive, self._send = receive, send
        self.closed = False

    async def receive(self) -> Message:
        """Next message that the pages could have sent, or the end."""
        while not self.closed:
            message = await self._receive()
            if message["type"] != "websocket.receive":
                return message
            kind, wrong = _read(message)
            if wrong:
                log.warning("websocket closed: %s", wrong)
                await self.close(1002)
            elif kind not in UNUSED:
                return message
        return {"type": "websocket.disconnect", "code": 1002}

    async def send(self, message: Message) -> None:
        """Pass a message on; nothing follows the end."""
        if not self.closed:
            self.closed = message["type"] == "websocket.close"
            await self._send(message)

    async def close(self, code: int) -> None:
        """Close the websocket; later calls do nothing."""
        await self.send({"type": "websocket.close", "code": code})


def same_origin(origin: str | None, host: str, scheme: str | None) -> bool:
    """True if a page of this server opens the websocket: same scheme, host and port.

    Args:
        origin: from the browser; None: no browser.
        host: of the request, with its port unless it is the scheme's default.
        scheme: visitor's scheme, http or https; None: unknown.

    >>> same_origin("https://ltr.example", "ltr.example:443", "https")
    True
    >>> same_origin("http://127.0.0.1:9000", "127.0.0.1:8501", None)
    False
    """
    if origin is None:
        return True  # no browser, so no foreign page that could misuse a user's login
    try:
        asking, served = urlsplit(origin), urlsplit(f"//{host}")
        ports = asking.port, served.port
    except ValueError:  # the port is not a valid number
        return False
    if asking.scheme not in PORTS or (scheme and scheme != asking.scheme):
        return False
    if not asking.hostname or "@" in asking.netloc + served.netloc or asking.path:
        return False
    usual = PORTS[asking.scheme]
    return (asking.hostname, ports[0] or usual) == (served.hostname, ports[1] or usual)


def _scheme(scope: Scope, headers: Headers) -> str | None:
    """Scheme of the visitor's connection: from a proxy's header, or https if served so."""
    scheme = headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
    scheme = scheme or ("https" if scope.get("scheme") == "wss" else "")
    return WORDS.get(scheme, scheme) or None


def _by_its_origin(scope: Scope, origin: str | None) -> Scope:
    """Request with its host spelled as in the origin: Streamlit compares the texts."""
    if origin is None:
        return scope
    host = urlsplit(origin).netloc.encode("latin-1")
    others = [pair for pair in scope["headers"] if pair[0] != b"host"]
    return {**scope, "headers": [*others, (b"host", host)]}


def _below(path: str, *places: str) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def _read(message: Message) -> tuple[str | None, str]:
    """Kind of a message, and the reason to refuse it, or an empty text."""
    content = message.get("bytes")
    if content is None:
        return None, "a message of text"
    try:
        read = BackMsg.FromString(content)
    except DecodeError:
        return None, f"{len(content)} bytes that are no message"
    kind = read.WhichOneof("type")
    if kind is None:
        return None, "a message that says nothing"
    if len(read.file_urls_request.file_names) > NAMES:
        return None, f"more than {NAMES} files announced at once"
    return kind, ""
