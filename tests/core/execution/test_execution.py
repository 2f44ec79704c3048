"""Executors: one protocol, whoever dies; devices: what is asked for or a clear word."""

import functools
import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from shuffleproof.core.errors import ParameterError, UnknownNameError, UsageError
from shuffleproof.core.execution import devices, jobs_slots, machine, processes
from shuffleproof.core.execution.cluster import Ray
from shuffleproof.core.execution.executor import EXECUTORS, Executor, Serial, executor
from shuffleproof.core.execution.processes import Processes
from shuffleproof.core.execution.slurm import Slurm
from shuffleproof.core.execution.work import Failure, function_named
from tests import places
from tests.job_watch import until

ROOT = places.ROOT
HERE = Path(__file__).resolve().parent
PATHS = (HERE, ROOT)
ME = "test_execution"


# --- what the workers are asked to do ---------------------------------------------------------


def doubled(item):
    print("noise on stdout")  # noqa: T201 (what a worker must survive)
    return {"value": 2 * item, "pid": os.getpid()}


def raising(item):
    if item == 1:
        raise ZeroDivisionError("by design")
    return item


def dying(item):
    """Die on items that name a file that is not there yet: `once` dies once, `always` ever."""
    if item["dies"] == "always" or (item["dies"] == "once" and not Path(item["mark"]).exists()):
        Path(item["mark"]).touch()
        sys.stderr.write("my last words\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    return item["value"]


def slow(item):
    Path(item).touch()
    time.sleep(60)


def napping(item):
    time.sleep(item)
    return item


def environment(_):
    names = ("OMP_WAIT_POLICY", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {name: os.environ.get(name) for name in names}


def reading_stdin(_):
    return sys.stdin.read()


def leaving(_):
    sys.exit(3)


# --- the protocol -------------------------------------------------------------------------------


@functools.cache
def made(name: str) -> Executor:
    if name == "ray":
        pytest.importorskip("ray")
        os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"
        return Ray(2)
    if name == "slurm":
        pytest.importorskip("submitit")
        return Slurm(Path(tempfile.mkdtemp()), "debug")
    return Serial() if name == "serial" else Processes(2, paths=PATHS)


LOGS = "ignore:unclosed file .*_log:ResourceWarning"  # of submitit's own
MARKED = [pytest.param(one, marks=pytest.mark.filterwarnings(LOGS)) for one in sorted(EXECUTORS)]


@pytest.fixture(params=MARKED)
def place(request, monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), str(ROOT / ".types")]))
    return made(request.param)


def test_every_item_comes_once_with_its_index(place):
    assert isinstance(place, Executor)
    results = dict(place.map(f"{ME}:doubled", list(range(7))))
    assert {index: result["value"] for index, result in results.items()} == {
        index: 2 * index for index in range(7)
    }


def test_no_items_no_results(place):
    assert list(place.map("math:sqrt", [])) == []


@pytest.mark.parametrize(
    "item", [None, "ü\n\u2028\x00", [1, [2.5, {"a": None}]], {"k": True}, 1e300]
)
def test_items_and_results_pass_unchanged(place, item):
    assert list(place.map("copy:copy", [item])) == [(0, item)]


def test_tuples_become_lists_everywhere(place):
    assert list(place.map("copy:copy", [(1, 2)])) == [(0, [1, 2])]


def test_an_exception_fails_its_item_alone(place):
    results = dict(place.map(f"{ME}:raising", [0, 1, 2]))
    assert (results[0], results[2]) == (0, 2)
    assert results[1].message == "ZeroDivisionError: by design"
    assert "in raising" in results[1].details


@pytest.mark.parametrize("function", ["nothing", "no.such:module", "math:nothing", "math:pi"])
def test_unknown_functions_fail_with_the_name(place, function):
    ((_, failure),) = place.map(function, [1])
    assert isinstance(failure, Failure)
    assert function in failure.message


def test_results_that_json_cannot_say_fail(place):
    ((_, failure),) = place.map("builtins:object.__class__", [1])
    assert isinstance(failure, Failure)


