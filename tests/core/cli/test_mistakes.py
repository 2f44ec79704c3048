"""Mistakes made on purpose: each is told with its culprit, a remedy and the right exit status."""

import ctypes
import json
import shlex
import shutil
from pathlib import Path

import pytest

from shuffleproof.core.cli import arguments
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data import catalogue
from shuffleproof.core.store.artefacts import Store

FILES = {
    "empty.txt": b"", "binary.bin": bytes(range(256)) * 8, "words.txt": b"hello world\n",
    "nolabel.txt": b"x qid:1 1:2\n", "a.run": b"q1 Q0 d1 1 2.0 x\n", "a.qrels": b"q1 0 d1 1\n",
    "scores.txt": b"0.5\nabc\n", "broken.zip": b"PK\x03\x04junk", "taken": b"a file\n",
    "twice.csv": b"query,a,b,preference\nq,x,y,1\nq,x,y,0\n", "bad.run": b"q1 Q0 d1\n",
    "mine.py": b"""
def raises(features, ranks): raise ValueError('no luck')
def few(features, ranks): return features[1:, 0]
""",
    "syntax.py": b"def f(:\n", "table.csv": b"label,qid,f1\n1,1,.5\n",
    "one.txt": b"1 qid:1 1:1\n0 qid:1 1:2\n", "docs.csv": b"id,title\nd1,x\n",
    "other.qrels": b"q9 0 d1 1\n", "few.txt": b"1\n2\n", "model.txt": b"tree\nversion=v4\n",
    "cut.json": b'{"schema": ', "later.json": b'{"schema": "shuffleproof card.json", "version": 9}',
}  # fmt: skip

