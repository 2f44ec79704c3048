"""What comes in: websockets of our own pages, the routes they use, files that fit, messages."""

import asyncio
import json
import re
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value
from websockets.asyncio.client import connect

from shuffleproof.app import door, login, spool
from shuffleproof.app.door import Door, same_origin
from shuffleproof.app.spool import Spool
from tests.app.test_server import EVIL, asked, page, shaken
from tests.soak import fuzz_frames
from tests.soak.sessions import server


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """(address, folder of the store) of a server that other machines may ask as `ltr.example`."""
    home = tmp_path_factory.mktemp("door")
    with server(home, "--allow-host", "ltr.example") as (address, _):
        yield address, home


@pytest.mark.parametrize(
    ("origin", "host", "scheme", "own"),
    [
        ("http://127.0.0.1:8501", "127.0.0.1:8501", None, True),
        ("http://localhost:8501", "LOCALHOST:8501", None, True),
        ("http://[::1]:8501", "[::1]:8501", None, True),
        ("https://ltr.example", "ltr.example", "https", True),
        ("https://ltr.example", "ltr.example:443", "https", True),
        ("http://ltr.example:80", "ltr.example", "http", True),
        ("https://ltr.example:8443", "ltr.example:8443", None, True),
        (None, "127.0.0.1:8501", None, True),  # no browser
        ("http://127.0.0.1:9000", "127.0.0.1:8501", None, False),
        ("http://localhost:8501", "127.0.0.1:8501", None, False),
        ("http://127.0.0.1", "127.0.0.1:8501", None, False),
        ("http://ltr.example", "ltr.example", "https", False),
        ("https://ltr.example:444", "ltr.example", "https", False),
        ("null", "127.0.0.1:8501", None, False),
        ("", "127.0.0.1:8501", None, False),
        ("http://127.0.0.1:8501@evil.example", "127.0.0.1:8501", None, False),
        ("http://127.0.0.1:8501/x", "127.0.0.1:8501", None, False),
        ("http://127.0.0.1:port", "127.0.0.1:8501", None, False),
        ("file://127.0.0.1:8501", "127.0.0.1:8501", None, False),
        ("http://evil.example", "127.0.0.1:8501", None, False),
    ],
)
def test_a_page_is_ours_by_scheme_host_and_port(origin, host, scheme, own):
    assert same_origin(origin, host, scheme) is own


def test_websockets_are_taken_from_this_port_alone(running):
    address, _ = running
    port = int(address.rpartition(":")[2])
    assert shaken(address, Origin=address) == 101
    for origin in (f"http://127.0.0.1:{port + 1}", f"http://localhost:{port}", "http://127.0.0.1"):
        assert shaken(address, Origin=origin) == 403


@pytest.mark.parametrize(
    ("host", "origin", "said", "status"),
    [
        ("ltr.example", "https://ltr.example", "https", 101),
        ("ltr.example:443", "https://ltr.example", "https", 101),
        ("ltr.example", "http://ltr.example", "http", 101),
        ("ltr.example:8080", "http://ltr.example:8080", "http", 101),
        ("ltr.example", "http://ltr.example", "https", 403),
        ("ltr.example", "https://ltr.example:8080", "https", 403),
        ("ltr.example", f"https://{EVIL}", "https", 403),
    ],
)
def test_behind_a_proxy_the_visitors_scheme_and_port_count(running, host, origin, said, status):
    headers = {"Host": host, "Origin": origin, "X-Forwarded-Proto": said}
    assert shaken(running[0], **headers) == status


@pytest.mark.parametrize("host", ["ltr.example", "ltr.example:8080", "127.0.0.1"])
def test_pages_may_talk_to_their_own_server_alone(running, host):
    policy = page(running[0], Host=host)[1]["Content-Security-Policy"]
    rule = re.search(r"connect-src ([^;]*)", policy)[1].split()
    assert rule == ["'self'", f"ws://{host}", f"wss://{host}"]


