"""Workers that share a question: each unit once, the same bytes as alone, whoever dies."""

import errno
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest
import torch

from shuffleproof.core import sharing
from shuffleproof.core.cli.arguments import main
from shuffleproof.core.data.letor.write import write
from shuffleproof.core.data.synthetic import planted
from shuffleproof.core.errors import ArtefactError, JobError, UsageError
from shuffleproof.core.execution import claims, jobs_database
from shuffleproof.core.execution.executor import executor
from shuffleproof.core.execution.jobs_slots import cores
from shuffleproof.core.job_kinds import KINDS
from shuffleproof.core.library import cleaning
from shuffleproof.core.progress import run_to_end
from shuffleproof.core.rankers import named_presets
from shuffleproof.core.store.artefacts import Store, store_at
from shuffleproof.core.store.board import asker, board_of
from shuffleproof.core.store.manifest import MANIFEST
from shuffleproof.core.studies.kinds.benchmark.question import Benchmark
from shuffleproof.core.studies.question import Scope
from shuffleproof.core.studies.result import TIMES, StudyResult

LISTS = {"depth": 12, "initial": ["mart@small"]}
ASKED = {"rankers": ["ranksvm", "mart"], "seeds": 1, "measures": ["NDCG@10"]}
FILES = ("model.txt", "weights.safetensors", "scores.safetensors")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")
    fold = planted(queries=(30, 12, 12), seed=1, documents=15)
    for part, name in ((fold.train, "train"), (fold.valid, "vali"), (fold.test, "test")):
        write(part, folder / f"{name}.txt")
    return str(folder)


@pytest.fixture(scope="module")
def question(data):
    return {**ASKED, "data": data, "lists": LISTS, "preset": "small"}


def answered(store, data):
    scope = Scope(store, data, LISTS, "small")
    return StudyResult.open(run_to_end(Benchmark.from_plain(ASKED).answer(scope)).path)


def contents(store):
    """What was trained and scored, by artefact and file."""
    return {
        (str(one.key), name): (one.path / name).read_bytes()
        for one in store.artefacts()
        for name in FILES
        if (one.path / name).exists()
    }


def files_of(result):
    """What is stored of a study, but for what a clock measured and when it was stored."""
    files = {path.name: path.read_bytes() for path in result.directory.iterdir()}
    assert {files.pop(MANIFEST), files.pop(TIMES)}
    assert {"values.npz", "trials.json", "study.json", "summary.json"} <= set(files)
    return files


@pytest.fixture(scope="module")
def alone(tmp_path_factory, data):
    store = Store(tmp_path_factory.mktemp("alone"))
    return answered(store, data), contents(store)


def s3_address(monkeypatch):
    """A bucket of a server on this machine; it ends with the program."""
    server = pytest.importorskip("moto.server")
    pytest.importorskip("s3fs")
    import fsspec

    running = server.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    running.start()
    port = running.get_host_and_port()[1]
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    fsspec.filesystem("s3", skip_instance_cache=True).mkdir("bucket")
    return f"s3://bucket/{time.time_ns()}"


def untouched(store):
    """No assignment, no claim and no file of a worker is left."""
    left = [path for path in (store.root / "shared").rglob("*") if path.is_file()]
    return [path.name for path in left] in ([], ["mark"]) and not [
        *(store.root / "claims").iterdir()
    ]


@pytest.fixture
def two_nodes(monkeypatch):
    """A Ray cluster of two nodes with a CPU each, both processes of this machine."""
    ray = pytest.importorskip("ray")
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ray.shutdown()  # what other tests started
    cluster = cluster_utils.Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False}
    )
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(params=["processes:2", "slurm:local", "ray"])
def where(request):
    """An executor that is there."""
    if request.param == "ray":
        return f"ray:{request.getfixturevalue('two_nodes').address}"
    if request.param.startswith("slurm"):
        pytest.importorskip("submitit")
    return request.param


