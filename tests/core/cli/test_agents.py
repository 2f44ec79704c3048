"""Tools for coding agents, asked by a client of their protocol."""

import asyncio
import json

import pytest
from mcp import Client

from shuffleproof.core.cli import agents


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a ranker, where commands run."""
    (tmp_path / "mine.py").write_text("def score(features, ranks):\n    return features[:, 2]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(tmp_path / "store"))
    return tmp_path


def asked(tool, **arguments):
    async def ask():
        async with Client(agents.server()) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(ask())


def test_the_server_has_five_tools_with_words_for_each():
    async def listed():
        async with Client(agents.server()) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asyncio.run(listed())}
    assert set(tools) == {"ingest", "certify", "doctor", "compare", "card"}
    assert all(tool.description for tool in tools.values())
    assert tools["certify"].input_schema["required"] == ["ranker"]


def test_a_tool_gives_the_answer_of_its_command(folder):
    answer = json.loads(asked("certify", ranker="mine:score", queries=3).content[0].text)
    assert answer["schema"] == "shuffleproof certify"
    assert answer["verdict"] == "invariant"
    answer = json.loads(asked("certify", ranker="dlcm", queries=3).content[0].text)
    assert answer["verdict"] == "not invariant"
    assert {"failure_bound", "witness", "loss"} <= answer.keys()


def test_a_failure_is_told_in_the_command_s_own_words(folder):
    answer = asked("certify", ranker="mine:nothing")
    assert answer.is_error
    assert "nothing" in answer.content[0].text


@pytest.mark.parametrize("tool", ["certify", "card"])
def test_a_name_is_no_flag(folder, tool):
    answer = asked(tool, ranker="--help")
    assert "no ranker is called '--help'" in answer.content[0].text
