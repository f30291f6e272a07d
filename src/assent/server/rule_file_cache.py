"""Projects' files: parsed once for each content, long ones in a thread of their own, so that nobody else waits."""

from __future__ import annotations

import asyncio
import hashlib
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeAlias

from assent.config.layers import parse_project
from assent.model import AssentError, ConfigError

if TYPE_CHECKING:
    from assent.config.assent_yaml import Assentfile

SHORT = 4 << 10
"""Up to how many bytes a file is parsed at once."""
MOST_KEPT = 64
LONGEST_WAIT = 5.0
"""How many seconds a call waits for its project's rules; then it is denied."""
_Key: TypeAlias = tuple[bytes, str, bool]


class StillReadingError(AssentError):
    """The rules of a project are being read; whoever can wait waits, anything else is denied."""

    def __init__(self, path: str, read: Future[Assentfile]) -> None:
        super().__init__(f"the rules in `{path}` are still being read; repeat the call")
        self._path = path
        self._read = read

    async def wait(self) -> None:
        """Wait until the rules were read, well or not, or raise `ConfigError`."""
        done, _ = await asyncio.wait([asyncio.ensure_future(asyncio.wrap_future(self._read))], timeout=LONGEST_WAIT)
        if not done:
            raise ConfigError("Reading this file takes too long.", file=self._path)
        for each in done:
            each.exception()  # whoever asks again hears it


class RuleFiles:
    """What was parsed of projects' files, by their content."""

    def __init__(self) -> None:
        self._read: dict[_Key, Future[Assentfile]] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="assent-rules")

    def parse(self, data: bytes, path: str, trusted: bool) -> Assentfile:  # noqa: FBT001 - as `ProjectParser` says
        """Return what a file says, raise `ConfigError`, or for a long one that is new, `StillReadingError`."""
        key = (hashlib.sha256(data).digest(), path, trusted)
        read = self._read.get(key)
        if read is None:
            if len(data) <= SHORT:
                return parse_project(data, path, trusted)
            while len(self._read) >= MOST_KEPT:
                del self._read[next(iter(self._read))]
            read = self._read[key] = self._thread.submit(parse_project, data, path, trusted)
        if not read.done():
            raise StillReadingError(path, read)
        return read.result()

    def close(self) -> None:
        """Parse nothing more."""
        self._thread.shutdown(wait=False, cancel_futures=True)