def test_workers_make_each_unit_once_and_the_same_as_one_alone(
    alone, question, data, tmp_path, where
):
    store = Store(tmp_path)
    reports = []
    work = sharing.share_work(store, "benchmark", question, where, workers=2)
    failures, units = run_to_end(work, reports.append)
    assert (failures, units > 0) == ((), True)
    made = contents(store)
    assert made == alone[1]
    # six fits of mart, the same one among them, one of ranksvm, and the cells of two references
    assert len(made) == 8
    assert untouched(store)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "artefacts").rglob("*")}
    result = answered(store, data)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert files_of(result) == files_of(alone[0])


def test_a_node_that_dies_loses_nothing_and_makes_nothing_twice(
    alone, question, data, tmp_path, two_nodes
):
    store, killed = Store(tmp_path), []
    lost = next(iter(two_nodes.worker_nodes))

    def kill(_):
        if not killed and len(contents(store)) >= 2:  # both nodes are at their units
            two_nodes.remove_node(lost, allow_graceful=False)
            killed.append(len(contents(store)))

    work = sharing.share_work(store, "benchmark", question, f"ray:{two_nodes.address}", workers=2)
    assert run_to_end(work, kill).failures == ()
    assert killed
    assert killed[0] < len(alone[1])
    assert contents(store) == alone[1]
    assert untouched(store)
    assert files_of(answered(store, data)) == files_of(alone[0])


LISTLESS = {
    "retrieval": {"retrievers": ["bm25", "lsi"], "seeds": 1, "queries": 8},
    "query-noise": {
        "retrievers": ["bm25", "snrm@small"], "noise": ["drop"], "levels": [0.5], "seeds": 1,
    },
    "growth": {"retrievers": ["bm25", "lsi"], "withheld": [0.3], "seeds": 1, "queries": 8},
    "sparsity": {
        "preset": "small", "penalties": ["l1"], "strengths": [0.001], "keep": [5], "seeds": 1,
    },
    "preferences": {
        "aggregators": ["goa", "borda"], "disturbances": ["calls"], "levels": [1.0], "sizes": [],
        "queries": 4,
    },
}  # fmt: skip
"""By kind of study of data without candidate lists, what is asked of the shipped ones."""

CLOCK = {"milliseconds", "seconds"}
"""Of what is kept of a query, what no two runs have alike."""


def records(store):
    """The cells that are stored, by their place below the store."""
    return {str(path.relative_to(store.root)) for path in store.root.glob("records/??/*")}


def test_studies_of_collections_and_preferences_are_made_by_workers_cell_by_cell(tmp_path):
    """Two workers make the cells of every kind; then each is asked here, and once more alone."""
    shared, asked = Store(tmp_path / "shared"), {}
    for kind, values in LISTLESS.items():
        asked[kind] = {**values, "data": "sample"}
        sharing._hand_out(board_of(shared), kind, asked[kind], ())
    item = {"store": str(shared.root), "until_empty": True}
    ended = dict(executor("processes:2", 2).map("shuffleproof.core.sharing:work", [item] * 2))
    assert [one["failure"] for one in ended.values()] == ["", ""]
    assert untouched(shared)
    made, alone = records(shared), set()
    threads = torch.get_num_threads()
    torch.set_num_threads(1 if cores() > 1 else threads)  # as each of the two workers has
    try:
        for kind, values in asked.items():
            own, results = Store(tmp_path / kind), []
            for store in (own, shared):
                answer = run_to_end(KINDS[kind](store, **values))
                results.append(StudyResult.open(store.resolve(answer["artefact"]).path))
            assert records(shared) == made, f"a cell of {kind} was left to who asked"
            assert len(records(own)) == len(results[0].trials)
            alone |= records(own)
            kept = [at for at, name in enumerate(results[0].recipe["stored"]) if name not in CLOCK]
            of_each = [one.values[:, kept].tobytes() for one in results]
            assert of_each[0] == of_each[1], kind
            assert results[0].recipe == results[1].recipe
    finally:
        torch.set_num_threads(threads)
    assert made == alone