def test_closing_early_is_allowed(place):
    results = place.map(f"{ME}:napping", [0.01] * 6)
    next(results)
    results.close()


# --- worker processes ---------------------------------------------------------------------------


def test_finish_order_not_item_order():
    results = list(Processes(2, paths=PATHS).map(f"{ME}:napping", [1.0, 0.01, 0.02]))
    assert [index for index, _ in results] == [1, 2, 0]


def test_several_processes_work_and_print_what_they_like():
    pids = {result["pid"] for _, result in made("processes").map(f"{ME}:doubled", [1] * 20)}
    assert os.getpid() not in pids
    assert 1 <= len(pids) <= 2


def test_a_death_is_retried_once_then_reported(tmp_path):
    kinds = ["never", "once", "always", "never"]
    items = [
        {"value": index, "dies": kind, "mark": str(tmp_path / str(index))}
        for index, kind in enumerate(kinds)
    ]
    results = dict(made("processes").map(f"{ME}:dying", items))
    assert [results[index] for index in (0, 1, 3)] == [0, 1, 3]
    assert "signal 9" in results[2].message
    assert results[2].details == "my last words\n"


def test_a_death_is_survived_by_the_cluster_too(tmp_path, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), str(ROOT / ".types")]))
    items = [
        {"value": index, "dies": kind, "mark": str(tmp_path / str(index))}
        for index, kind in enumerate(["once", "always", "never"])
    ]
    results = dict(made("ray").map(f"{ME}:dying", items))
    assert (results[0], results[2]) == (0, 2)
    assert "died, 2 times" in results[1].message


def test_a_job_of_a_cluster_that_dies_is_handed_in_once_more_then_reported(tmp_path, monkeypatch):
    submitit = pytest.importorskip("submitit")
    monkeypatch.setattr(submitit.core.core.Job, "_results_timeout_s", 0)  # for slow file systems
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), str(ROOT / ".types")]))
    kinds = ("once", "always", "never")
    items = [
        {"value": index, "dies": kind, "mark": str(tmp_path / str(index))}
        for index, kind in enumerate(kinds)
    ]
    results = dict(Slurm(tmp_path / "logs", "local").map(f"{ME}:dying", items))
    assert (results[0], results[2]) == (0, 2)
    assert "died, 2 times" in results[1].message


@pytest.mark.parametrize("name", ["processes", "slurm:local", "ray"])
def test_what_is_stopped_by_another_thread_ends_with_what_waits(
    tmp_path, monkeypatch, name, caplog
):
    """Of four items two are under way; the other two never begin."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), str(ROOT / ".types")]))
    if name.startswith("slurm"):
        pytest.importorskip("submitit")
    place = Slurm(tmp_path / "logs", "local") if name.startswith("slurm") else made(name)
    stop, marks = threading.Event(), [str(tmp_path / str(index)) for index in range(4)]
    items = marks if name != "slurm:local" else marks[:2]
    thread = threading.Thread(target=lambda: list(place.map(f"{ME}:slow", items, stop)))
    thread.start()
    until(lambda: any(Path(mark).exists() for mark in marks), 60)
    stop.set()
    thread.join(15)
    assert not thread.is_alive()
    assert sum(Path(mark).exists() for mark in marks) <= 2
    assert "killed" not in caplog.text, "nobody else did that"


def test_a_slots_cores_are_the_threads_of_its_work(tmp_path, monkeypatch):
    """Also of LightGBM, which is never left to take the whole machine."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), str(ROOT / ".types")]))
    pytest.importorskip("submitit")
    ((_, result),) = Slurm(tmp_path, "local", cpus=3).map(f"{ME}:environment", [0])
    assert result["OMP_NUM_THREADS"] == result["NUMBA_NUM_THREADS"] == "3"


def test_a_task_of_ray_has_the_cores_it_was_given_and_a_share_of_a_gpu(monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HERE), str(ROOT / ".types")]))
    made("ray")
    ((_, result),) = Ray(1, cpus=1).map(f"{ME}:environment", [0])
    assert result["NUMBA_NUM_THREADS"] == "1"
    with pytest.raises(UsageError, match=r"1 CPUs and 0\.5 GPUs fits on no node"):
        list(Ray(1, cpus=1, gpus=0.5).map("math:sqrt", [4]))
    with pytest.raises(UsageError, match="4096 CPUs"):
        list(Ray(1, cpus=4096).map("math:sqrt", [4]))