MISTAKES = """
2 | dance | 'dance' | known: ingest
2 | trian dlcm | 'trian' | did you mean train
2 | benchmark --rankers dlcm | 'benchmark' | did you mean study benchmark
1 | runs binary.bin --qrels a.qrels | binary.bin | A data set is LETOR text
2 | study crad | 'crad' | did you mean card
2 | list rankerz | 'rankerz' | did you mean rankers
2 | list | kind | list --help
2 | train | ranker | train --help
2 | train dlcm --sed 3 | --sed | did you mean --seed
2 | train dlmc | 'dlmc' | did you mean dlcm
2 | train dlcm@papr | 'papr' | did you mean paper
2 | train dlcm --set epoch=3 | 'epoch' | epochs
2 | train dlcm --set epochs | 'epochs' | FIELD=VALUE
2 | train dlcm --set epochs=many | 'many' | a whole number
2 | train dlcm --set epochs=-1 | '-1' | at least 1
2 | train dlcm --set learning_rate=0 | learning_rate | between 1e-09 and 10
2 | train dlcm --seed one | 'one' | whole number
1 | train dlcm --data no-such-data | no-such-data | library list
1 | train dlcm --data empty.txt | empty.txt | LETOR text is expected
1 | train dlcm --data folder | folder | train.txt, vali.txt and test.txt
2 | train dlcm --initial dlcm | dlcm@small | such as lambdamart
2 | train dlcm --initial lamdbamart | 'lamdbamart' | did you mean lambdamart
1 | train dlcm --initial feature:999 | 999 | Expected ids 1
2 | train dlcm --preset big | 'big' | known: paper
2 | train dlcm --device gpu | 'gpu' | cpu, cuda
1 | train feature:0 | id 0 | Expected ids 1
2 | train feature:x | 'feature:x' | feature:<id>
2 | train mine:raises | mine:raises | name it in certify
2 | train scores:scores.txt | scores.txt | name it in certify
2 | train rrf:dlcm+nosuch | 'nosuch' | known: dlcm
2 | train dlcm#12 | ranker-12 | library list
2 | export lamdbamart x.run | lamdbamart | no stored ranker of this name
1 | doctor nosuch | nosuch: no stored data set, file or folder of this name | library list
2 | library list --store taken | taken | name the folder of a store
2 | study nosuch | 'nosuch' | certified-top-k, card
2 | check --baseline later.json --markdown '' | --markdown | name a file
2 | export study-a6474184bc27382d f.png --figure 9 | --figure 9 | figures 1 (Loss) and 2 (Mean)
2 | export study-a6474184bc27382d f.csv --digits 5 | --digits | leave out --digits
2 | train dlcm#zzzz | 'dlcm#zzzz' | dlcm#3f2a91
2 | tune lamdbamart | 'lamdbamart' | did you mean lambdamart
2 | tune feature:1 | feature:1 | such as lambdamart
2 | tune mart --budget soon | 'soon' | 90s, 10m or 2h
2 | tune mart --search leafs | 'leafs' | leaves
2 | tune mart --search leaves=9..5 | 'leaves=9..5' | LOW..HIGH
2 | tune mart --name paper | 'paper' | none of paper
2 | train ranksvm --executor cloud | 'cloud' | known: processes
2 | study preferences --executor processes --max-seconds 5 | leave --max-seconds out | to the end
2 | train ranksvm --executor processes:none | 'processes:none' | processes:N
2 | train ranksvm --executor ray,workers=0 | 'ray,workers=0' | processes:N
2 | train mart@tuned_nothing | 'tuned_nothing' | known: paper
2 | certify dlcm --permutations 0 | '0' | from 1 on
2 | certify dlcm --lists half | 'half' | known: whole, duplicates
2 | certify mine | 'mine' | did you mean mine:FUNCTION
1 | certify nomodule:score --initial feature:1 | nomodule | Run from the folder
1 | certify mine:raises --initial feature:1 --queries 2 | no luck (mine.py:2 in raises) | Correct it
1 | certify scores:scores.txt | scores.txt | Use the ranker itself
1 | certify lightgbm:no.txt | no.txt | Check the path
2 | ingest words.txt | --name | ingest --help
1 | ingest nolabel.txt --name x | nolabel.txt:1 | A row reads
1 | ingest broken.zip --name x | broken.zip | Fetch the file again
1 | ingest folder --name x | folder | train.txt
1 | ingest nowhere.txt --name x | nowhere.txt | Check the path
2 | ingest words.txt --name sample | sample | choose another
2 | ingest words.txt --name x --split 0.6,0.4 | '0.6,0.4' | like 0.6,0.2,0.2
2 | ingest words.txt --name x --fold 9 | '9' | the folds that there are
2 | ingest words.txt --name x --nulls ignore | 'ignore' | known: error
2 | ingest words.txt --name x --train words.txt | --train | leave one out
2 | ingest --name x --train words.txt | --test | name a file or folder
2 | ingest words.txt --name x --seed 1.5 | '1.5' | whole number
2 | ingest-preferences a.csv | --name | ingest-preferences --help
1 | ingest-preferences nowhere.csv --name x | nowhere.csv | Check the path
1 | ingest-preferences folder --name x | a folder | Name the files in it
2 | ingest-preferences twice.csv --name x --format pair | 'pair' | did you mean pairs
2 | ingest-preferences twice.csv --name x --columns qury=topic | 'qury' | did you mean query
2 | ingest-preferences twice.csv --name x --columns query | 'query' | OURS=THEIRS
2 | ingest-preferences twice.csv --name sample | sample | choose another
1 | consistency nowhere | nowhere | library list
2 | aggregate twice.csv --with gaa | 'gaa' | did you mean goa
2 | aggregate twice.csv --calls -1 | '-1' | at least 0
2 | aggregate twice.csv --with , | --with | list aggregators
1 | doctor nowhere | nowhere | library list
2 | doctor sample --part trian | 'trian' | did you mean train
1 | bring scores scores.txt | scores.txt:2 | Give one decimal number a line
2 | runs a.run | --qrels | name the judgments
1 | runs nowhere.run --qrels a.qrels | nowhere.run | Check the path
2 | which --runs a.run --value .5 | --qrels | which --help
2 | which --runs a.run --qrels a.qrels | no single number | --value .2294
2 | which --runs a.run --qrels a.qrels --value half | 'half' | like .2294
2 | which --runs a.run --qrels a.qrels --value .5 --measure NDGC | 'NDGC' | did you mean NDCG
2 | which --runs a.run --qrels a.qrels --values ndcg@5 | 'ndcg@5' | ndcg@1=.36
2 | which --runs a.run --qrels a.qrels a.qrels --value .5 | 2 files | one for each run
1 | which --runs a.run --qrels empty.txt --value .5 | empty.txt: no lines | A line reads
1 | which --runs empty.txt --qrels a.qrels --value .5 | empty.txt: no lines | A line reads
1 | which --runs a.run --qrels other.qrels --value .5 | no topic of it | belong to the runs
1 | which --runs bad.run --qrels a.qrels --value .5 | bad.run:1 | A line reads
1 | which --runs scores.txt --qrels one.txt --value .5 | scores.txt:2 | one decimal number a line
1 | which --runs model.txt --qrels few.txt --value .5 | few.txt:1 | A line reads
2 | runs a.run --qrels a.qrels --scores a | --scores | leave them out
2 | runs a.run --qrels a.qrels --measures NDGC | 'NDGC' | did you mean NDCG
2 | study initial-ranking --rankers | --rankers | initial-ranking --help
2 | study initial-ranking --rankers , | ranker | name at least one
2 | study initial-ranking --rankers dlcm,nosuch | 'nosuch' | known: dlcm
2 | study initial-ranking --rankers dlcm --levels five | 'five' | comma-separated
2 | study initial-ranking --rankers dlcm --levels -1 | '-1.0' | at least 0
2 | study initial-ranking --rankers dlcm --families transposition | 'transposition' | did you mean
2 | study initial-ranking --rankers dlcm --families cut --levels 2 | '2.0' | between 0 and 1
2 | study initial-ranking --rankers dlcm --draws 0 | '0' | at least 1
2 | study initial-ranking --rankers dlcm --measures NDGC@10 | 'NDGC' | did you mean NDCG
2 | study initial-ranking --rankers dlcm --conventions trec | 'trec' | did you mean trec_eval
2 | study initial-ranking --rankers dlcm --digits 0 | '0' | known: 1
2 | study initial-ranking --rankers dlcm --max-seconds 2min | '2min' | seconds
2 | study perturbations --rankers dlcm --families cut:0.5+nosuch | 'nosuch' | known: adjacent
2 | train mart --dept 3 | --dept | did you mean --depth
2 | study set-size --trained-on 0,10 | '0,10' | at least 1
2 | study group-shuffles --rankers mlp | mlp | choose a gsf
2 | study benchmark --rankers dlcm --against nosuch | 'nosuch' | known: dlcm
2 | study ablation --ranker lambdamart | 'lambdamart' | no neural ranker
2 | study card --families cut --rankers dlcm | cut | not in a card
1 | export nosuch x.csv | nosuch | library list
1 | export study- x.csv | study- | could be any of
2 | export sample x.docx | '.docx' | or --format
2 | export sample x.csv --figure 1 | --figure | pdf
2 | export sample x.pdf | data set | name a study
1 | export sample taken/x.csv | taken | Choose another path
2 | export sample x.txt --part all | x.txt | name one
2 | export sample - --format csv | an export is a file | name one
2 | export dlcm x.run --part all | --part | train, valid or test
2 | export sample x.csv --size 10x10 | '10x10' | WIDTHxHEIGHT
1 | library show nosuch | nosuch | library list
1 | library import words.txt | words.txt | Give a file that the library exported
2 | app --port 0 | '0' | 1 to 65535
2 | study initial-ranking --rankers dlcm mart | mart | --rankers dlcm,mart
2 | study initial-ranking --rankers feature:1 --queries 99999999999999999999 | --queries | 18 digits
2 | study initial-ranking --rankers dlcm@ | 'dlcm@' | dlcm@tuned (a preset)
1 | study initial-ranking --rankers dlcm:small | dlcm:small | A preset is written dlcm@small
2 | study initial-ranking --rankers lightgbm: | 'lightgbm:' | lightgbm:FILE
2 | study initial-ranking --rankers mine: | 'mine:' | mine:FUNCTION
2 | study initial-ranking --rankers python:nothing | 'python:nothing' | --with MODULE
2 | study initial-ranking --rankers pairwise(pair-net,gaa) | pairwise-gaa | aggregators: goa
2 | study initial-ranking --rankers dlcm --data '' | --data '' | stored name
2 | study initial-ranking --rankers dlcm --store taken | taken | name the folder
1 | study initial-ranking --rankers dlcm --data dlcm | dlcm | library list
1 | certify mine:few --initial feature:1 --queries 1 | (39,) | Expected 40 numbers
1 | certify mine:absent --initial feature:1 | no function absent | module:function
1 | certify mine.py:raises | mine.py:raises | Write mine:raises
1 | certify syntax:f --initial feature:1 | SyntaxError | Correct it
2 | certify xgboost | 'xgboost' | did you mean xgboost:FILE
1 | certify feature:1 --with nowhere | No module named 'nowhere' | Name a module
1 | certify lightgbm:model.txt --initial feature:1 | model.txt | Save it as text
1 | ingest table.csv --name x --columns label=y | no column y for the label | Name one of
2 | ingest table.csv --name x --columns topic=qid | 'topic' | known: document, label, query
1 | ingest one.txt --name x | 1 query for 3 parts | bring more queries
2 | ingest one.txt --name ../x | '../x' | letters, digits
2 | ingest --name x | name a file | --train and --test
2 | ingest one.txt --name x --split 1,0,0 | '1,0,0' | above 0
1 | ingest --name x --documents docs.csv | no column docid | docid, and title
1 | runs a.run --qrels other.qrels | no topic of it | belong to the runs
2 | runs a.run --qrels a.qrels --against b | 'b' | known: x
1 | bring scores few.txt | 2 scores | one score a line
1 | check --baseline nowhere.json | nowhere.json | study card --out
1 | check --baseline cut.json | cut.json:1 | study card
1 | check --baseline later.json | of version 9 | newer shuffleproof
2 | train feature:1 --set a=1 | feature:1 is not trained | leave out --set
2 | train dlcm --set epochs=3 epochs=4 | 'epochs=4' | said once
2 | train dlcm --set epochs=1e9 | '1e9' | whole number
2 | list recipe mine:raises | mine:raises | list recipe dlcm@paper
2 | tune mart --budget -5m | --budget | tune --help
2 | judge x | --with | judge --help
1 | search nowhere text | nowhere | library list
2 | export sample x.pdf --size 100000x100000 | '100000x100000' | 100 to 10000 pixels
2 | library list --kind rankers | 'rankers' | did you mean ranker
"""
ROWS = [tuple(part.strip() for part in row.split(" | ")) for row in MISTAKES.strip().splitlines()]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder of wrong files, and a store that has read the sample."""
    folder = tmp_path_factory.mktemp("mistakes")
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    catalogue.find(catalogue.SAMPLE, Store(folder / "store"))
    return folder


@pytest.fixture
def told(place, monkeypatch, capsys):
    """What a command line ends with, and what it printed."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(place / "store"))

    def answer(line):
        try:
            ended = main(shlex.split(line.replace("(", "\\(").replace(")", "\\)")))
        except SystemExit as error:
            ended = error.code
        return ended, capsys.readouterr()

    return answer