@pytest.mark.filterwarnings("ignore:unclosed file .*_log:ResourceWarning")  # of submitit's own
def test_a_job_of_a_cluster_that_is_killed_loses_nothing_and_makes_nothing_twice(
    alone, question, data, tmp_path, monkeypatch
):
    """Two jobs by submitit's local executor; the one that holds a claim is killed at its unit."""
    submitit = pytest.importorskip("submitit")
    monkeypatch.setattr(submitit.core.core.Job, "_results_timeout_s", 0)  # for slow file systems
    store, killed, at_death = Store(tmp_path), [], []

    def kill(_):
        if killed or not contents(store):
            return  # no unit has been made yet
        for claim in (tmp_path / "claims").glob("[!a]*"):  # not of who asks
            with suppress(FileNotFoundError, ValueError):  # given back, or being written
                killed.append(json.loads(claim.read_text())["process"])
                os.kill(killed[0], signal.SIGKILL)
                at_death.extend(contents(store))
                return

    work = sharing.share_work(store, "benchmark", question, "slurm:local", workers=2)
    assert run_to_end(work, kill).failures == ()
    assert killed
    assert len(at_death) < len(alone[1]), "something was left to do"
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "artefacts").rglob("*")}
    assert contents(store) == alone[1]
    assert untouched(store)
    result = answered(store, data)
    assert {path: path.stat().st_mtime_ns for path in made} == made
    assert files_of(result) == files_of(alone[0])


def started(store, *flags):
    command = [sys.executable, "-m", "shuffleproof", "worker", "--store", str(store.root)]
    return subprocess.Popen(
        [*command, "--until-empty", "--json", *flags], stdout=subprocess.PIPE, text=True
    )


def test_a_worker_that_is_killed_leaves_nothing_that_another_does_not_take_over(
    alone, question, data, tmp_path
):
    store = Store(tmp_path)
    sharing._hand_out(board_of(store), "benchmark", question, ())
    killed = started(store)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        os.kill(killed.pid, signal.SIGSTOP)
        if [*(tmp_path / "claims").glob("*")]:
            break  # it is at a unit, and stays there
        os.kill(killed.pid, signal.SIGCONT)
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert [*(tmp_path / "claims").glob("*")]
    found = sharing.work({"store": str(tmp_path), "until_empty": True})
    assert (found["assignments"], found["failure"]) == (1, "")
    assert contents(store) == alone[1]
    assert untouched(store)
    assert files_of(answered(store, data)) == files_of(alone[0])


@pytest.mark.parametrize("kind", ["file", "s3"])
def test_workers_with_copies_of_their_own_share_an_object_store(  # noqa: PLR0917 (fixtures)
    alone, question, data, tmp_path, kind, monkeypatch
):
    """Two homes stand for two machines; one worker dies at a unit."""
    address = f"file://{tmp_path}/bucket" if kind == "file" else s3_address(monkeypatch)
    homes = [tmp_path / "one", tmp_path / "other", tmp_path / "mine"]
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(homes[2]))
    store = store_at(address)
    sharing._hand_out(board_of(store), "benchmark", question, ())
    command = [sys.executable, "-m", "shuffleproof", "worker", "--store", address]
    workers = [
        subprocess.Popen(
            [*command, "--until-empty", "--json"], stdout=subprocess.PIPE, text=True,
            env=os.environ | {"SHUFFLEPROOF_HOME": str(home)},
        )
        for home in homes[:2]
    ]  # fmt: skip
    end = time.monotonic() + 120
    while not store.remote.names("claims") and time.monotonic() < end:
        time.sleep(0.01)
    workers[0].kill()
    for one in workers:
        one.communicate(timeout=300)
    assert workers[1].returncode == 0
    here = [*(homes[2] / "copies").glob("*/artefacts/*")]
    assert here == [], "nothing was asked for yet"
    assert pulled(store) == alone[1]
    assert (store.remote.names("claims"), store.remote.names("shared")) == ([], [])
    assert files_of(answered(store, data)) == files_of(alone[0])


def test_a_folder_may_be_named_by_its_path_here_and_as_an_address_there(
    alone, question, tmp_path, monkeypatch
):
    """Asked by the path, half of it made under the address, the rest under the path."""
    monkeypatch.setenv("SHUFFLEPROOF_HOME", str(tmp_path / "home"))
    store, address = Store(tmp_path / "bucket"), f"file://{tmp_path}/bucket"
    board = board_of(store)
    sharing._hand_out(board, "benchmark", question, ())
    item = {"until_empty": True, "mark": board.mark()}
    there = sharing.work(item | {"store": address, "take": 3})
    assert (there["units"], there["failure"]) == (3, "")
    here = sharing.work(item | {"store": str(store.root)})
    assert (here["assignments"], here["failure"]) == (1, "")
    assert contents(store) == alone[1]
    assert [path.name for path in (store.root / "shared").iterdir()] == ["mark"]