def test_no_host_writes_rules_of_its_own(running):
    policy = page(running[0], Host="127.0.0.1:1 https:")[1]["Content-Security-Policy"]
    assert policy.endswith("connect-src 'self'")


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "path",
    [
        "_stcore/metrics", "_stcore/metrics/", "_stcore/metrics?families=cache_memory_bytes",
        "_stcore/script-health-check", "_stcore/agent/interact", "_stcore/agent/mcp",
        "_stcore/agent/openapi.json", "_stcore/bidi-components/x/index.js", "component/x/a.js",
    ],
)  # fmt: skip
def test_what_no_page_asks_for_is_closed(running, path, method):
    assert asked(running[0], f"/{path}", method=method)[0] == 404


def test_what_pages_ask_for_is_open(running):
    assert asked(running[0], "/_stcore/health")[0] == 200
    status, _, text = asked(running[0], "/_stcore/host-config")
    assert (status, json.loads(text)["allowedOrigins"]) == (200, [])


@pytest.mark.parametrize("path", ["//evil.example/", "/%5Cevil.example/", "/%2F%2Fevil.example/"])
def test_no_address_leads_elsewhere(running, path):
    status, headers, _ = asked(running[0], path)
    assert status in {400, 404} or not headers.get("Location", "").startswith(("//", "/\\"))


def answered(app, scope, *incoming):
    """What an application sends, given a scope and what comes in."""
    queue, sent = list(incoming), []

    async def receive():
        return queue.pop(0) if queue else {"type": "websocket.disconnect", "code": 1000}

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent


def scope(path, kind="http", method="GET", **headers):
    pairs = [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()]
    return {"type": kind, "path": path, "method": method, "headers": pairs, "scheme": kind}


