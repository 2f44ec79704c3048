"""Executors: every task once, whoever dies; devices: the one asked for, or a clear sentence."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from shuffleproof.core.errors import (
    ParameterError,
    UnknownNameError,
    UsageError,
)
from shuffleproof.core.execution import devices, machine, processes
from shuffleproof.core.execution.cluster import Ray
from shuffleproof.core.execution.executor import executor
from shuffleproof.core.execution.processes import Processes
from shuffleproof.core.execution.slurm import Slurm
from shuffleproof.core.execution.work import Failure
from tests import places

ROOT = places.ROOT
HERE = Path(__file__).resolve().parent


# --- tasks -------------------------------------------------------------------------------------


def doubled(common, item):
    print("noise on stdout")  # noqa: T201 (what a worker must survive)
    return common, int(item) * 2


def dying(common, item):
    """Die, always or once: the folder `common` remembers."""
    mark = Path(common) / item.decode()
    if item == b"always" or (item == b"once" and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return item.decode()


def napping(common, item):
    Path(common, str(os.getpid())).touch()
    time.sleep(float(item))
    return float(item)


def threads(_common, _item):
    return os.environ["OMP_NUM_THREADS"], os.environ["NUMBA_NUM_THREADS"]


# --- executors ---------------------------------------------------------------------------------

LOGS = "ignore:unclosed file .*_log:ResourceWarning"  # of submitit's own


@pytest.fixture(
    params=["processes", "ray", pytest.param("slurm", marks=pytest.mark.filterwarnings(LOGS))]
)
def place(request, monkeypatch, tmp_path):
    """An executor that is there, with two workers."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / ".types")]))
    if request.param == "ray":
        pytest.importorskip("ray")
        monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        return Ray(2)
    if request.param == "slurm":
        submitit = pytest.importorskip("submitit")
        monkeypatch.setattr(submitit.core.core.Job, "_results_timeout_s", 0)
        return Slurm(tmp_path / "logs", "local")
    return Processes(2)


def outcomes(place, work, common, items):
    """What becomes of every item, by its index."""
    return dict(outcome for outcome in place.map(work, common, items) if outcome is not None)


def test_every_item_is_worked_once(place):
    items = [str(at).encode() for at in range(5)]
    assert outcomes(place, doubled, "c", items) == {at: ("c", 2 * at) for at in range(5)}


def test_a_death_is_retried_and_then_told_of_its_task_alone(place, tmp_path):
    if isinstance(place, Slurm):
        tmp_path.joinpath("logs").mkdir()
    found = outcomes(place, dying, str(tmp_path), [b"once", b"live"])
    assert found == {0: "once", 1: "live"}
    found = outcomes(place, dying, str(tmp_path), [b"always"])
    assert isinstance(found[0], Failure)
    assert "died" in found[0].message


def alive(folder):
    """The processes that left their number in a folder and still run."""
    numbers = [int(path.name) for path in folder.iterdir() if path.name.isdecimal()]
    return [
        number for number in numbers
        if psutil.pid_exists(number) and psutil.Process(number).status() != psutil.STATUS_ZOMBIE
    ]  # fmt: skip


def test_closing_ends_what_is_under_way(place, tmp_path):
    with closing(place.map(napping, str(tmp_path), [b"60", b"60"])) as results:
        for _ in results:
            if alive(tmp_path):
                break
    end = time.monotonic() + 10
    while alive(tmp_path) and time.monotonic() < end:
        time.sleep(0.05)
    assert not alive(tmp_path)


def test_processes_do_not_outlive_a_killed_parent(tmp_path):
    code = f"""
from shuffleproof.core.execution.processes import Processes
from tests.core.execution.test_execution import napping
if __name__ == "__main__":
    list(Processes(1).map(napping, {str(tmp_path)!r}, [b"60"]))
"""
    script = tmp_path / "script.py"
    script.write_text(code)
    parent = subprocess.Popen(
        [sys.executable, script], cwd=ROOT, env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT}/.types"}
    )
    end = time.monotonic() + 60
    while not alive(tmp_path) and time.monotonic() < end:
        time.sleep(0.05)
    assert alive(tmp_path)
    parent.kill()
    parent.wait()
    end = time.monotonic() + 10
    while alive(tmp_path) and time.monotonic() < end:
        time.sleep(0.05)
    assert not alive(tmp_path)


def test_workers_share_the_threads_of_who_started_them(monkeypatch):
    monkeypatch.setattr(processes, "cores", lambda: 8)
    monkeypatch.setattr(machine, "cores", lambda: 8)
    for allowed, workers, each in (("1", 1, "1"), ("6", 2, "4")):
        monkeypatch.setenv("OMP_NUM_THREADS", allowed)
        found = outcomes(Processes(workers), threads, "", [b""] * workers)
        assert set(found.values()) == {(each, each)}
        assert os.environ["OMP_NUM_THREADS"] == allowed


@pytest.mark.filterwarnings(LOGS)
def test_a_task_of_a_cluster_has_the_threads_of_its_cores(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / ".types")]))
    pytest.importorskip("submitit")
    assert outcomes(Slurm(tmp_path, "local", cpus=3), threads, "", [b""]) == {0: ("3", "3")}


def test_a_task_that_fits_on_no_node_of_ray_is_refused(monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / ".types")]))
    assert outcomes(Ray(1, cpus=1), threads, "", [b""]) == {0: ("1", "1")}
    with pytest.raises(UsageError, match=r"1 CPUs and 0\.5 GPUs fits on no node"):
        list(Ray(1, cpus=1, gpus=0.5).map(threads, "", [b""]))
    with pytest.raises(UsageError, match="4096 CPUs"):
        list(Ray(1, cpus=4096).map(threads, "", [b""]))


def test_no_such_cluster_is_told_with_its_address(monkeypatch):
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    start = time.monotonic()
    with pytest.raises(UsageError, match=rf"no cluster answers at {address} .*ray start"):
        list(Ray(1, address).map(threads, "", [b""]))
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
        list(Slurm(tmp_path / "logs", "nosuch").map(threads, "", [b""]))


def test_what_follows_an_executors_name_is_read():
    assert executor("processes:3") == Processes(3)
    assert executor("ray:auto,workers=5") == Ray(5, "auto")
    assert executor("slurm:gpu", HERE) == Slurm(HERE, "gpu")
    assert executor("ray:auto,cpus=4,gpus=0.25") == Ray(None, "auto", 4, 0.25)
    assert executor("slurm,cpus=8,gpus=1", HERE) == Slurm(HERE, cpus=8, gpus=1)
    of_ray = ("ray,cpus=0", "ray,gpus=-1", "ray,cores=2", "ray,4", "ray,gpus=nan", "ray,cpus=1.5")
    of_processes = ("processes:0", "processes:x", "processes:20000000", "processes:2,cpus=1")
    for text in (*of_ray, *of_processes, "slurm,gpus=0.5", "slurm,workers=2"):
        with pytest.raises(ParameterError, match=r"executor.*processes:N"):
            executor(text)
    for text in ("slurm:", "threads", "serial"):
        with pytest.raises(UnknownNameError, match="no executor"):
            executor(text)


def test_importing_execution_loads_neither_torch_nor_ray():
    code = (
        "import sys; from shuffleproof.core.execution import cluster, devices, executor, processes;"
        " assert not {'torch', 'ray', 'numpy'} & set(sys.modules)"
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
