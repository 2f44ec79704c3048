"""One SQLite file holds every job: write-ahead log, synced to the disk at every change of state.

Every use opens the file anew, which costs a fraction of a millisecond and makes threads, forks
and killed processes harmless. The file must lie on a local disk (SQLite's write-ahead log).
"""

import fcntl
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from shuffleproof.core.errors import JobError

VERSION = 1
PATIENCE = 10.0
"""Seconds to wait while another process writes; writes take milliseconds."""

ANOTHER = ("no such table", "no such column", "already exists")
"""What SQLite says of a file that is somebody else's."""

SCHEMA = """
CREATE TABLE job (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    parameters TEXT NOT NULL,
    priority INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL
        CHECK (state IN ('waiting', 'running', 'done', 'failed', 'cancelled')),
    progress TEXT,
    result TEXT,
    reason TEXT NOT NULL DEFAULT '',
    attempts INTEGER NOT NULL DEFAULT 0,
    cancel_wanted INTEGER NOT NULL DEFAULT 0,
    created REAL NOT NULL,
    started REAL,
    finished REAL,
    lease TEXT,
    beat INTEGER NOT NULL DEFAULT 0,
    crashes INTEGER NOT NULL DEFAULT 0,
    furthest TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX job_by_state ON job (state, priority DESC, created);
"""
# lease: the token of the worker that has it · beat: rises while that worker is alive ·
# crashes: workers lost in a row without getting further · furthest: most done, by unit.


NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "gpfs", "beegfs",
     "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone"}
)  # fmt: skip
"""File systems that several machines share."""

MOUNTS = Path("/proc/self/mountinfo")


def shared_file_system(path: Path, mounts: Path | None = None) -> str | None:
    """The network file system that a path lies on; None: a local disk, or nobody tells.

    Args:
        path: need not be there.
        mounts: as Linux lists them; None: those of this process.
    """
    try:
        lines = (mounts or MOUNTS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    place, mount = path.resolve(), ("", "")
    for line in lines:
        head, _, tail = line.partition(" - ")
        point = head.split(" ")[4].replace("\\040", " ")
        if len(point) >= len(mount[0]) and (place == Path(point) or Path(point) in place.parents):
            mount = (point, tail.split(" ")[0])
    return mount[1] if mount[1] in NETWORK else None


class Database:
    """The file of jobs of one store."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        """Name the file.

        Args:
            path: where it is.
            create: make it at the first use; a process that must not outlive its store says no.
        """
        self.path = path
        self.create = create

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with.

        Raises:
            JobError: the file cannot be used; the message says why and what to do.
        """
        with self._explaining_errors(), closing(self.connect()) as connection:
            yield connection

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """A connection whose changes happen together or not at all.

        Args:
            durable: sync to the disk, so that a power cut keeps them; False for mere progress.

        Raises:
            JobError: the file cannot be used; the message says why and what to do.
        """
        with self._explaining_errors(), closing(self.connect()) as connection:
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def connect(self) -> sqlite3.Connection:
        """A connection in autocommit mode, to be closed by the caller; made ready if need be."""
        if (system := shared_file_system(self.path)) is not None:
            raise JobError(
                str(self.path),
                f"it would lie on {system}, a network file system, where SQLite's write-ahead log "
                "and its locks do not hold",
                "Keep the dashboard's store on a local disk; commands need no table of jobs.",
            )
        if self.create:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        name = f"file:{quote(str(self.path))}?mode={'rwc' if self.create else 'rw'}"
        connection = sqlite3.connect(name, timeout=PATIENCE, isolation_level=None, uri=True)
        try:
            if _version(connection) != VERSION:
                self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the table; the lock keeps two first users apart."""
        with (self.path.parent / "setup.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            version = _version(connection)
            if version > VERSION:
                finding = (
                    f"it was written by a newer version (format {version}, this one: {VERSION})"
                )
                raise JobError(
                    str(self.path), finding, "Update Shuffleproof, or use another store."
                )
            if version < VERSION:
                connection.execute("PRAGMA journal_mode = WAL")
                script = f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;"
                connection.executescript(script)

    @contextmanager
    def _explaining_errors(self) -> Iterator[None]:
        """Say what is wrong with the file in words."""
        try:
            yield
        except sqlite3.OperationalError as error:
            message = str(error)
            if self.path.is_dir() or any(words in message for words in ANOTHER):
                raise _damage_error(self.path, error) from error
            if "locked" in message or "busy" in message:
                finding = f"another process has kept the jobs locked for {PATIENCE:.0f} seconds"
                raise JobError(str(self.path), finding, "Try again.", busy=True) from error
            remedy = "See that the disk has room and the folder may be written to."
            raise JobError(
                str(self.path), f"the jobs cannot be used ({message})", remedy
            ) from error
        except sqlite3.DatabaseError as error:
            raise _damage_error(self.path, error) from error
        except OSError as error:
            remedy = "See that the folder is there and may be written to."
            raise JobError(str(self.path), str(error.strerror), remedy) from error


def _damage_error(path: Path, error: Exception) -> JobError:
    """A file that is no table of jobs: what to do about it does not depend on why."""
    reason = "a folder lies in its place" if path.is_dir() else str(error)
    remedy = "Rename it: a new one is made, and trained rankers and results are kept elsewhere."
    return JobError(str(path), f"the file of jobs is damaged ({reason})", remedy)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