async def inner(_scope, receive, send):
    """Stands for Streamlit: reads all messages of a websocket, answers a request with 200."""
    if _scope["type"] == "websocket":
        while (await receive())["type"] != "websocket.disconnect":
            await send({"type": "websocket.send", "bytes": b"read"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@contextmanager
def logins(monkeypatch):
    monkeypatch.setattr(login, "_configured", lambda: True)
    monkeypatch.setattr(login, "get_cookie_secret", lambda: "secret")
    yield {
        known: create_signed_value(
            "secret", "_streamlit_user", json.dumps({"is_logged_in": known})
        ).decode()
        for known in (True, False)
    }


def test_nothing_is_given_or_taken_before_the_login(monkeypatch):
    entry = Door(inner, "lab", lambda: None)
    with logins(monkeypatch) as cookies:
        for path, method in (("media/x.csv", "GET"), ("_stcore/upload_file/s/f", "PUT")):
            for cookie in ("", "_streamlit_user=forged", f"_streamlit_user={cookies[False]}"):
                asking = scope(f"/lab/{path}", method=method, cookie=cookie, content_length="1")
                assert answered(entry, asking)[0]["status"] == 403
            cookie = f"_streamlit_user={cookies[True]}"
            asking = scope(f"/lab/{path}", method=method, cookie=cookie, content_length="1")
            assert answered(entry, asking)[0]["status"] == 200
        assert answered(entry, scope("/lab/_stcore/health"))[0]["status"] == 200


def test_a_window_too_many_is_refused(monkeypatch):
    monkeypatch.setattr(door, "WINDOWS", 0)
    sent = answered(Door(inner, "", lambda: None), scope("/_stcore/stream", "websocket"))
    assert sent == [{"type": "websocket.close", "code": 1013}]


@pytest.mark.parametrize("kind", sorted(door.UNUSED))
def test_no_window_changes_the_server_for_the_others(kind):
    message = door.BackMsg(**{kind: True}).SerializeToString()
    frames = [{"type": "websocket.receive", "bytes": content} for content in (message, good())]
    sent = answered(Door(inner, "", lambda: None), scope("/_stcore/stream", "websocket"), *frames)
    assert [one["type"] for one in sent] == ["websocket.send"], "the second alone was passed on"


def good():
    return fuzz_frames.whole()


def test_a_defect_is_one_line_of_the_log_and_an_end(caplog):
    async def broken(_scope, receive, _send):
        await receive()
        raise RuntimeError("broken\nhere")

    sent = answered(Door(broken, "", lambda: None), scope("/_stcore/stream", "websocket"))
    assert sent == [{"type": "websocket.close", "code": 1011}]
    (line,) = caplog.records
    assert line.error_id


def test_garbage_ends_its_websocket_in_a_line_of_the_log_each():
    found = fuzz_frames.measured(60, 0)
    assert found["ended"] == {"1002": 60, "1009": 2}
    assert found["bad"] == []
    assert found["alive"]
    assert found["peak_mib"] < 1024


def record(name="a", data=b"1 qid:1 1:1\n"):
    return UploadedFileRec(name, f"{name}.txt", "text/plain", data)


@pytest.fixture
def spooled(tmp_path):
    return Spool("/_stcore/upload_file", tmp_path / "spool")


def test_files_lie_on_the_disk_and_go_with_their_window(spooled):
    spooled.add_file("one", record())
    spooled.add_file("two", record("../../b", b"2"))
    lying = [path for path in spooled.folder.rglob("*") if path.is_file()]
    assert sorted(path.read_bytes() for path in lying) == [b"1 qid:1 1:1\n", b"2"]
    assert all(spooled.folder in path.resolve().parents for path in lying)
    assert spooled.get_files("one", ["a", "none"]) == [record()]
    assert spooled.get_files("three", ["a"]) == []
    spooled.remove_file("two", "../../b")
    spooled.remove_session_files("one")
    assert not [path for path in spooled.folder.rglob("*") if path.is_file()]
    assert spooled.get_files("one", ["a"]) == []


def test_a_window_has_room_for_so_many_files_and_bytes(spooled, monkeypatch):
    monkeypatch.setattr(spool, "FILES", 2)
    monkeypatch.setattr(spool, "BYTES", 100)
    with spooled.arriving("one", 101) as full:
        assert "No more than 100 bytes" in full
    for name in "ab":
        with spooled.arriving("one", 12) as full:
            assert not full
        spooled.add_file("one", record(name))
    with spooled.arriving("one", 1) as full:
        assert "No more than 2 files" in full
    with spooled.arriving("two", 1) as full:
        assert not full, "another window has its own room"
    spooled.remove_file("one", "a")
    with spooled.arriving("one", 1) as full:
        assert not full


def test_all_windows_together_have_room_for_so_many_bytes(spooled, monkeypatch):
    monkeypatch.setattr(spool, "UNDER_WAY", 100)
    with spooled.arriving("one", 60), spooled.arriving("two", 60) as full:
        assert "under way" in full
    with spooled.arriving("two", 60) as full:
        assert not full, "what has arrived is under way no more"
    monkeypatch.setattr(spool, "ALL_BYTES", 20)
    spooled.add_file("one", record())
    with spooled.arriving("two", 12) as full:
        assert "No room" in full
    monkeypatch.setattr(spool, "ALL_BYTES", 1 << 34)
    free = SimpleNamespace(free=spool.SPARE + 5)
    monkeypatch.setattr(spool.shutil, "disk_usage", lambda _path: free)
    with spooled.arriving("two", 12) as full:
        assert "No room" in full


async def window(address):
    """A websocket of a page, and the id of its session."""
    stream = address.replace("http", "ws", 1) + "/_stcore/stream"
    socket = await connect(stream, origin=address, subprotocols=["streamlit"], max_size=None)
    await socket.send(good())
    while True:
        told = ForwardMsg.FromString(await asyncio.wait_for(socket.recv(), 120))
        if told.WhichOneof("type") == "new_session":
            return socket, told.new_session.initialize.session_id


def test_a_file_that_no_page_reads_lies_on_the_disk(running):
    address, home = running
    cookie = asked(address, "/_stcore/health")[1]["Set-Cookie"].partition(";")[0]
    token = {"Cookie": cookie, "X-Xsrftoken": cookie.partition("=")[2].strip('"')}
    headers = token | {"Content-Type": "multipart/form-data; boundary=x"}
    read = b"never read " * 1000
    part = b'Content-Disposition: form-data; name="f"; filename="a.txt"\r\n\r\n'
    body = b"--x\r\n" + part + read + b"\r\n--x--\r\n"

    async def sent():
        socket, session = await window(address)
        path = f"/_stcore/upload_file/{session}/some-file"
        found = [
            await asyncio.to_thread(asked, address, path, headers, method="PUT", body=content)
            for content in (body, None)
        ]
        await socket.close()
        return [status for status, *_ in found]

    assert asyncio.run(sent()) == [204, 411]
    (lying,) = [path for path in (home / "uploads").rglob("*") if path.is_file()]
    assert lying.read_bytes() == read
