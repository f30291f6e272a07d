"""Real boundaries: a command runs inside one, with its facts on record, or it does not run."""

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