def test_no_such_cluster_is_told_with_its_address(monkeypatch):
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    start = time.monotonic()
    with pytest.raises(UsageError, match=rf"no cluster answers at {address} .*ray start"):
        list(Ray(1, address).map("math:sqrt", [4]))
    assert time.monotonic() - start < 10


SBATCH = """#!/bin/sh
echo 'sbatch: error: invalid partition specified: nosuch' >&2
exit 1
"""


def test_what_a_cluster_refuses_is_told_in_its_own_words(tmp_path, monkeypatch):
    pytest.importorskip("submitit")
    for name in ("sbatch", "srun"):
        (tmp_path / name).write_text(SBATCH)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(UsageError, match=r"invalid partition specified: nosuch.*sinfo"):
        list(Slurm(tmp_path / "logs", "nosuch").map("math:sqrt", [4]))


def test_what_follows_an_executors_name_is_read():
    assert executor("processes:3") == Processes(3)
    assert executor("ray:auto", 5) == Ray(5, "auto")
    assert executor("slurm:gpu", folder=HERE) == Slurm(HERE, "gpu")
    assert executor("ray:auto,cpus=4,gpus=0.25", 5) == Ray(5, "auto", 4, 0.25)
    assert executor("slurm,cpus=8,gpus=1", folder=HERE) == Slurm(HERE, cpus=8, gpus=1)
    of_ray = ("ray,cpus=0", "ray,gpus=-1", "ray,cores=2", "ray,4", "ray,gpus=nan")
    for text in (*of_ray, "slurm,gpus=0.5", "processes:2,cpus=1"):
        with pytest.raises(ParameterError, match="executor"):
            executor(text)
    for text in ("processes:0", "processes:x", "processes:20000000"):
        with pytest.raises(ParameterError, match="processes:N"):
            executor(text)
    for text in ("slurm:", "serial:2"):
        with pytest.raises(UnknownNameError, match="known: processes, ray, serial, slurm"):
            executor(text)


def test_without_slurm_its_executor_says_what_else_there_is(tmp_path):
    pytest.importorskip("submitit")
    if shutil.which("sbatch"):
        pytest.skip("there is a Slurm here")
    with pytest.raises(UsageError, match="slurm:local"):
        list(Slurm(tmp_path).map("math:sqrt", [4]))


def test_a_worker_that_exits_is_reported():
    ((_, failure),) = Processes(1, paths=PATHS).map(f"{ME}:leaving", [0])
    assert "exit status 3" in failure.message


def test_workers_have_no_more_threads_than_who_started_them(monkeypatch):
    monkeypatch.setattr(processes, "cores", lambda: 8)
    monkeypatch.setattr(jobs_slots, "cores", lambda: 8)
    for allowed, workers, each in (("1", 1, "1"), ("3", 2, "3"), ("6", 2, "4")):
        monkeypatch.setenv("OMP_NUM_THREADS", allowed)
        place = Processes(workers, paths=PATHS)
        (result, *_) = place.map(f"{ME}:environment", [0] * workers)
        assert result[1]["OMP_NUM_THREADS"] == each


def test_workers_have_quiet_threads_and_no_stdin():
    ((_, result),) = Processes(1, threads=3, paths=PATHS).map(f"{ME}:environment", [0])
    assert result == {
        "OMP_WAIT_POLICY": "passive",
        "OMP_NUM_THREADS": "3",
        "NUMBA_NUM_THREADS": "3",
    }
    assert list(Processes(1, paths=PATHS).map(f"{ME}:reading_stdin", [0])) == [(0, "")]


def test_big_items_and_results():
    item = "x" * 3_000_000
    assert list(Processes(1).map("builtins:str", [item])) == [(0, item)]