@pytest.mark.parametrize(("status", "line", "culprit", "remedy"), ROWS, ids=[r[1] for r in ROWS])
def test_a_mistake_is_told(told, status, line, culprit, remedy):
    ended, printed = told(line)
    assert ended == int(status), printed.err
    assert culprit in printed.err
    assert remedy in printed.err
    assert "Traceback" not in printed.err
    assert not printed.out


def test_a_store_that_is_a_file_is_told_with_what_to_do(told, place, monkeypatch):
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(place / "taken" / "store"))
    ended, printed = told("library list")
    assert ended == 2
    assert "taken is a file; name the folder of a store" in printed.err


@pytest.mark.parametrize("damage", ["manifest.json", "train.safetensors"])
def test_showing_a_damaged_entry_fails(told, place, tmp_path, damage):
    entries = Path(shutil.copytree(place / "store", tmp_path / "store"), "artefacts")
    entry = next(entries.glob("data-*"))
    (entry / damage).write_text("{")
    ended, printed = told(f"library show {entry.name} --store {tmp_path / 'store'}")
    assert ended == 1
    assert f"library delete {entry.name}" in printed.err


def test_what_users_code_prints_is_no_part_of_the_answer(told, place):
    (place / "talking.py").write_text("print('hello')\n")
    ended, printed = told("runs a.run --qrels a.qrels --with talking --json")
    assert ended == 0
    assert json.loads(printed.out)["schema"] == "shuffleproof runs"
    assert "hello" in printed.err


def test_there_are_enough_of_them():
    assert len({line for _, line, *_ in ROWS}) == len(ROWS) >= 150


def test_a_library_that_the_system_lacks_is_told_with_its_package(told, monkeypatch):
    def load(_place):
        ctypes.CDLL("libgomp-absent.so.1")

    monkeypatch.setattr(arguments, "function_at", load)
    ended, printed = told("list rankers")
    assert ended == 1
    assert "libgomp-absent.so.1: cannot open" in printed.err
    assert "Debian's libgomp1" in printed.err
