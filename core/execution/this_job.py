"""Which job this process works on, so that what it leaves on its way can say whose it is."""

from contextvars import ContextVar

THIS_JOB: ContextVar[str] = ContextVar("this job", default="")
"""The job's id; empty where no job is worked on."""