def test_closing_ends_the_workers_at_once(tmp_path):
    mark = tmp_path / "mark"
    results = Processes(2, paths=PATHS).map(f"{ME}:mixed", [None, str(mark)])
    next(results)
    begun = time.monotonic()
    while not mark.exists():
        assert time.monotonic() - begun < 60, "the second worker never began"
        time.sleep(0.01)
    start = time.monotonic()
    results.close()
    assert time.monotonic() - start < 5


def mixed(item):
    return slow(item) if item else None


def test_workers_do_not_outlive_a_killed_parent(tmp_path):
    code = f"""
from pathlib import Path
from shuffleproof.core.execution.processes import Processes
paths = Path({str(HERE)!r}), Path({str(ROOT)!r})
for _ in Processes(1, paths=paths).map("{ME}:told", [{str(tmp_path / "pid")!r}]):
    pass
"""
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.02)
    worker = int((tmp_path / "pid").read_text())
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 10
    while alive(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(worker)


def told(item):
    Path(item).write_text(str(os.getpid()))
    time.sleep(60)


def alive(pid: int) -> bool:
    import psutil

    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


# --- choosing -----------------------------------------------------------------------------------


def test_executors_are_chosen_by_name():
    assert executor("serial") == Serial()
    assert executor("processes", 3) == Processes(3)
    assert executor("ray", 3) == Ray(3)
    with pytest.raises(UnknownNameError, match="processes, ray, serial"):
        executor("threads")
    with pytest.raises(ParameterError, match="module:function"):
        function_named("sqrt")
    assert function_named("math:sqrt") is math.sqrt


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"shuffleproof\[cluster\]"):
        next(Ray().map("math:sqrt", [1]))


def test_importing_execution_loads_neither_torch_nor_ray():
    code = (
        "import sys; from shuffleproof.core.execution import cluster, devices, executor, processes;"
        " assert not {'torch', 'ray'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


# --- devices ------------------------------------------------------------------------------------


def test_devices_by_name(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert devices.device(None) == devices.device("cpu") == "cpu"
    for name in ("cuda", "cuda:0"):
        with pytest.raises(ParameterError, match="no CUDA device"):
            devices.device(name)
    with pytest.raises(ParameterError, match="cuda:N"):
        devices.device("tpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [devices.device(name) for name in (None, "cuda", "cuda:1")] == ["cuda", "cuda", "cuda:1"]
    with pytest.raises(ParameterError, match="below cuda:2"):
        devices.device("cuda:2")


LISTED = (
    "processor\t: 0\nmodel name\t: A Processor: 7\nflags\t: fpu\nprocessor\t: 1\nmodel name\t: B\n"
)


def test_the_processor_is_named_by_the_system_or_else_by_its_kind(tmp_path, monkeypatch):
    monkeypatch.setattr(machine.platform, "processor", lambda: "a kind")
    monkeypatch.setattr(machine.platform, "machine", lambda: "x")
    listed = tmp_path / "cpuinfo"
    monkeypatch.setattr(machine, "PROCESSORS", listed)
    assert machine.processor() == "a kind"
    monkeypatch.setattr(machine.platform, "processor", lambda: "")
    assert machine.processor() == "x"
    listed.write_text(LISTED)
    assert machine.processor() == "A Processor: 7"


def test_bf16_is_measured_once_and_kept(tmp_path, monkeypatch):
    shares = iter([0.5, 2.0, 1.0])
    monkeypatch.setattr(devices, "_share_of_float32", lambda _: next(shares))
    devices.pays.cache_clear()
    assert devices.bf16_pays("cpu", tmp_path) is True
    devices.pays.cache_clear()  # as in another process
    assert devices.bf16_pays("cpu", tmp_path) is True
    ((name, share),) = json.loads((tmp_path / "bf16.json").read_text()).items()
    assert (share, "threads" in name) == (0.5, True)
    (tmp_path / "bf16.json").write_text("[")
    devices.pays.cache_clear()
    assert devices.bf16_pays("cpu", tmp_path) is False
    assert devices.bf16_pays("cpu") is False
    devices.pays.cache_clear()


def test_the_bf16_probe_runs_here():
    assert 0 < devices._share_of_float32("cpu") < 1000
