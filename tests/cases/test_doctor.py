"""Small inputs that the doctors must judge: leaks, labels among features, repeated documents."""

import json
import re
import shutil

import pytest

from shuffleproof.core.cli.arguments import main
from tests.places import DATA

CASES = DATA / "cases"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the folder of cases is elsewhere")


@pytest.fixture
def doctored(tmp_path, capsys):
    """Status and findings of the doctor on a file."""

    def ask(path):
        assert main(["ingest", str(path), "--name", "case", "--store", str(tmp_path)]) == 0
        capsys.readouterr()
        status = main(["doctor", "case", "--store", str(tmp_path), "--json"])
        return status, json.loads(capsys.readouterr().out)["findings"]

    return ask


def of(findings, code):
    return [finding for finding in findings if finding["code"] == code]


def test_two_queries_tell_nothing_of_a_leak(doctored):
    status, findings = doctored(CASES / "leak_of_two_queries.txt")
    leaks = of(findings, "order-leak")
    assert status == 0
    assert {finding["severity"] for finding in leaks} == {"info"}
    for finding in leaks:
        low, high = re.findall(r"CI ([\d.]+) % to ([\d.]+) %", finding["message"])[0]
        assert 0 <= float(low) < float(high) <= 100


def test_the_label_an_identifier_and_the_place_are_found_among_the_features(doctored):
    status, findings = doctored(CASES / "tables" / "label_among_features.jsonl")
    assert status == 3
    for code, severity, names in (
        ("label-feature", "problem", ("booked", "click_bool")),
        ("identifier-feature", "warning", ("row_id",)),
        ("place-feature", "warning", ("position",)),
    ):
        found = of(findings, code)
        assert [severity] * len(names) == [finding["severity"] for finding in found]
        for name, finding in zip(names, found, strict=True):
            assert name in finding["message"]
    assert not [finding for finding in findings if "price" in finding["message"]]


def test_a_document_three_times_in_a_query_is_found(doctored):
    _, findings = doctored(CASES / "tables" / "same_document_thrice.jsonl")
    repeated = of(findings, "repeated-documents")
    assert {finding["severity"] for finding in repeated} == {"warning"}
    assert all("up to 3 times" in finding["message"] for finding in repeated)
    assert sorted(query for finding in repeated for query in finding["queries"]) == [
        "s0", "s1", "s2", "s3",
    ]  # fmt: skip


def test_a_ranker_of_the_first_five_is_found(tmp_path, monkeypatch, capsys):
    shutil.copy(CASES / "rerankers" / "first_five.py", tmp_path)
    monkeypatch.chdir(tmp_path)
    flags = ["--ranker", "first_five:score", "--initial", "lambdamart", "--queries", "20"]
    main(["doctor", "--data", "sample", *flags, "--json"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    (found,) = of(findings, "first-ones")
    assert "scores the first 5 of the initial ranking" in found["message"]
    assert not of(findings, "low-precision-ties")