def pulled(store):
    """What lies in the object store, copied here; nothing of what is shipped."""
    own = Store(store.root)
    assert all(own.find(one.key) for one in list(own.artefacts()))
    return contents(own)


def test_workers_take_as_much_as_they_are_told(alone, question, tmp_path, capsys):
    store = Store(tmp_path)
    name = sharing._hand_out(board_of(store), "benchmark", question, ())
    assert main(["worker", "--store", str(tmp_path), "--take", "3", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["units"], said["assignments"]) == (3, 0)
    assert board_of(store).names() == [name]
    assert board_of(store).units(name) == 3
    assert len(contents(store)) <= 3
    assert main(["worker", "--store", str(tmp_path), "--until-empty", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["assignments"] == 1
    assert contents(store) == alone[1]
    assert not (tmp_path / "jobs").exists()
    assert main(["worker", "--store", str(tmp_path), "--until-empty", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["units"] == 0


def test_the_digest_of_the_program_is_of_what_it_computes_with_too(monkeypatch):
    digest, installed = sharing.code.__wrapped__, sharing.metadata.version
    before = digest()
    for package, version, alike in (("lightgbm", "4.3.0", False), ("torch", "+cu130", True)):
        built = installed("torch").partition("+")[0]
        other = built + version if alike else version
        monkeypatch.setattr(
            sharing.metadata,
            "version",
            lambda name, package=package, other=other: (
                other if name == package else installed(name)
            ),
        )
        assert (digest() == before) is alike, package


def test_a_worker_of_another_version_is_refused(question, tmp_path, capsys, caplog):
    store = Store(tmp_path)
    name = sharing._hand_out(board_of(store), "benchmark", question, ())
    path = tmp_path / "shared" / name
    text = path.read_text()
    path.write_text(text.replace(sharing.code(), "0" * 12))
    asking = claims.Claims(claims.Folder(tmp_path / "claims"))
    with closing(asking), asking.working(asker(name)):
        assert main(["worker", "--store", str(tmp_path), "--until-empty"]) == 1
    told = capsys.readouterr()
    assert f"Doing what --executor shares in {tmp_path}" in told.err
    assert "install the same versions on every machine" in told.err
    assert told.out == "0 units of work done here, 0 questions finished\n"
    assert main(["worker", "--store", str(tmp_path), "--until-empty"]) == 0, "who asked is gone"
    assert path.exists()
    for damaged in (b"{", b"\xff\xfe", text.replace('"benchmark"', '"nothing"').encode()):
        path.write_bytes(damaged)
        caplog.clear()
        assert sharing.work({"store": str(tmp_path), "until_empty": True})["failure"] == ""
        assert "Remove it and ask again" in caplog.text, "passed over, and told"
        found = sharing.work({"store": str(tmp_path), "assignment": name})
        assert "Remove it and ask again" in found["failure"]
    assert contents(store) == {}


def test_a_worker_says_what_it_does_and_what_it_waits_for(question, tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(sharing, "LONG_WAIT", 0.0)
    monkeypatch.setattr(sharing, "POLL", 0.01)
    caplog.set_level("INFO")
    store = Store(tmp_path)
    board, made = board_of(store), []
    name = sharing._hand_out(board, "benchmark", question, ())
    board.listen(name)
    real = claims.Claims._make_claim

    def taken(self, unit):
        if not made:  # by another worker, which is here and alive
            made.append(unit)
            other = {"place": claims.place(), "process": os.getppid(), "id": "other"}
            self.at.create(unit, json.dumps(other))
        return real(self, unit)

    def told(self, progress):
        report(self, progress)
        if "makes" in progress.unit:
            (tmp_path / "claims" / made[0]).unlink()

    report = sharing._Voice.report
    monkeypatch.setattr(sharing._Voice, "report", told)
    monkeypatch.setattr(claims.Claims, "_make_claim", taken)
    found = sharing.work({"store": str(tmp_path), "until_empty": True})
    assert (found["assignments"], found["failure"]) == (1, "")
    owner = f"process {os.getppid()} on {platform.node()}"
    assert f"waiting for {made[0]}, which {owner} makes" in caplog.text
    assert f"{name}: {found['units']} units done by all" in caplog.text
    assert not board.hear(name, {}), "who put it up is gone: nobody hears, nothing is left"
    assert untouched(store)


@pytest.mark.parametrize("order", [signal.SIGTERM, signal.SIGKILL])
def test_a_command_that_is_stopped_takes_its_question_back_or_leaves_nothing_that_harms(
    data, tmp_path, order, monkeypatch
):
    words = ["study", "benchmark", "--data", data, "--rankers", "dlcm@paper", "--json"]
    command = [sys.executable, "-m", "shuffleproof", *words, "--store", str(tmp_path / "store")]
    process = subprocess.Popen(
        [*command, "--initial", "feature:1", "--executor", "processes:1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    store, end = Store(tmp_path / "store"), time.monotonic() + 120
    while not [*(store.root / "claims").glob("ranker-*")] and time.monotonic() < end:
        time.sleep(0.02)
    workers = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, order)
    said = process.communicate(timeout=60)[1]
    assert not psutil.wait_procs(workers, timeout=60)[1], "they end with who asked"
    board = board_of(store)
    if order == signal.SIGTERM:
        assert process.returncode == 143, said
        assert "stopped. What was finished is stored" in said
        assert "Traceback" not in said
        assert board.names() == []
        assert [one.what for one in cleaning.waste(store)] == []
        return
    (name,) = board.names()
    with monkeypatch.context() as patched:  # a machine whose clock is wrong
        patched.setattr(time, "time", lambda: 2e9)
        assert not [*cleaning._shared(store)], "who asked may be alive for a day"
    later = time.time() + 2 * cleaning.FORGOTTEN_SECONDS
    monkeypatch.setattr(cleaning, "_clock", lambda _: later)
    wastes = {one.path.name: one.what for one in cleaning._shared(store)}
    assert wastes.pop(name) == "what killed commands asked of workers"
    assert f"{name}.lines" in wastes
    assert asker(name) in wastes
    kept = board.read(name).replace(sharing.code(), "0" * 12)
    (store.root / "shared" / name).write_text(kept)
    assert main(["worker", "--store", str(store.root), "--until-empty"]) == 0
    cleaning.clean([*cleaning._shared(store)], store)
    assert untouched(store)


def test_a_worker_whose_disk_is_full_says_so_and_another_does_the_rest(
    alone, question, data, tmp_path, monkeypatch
):
    store = Store(tmp_path)
    name = sharing._hand_out(board_of(store), "benchmark", question, ())
    item = {"store": str(tmp_path), "assignment": name}
    assert sharing.work(item | {"take": 1})["units"] == 1
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fail(*_, **_more):
        raise full

    for where in ("fsync", "fdopen"):  # of an artefact, and of a claim, which is there but empty
        with monkeypatch.context() as patched:
            patched.setattr(os, where, fail)
            told = sharing.work(item)["failure"]
        assert "no space left to write under" in told
        assert "Free some space" in told
        assert [*(tmp_path / "claims").iterdir()] == []
        assert [*(tmp_path / "incoming").iterdir()] == []
        assert board_of(store).names() == [name]
    assert sharing.work(item)["failure"] == ""
    assert contents(store) == alone[1]
    assert files_of(answered(store, data)) == files_of(alone[0])


def test_a_unit_that_a_dead_worker_left_half_written_is_made_anew(alone, question, data, tmp_path):
    store = Store(tmp_path)
    item = {"store": str(tmp_path)}
    item["assignment"] = sharing._hand_out(board_of(store), "benchmark", question, ())
    assert sharing.work(item | {"take": 2})["units"] == 2
    with store.incoming("ranker-0123") as half:  # as a kill leaves it: unlocked, without an end
        shutil.copytree(half, tmp_path / "kept")
    (tmp_path / "kept" / "model.txt").write_text("tree")
    (tmp_path / "kept").rename(half)
    half.with_name(f"{half.name}.lock").touch()
    for left in (store.root / "records").glob("*/*.safetensors"):
        torn = left.parent.parent / "incoming" / f"{left.stem}.torn"
        torn.write_bytes(left.read_bytes()[:10])
    assert sharing.work(item)["failure"] == ""
    assert not half.exists()
    assert contents(store) == alone[1]
    assert files_of(answered(store, data)) == files_of(alone[0])


def test_a_defect_met_in_one_question_leaves_the_others_to_be_done(question, tmp_path, caplog):
    store = Store(tmp_path)
    poison = sharing._hand_out(board_of(store), "train", {"unknown": 1}, ())
    asked = {"ranker": "ranksvm@small", "data": question["data"], "lists": {"initial": []}}
    sharing._hand_out(board_of(store), "train", asked, ())
    found = sharing.work({"store": str(tmp_path), "until_empty": True})
    assert (found["units"], found["assignments"]) == (1, 1)
    assert found["failure"].startswith(f"{poison}: TypeError: ")
    assert "Traceback" in caplog.text
    assert board_of(store).names() == [poison]


def test_a_file_that_is_no_assignment_is_passed_over(question, tmp_path, caplog):
    store = Store(tmp_path)
    board = board_of(store)
    foreign = {"kind": "unknown", "parameters": {}, "modules": [], "folder": "."}
    texts = ['{"a', "[1]", json.dumps(foreign | {"code": sharing.code()})]
    names = [f"0{number}-foreign.json" for number in range(len(texts))]
    for name, text in zip(names, texts, strict=True):
        board.post(name, text)
    asked = {"ranker": "ranksvm@small", "data": question["data"], "lists": {"initial": []}}
    sharing._hand_out(board, "train", asked, ())
    found = sharing.work({"store": str(tmp_path), "until_empty": True})
    assert (found["units"], found["assignments"], found["failure"]) == (1, 1, "")
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [text.split(":")[0] for text in warnings] == ["passed over"] * len(texts)
    assert all(name in text for name, text in zip(names, warnings, strict=True))
    assert board.names() == names
    found = sharing.work({"store": str(tmp_path), "assignment": names[0]})
    assert "is no assignment" in found["failure"], "who asked for it alone is told"


def test_files_are_found_in_the_folder_of_who_asked(question, data, tmp_path, monkeypatch):
    folder, store = Path(data), Store(tmp_path / "store")
    monkeypatch.chdir(folder.parent)
    asked = {**question, "rankers": ["ranksvm"], "data": folder.name}
    sharing._hand_out(board_of(store), "benchmark", asked, ())
    monkeypatch.chdir(tmp_path)
    found = sharing.work({"store": str(store.root), "until_empty": True})
    assert (found["assignments"], found["failure"]) == (1, "")
    assert Path.cwd() == tmp_path


def test_what_is_taken_back_is_not_worked_on(question, tmp_path, monkeypatch):
    store = Store(tmp_path)
    name = sharing._hand_out(board_of(store), "benchmark", question, ())
    monkeypatch.setattr(sharing, "POLL", 0.0)
    real = claims.Claims._make_claim

    def taken_back(self, claim):
        board_of(store).take_back(name)
        return real(self, claim)

    monkeypatch.setattr(claims.Claims, "_make_claim", taken_back)
    found = sharing.work({"store": str(tmp_path), "assignment": name})
    assert (found["assignments"], found["failure"]) == (0, "")
    assert len(contents(store)) < 8
    assert untouched(store)


def test_a_store_that_is_not_shared_is_told(tmp_path):
    with pytest.raises(UsageError, match="a disk that all workers share"):
        sharing.work({"store": str(tmp_path / "elsewhere"), "assignment": "1.json"})
    here, there = (board_of(Store(tmp_path / name)) for name in ("here", "there"))
    assert here.mark() == here.mark() != there.mark()
    item = {"assignment": "1.json", "mark": here.mark()}
    with pytest.raises(UsageError, match="a disk that all workers share"):
        sharing.work(item | {"store": str(tmp_path / "there")})  # the same path on another machine
    assert sharing.work(item | {"store": str(tmp_path / "here")})["failure"] == ""


def test_a_full_disk_leaves_nothing_of_the_mark(tmp_path, monkeypatch):
    def fail(path, *_, **_more):
        path.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(ArtefactError, match="Free some space"):
        board_of(Store(tmp_path)).mark()
    assert [*(tmp_path / "shared").iterdir()] == []


def test_train_with_workers_and_what_cannot_be(tmp_path, capsys):
    words = ["--store", str(tmp_path), "--initial", "feature:3", "--json"]
    assert main(["train", "ranksvm", *words, "--executor", "serial"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["cached"]  # by the worker, which was this very process
    words[1] = f"file://{tmp_path}/bucket"
    assert main(["train", "ranksvm", *words, "--executor", "serial"]) == 0
    assert json.loads(capsys.readouterr().out)["cached"]
    study = ["study", "benchmark", "--rankers", "mart", *words]
    for flags, said in (
        (["--executor", "serial", "--max-seconds", "5"], "leave --max-seconds out"),
        (["--workers", "3"], "--workers is of --executor"),
        (["--executor", ""], "no executor is called ''"),
        (["--executor", "processes:2", "--workers", "3"], "has 2 workers, not 3: leave one"),
    ):
        for more in ([], ["--dry-run"]) if "--max-seconds" not in flags else ([],):
            assert main([*study, *flags, *more]) == 2
            assert said in capsys.readouterr().err
    assert main(["worker", "--until-empty", "--store", f"file://{tmp_path}/nowhere"]) == 2
    assert f"there is no folder {tmp_path}/nowhere" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [["--until-empty"], ["--idle", "0.1"]], ids=["shared", "jobs"])
def test_a_worker_makes_no_folder_of_a_slip(tmp_path, capsys, flags):
    nowhere = tmp_path / "nowhere"
    assert main(["worker", "--store", str(nowhere), *flags]) == 2
    assert f"there is no folder {nowhere}" in capsys.readouterr().err
    assert not nowhere.exists()


def test_a_worker_that_is_to_take_some_ends_when_there_are_none(tmp_path, capsys):
    (tmp_path / "store").mkdir()
    words = ["worker", "--take", "1", "--idle", "0.2", "--store", str(tmp_path / "store")]
    assert main(words) == 0
    assert capsys.readouterr().out == "0 units of work done here, 0 questions finished\n"


def test_tune_with_workers_proposes_a_trial_for_each(tmp_path, capsys):
    words = ["--store", str(tmp_path), "--initial", "feature:3", "--trials", "5", "--json"]
    command = ["tune", "ranksvm", *words, "--executor", "serial", "--workers", "2"]
    assert main(command) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["trials"] == 5
    preset = named_presets.find(Store(tmp_path), "ranksvm", "tuned_sample")
    assert preset.asked["at_once"] == 2
    assert untouched(Store(tmp_path))
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["cached"]


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /home rw,relatime shared:2 - nfs4 server:/home rw
31 30 8:2 / /home/local rw shared:3 - xfs /dev/sdb rw
32 22 0:41 / /my\\040share rw shared:3 - cifs //nas rw
"""


def test_a_table_of_jobs_on_a_network_file_system_is_refused_with_the_reason(tmp_path, monkeypatch):
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    for place, system in (
        ("/home/me/store/jobs.sqlite", "nfs4"), ("/home/local/store", None), ("/homes/x", None),
        ("/srv/store", None), ("/my share/store", "cifs"),
    ):  # fmt: skip
        path = type(tmp_path)(place)
        assert jobs_database.shared_file_system(path, mounts) == system
    mounts.write_text(f"22 1 8:1 / {tmp_path} rw shared:1 - nfs server:/x rw\n")
    monkeypatch.setattr(jobs_database, "MOUNTS", mounts)
    with (
        pytest.raises(JobError, match=r"nfs, a network file system.*local disk"),
        jobs_database.Database(tmp_path / "jobs.sqlite").reading(),
    ):
        pass
    assert not (tmp_path / "jobs.sqlite").exists()
    (tmp_path / "elsewhere").mkdir()
    mounts.write_text(f"22 1 8:1 / {tmp_path}/elsewhere rw shared:1 - nfs server:/x rw\n")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    assert jobs_database.shared_file_system(tmp_path / "link" / "jobs.sqlite") == "nfs"
