"""The workspace of each session."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assent.model import Workspace
    from assent.server.project_engines import Projects

_MOST_SESSIONS = 10_000


class SessionWorkspaces:
    """Where each session works: the project it was started in, wherever the agent goes later."""

    def __init__(self, projects: Projects) -> None:
        self._projects = projects
        self._known: OrderedDict[tuple[str, str], Workspace] = OrderedDict()

    def find(self, token: str, session: str, started: str, here: Workspace) -> Workspace:
        """Return the workspace of a session: once found, it stays. `started` is where the agent says it began."""
        key = (token, session)
        known = self._known.pop(key, None)
        if known is None:
            found = self._projects.look(started) if started.startswith("/") else None
            known = here if found is None else found
        self._known[key] = known
        if len(self._known) > _MOST_SESSIONS:
            self._known.popitem(last=False)
        return known
