"""Run a command inside a boundary that the kernel enforces, with its facts on record, or do not run it."""

from assent.sandbox.errors import CommandNotStarted, Unavailable
from assent.sandbox.linux.mechanisms import Machine, find_machine, probe
from assent.sandbox.process import Process, ProcessResult
from assent.sandbox.sandbox import Sandbox
from assent.sandbox.streams import NOTHING, PIPE

__all__ = [
    "NOTHING",
    "PIPE",
    "CommandNotStarted",
    "Machine",
    "Process",
    "ProcessResult",
    "Sandbox",
    "Unavailable",
    "find_machine",
    "probe",
]
