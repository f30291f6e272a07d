"""A hook's call, and the principal who makes it → the call and the session that the gate decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assent.model import Session, ToolCall
from assent.server.messages import Refusal

if TYPE_CHECKING:
    from assent.agents.hook import HookCall
    from assent.model.principal import Principal
    from assent.server.projects import Projects

LONGEST_NAME = 512


def place_call(asked: HookCall, who: Principal, projects: Projects) -> tuple[ToolCall, Session]:
    """Put a call into its session. Who asks is what the token says; a body that says otherwise is refused."""
    if (asked.agent or who.agent) != who.agent or (asked.user or who.user) != who.user:
        raise Refusal(403, "Forbidden")
    for name in (asked.tool, asked.session, asked.call_id):
        if name is not None and len(name) > LONGEST_NAME:
            raise Refusal(400, f"A name is longer than {LONGEST_NAME} characters")
    cwd = asked.cwd if asked.cwd is not None and asked.cwd.startswith("/") else None
    # A folder that is not there is somebody else's disk, whatever the token says.
    workspace = projects.look(cwd) if cwd is not None and not who.remote else None
    call = ToolCall(tool=asked.tool, input=asked.input, cwd=cwd, call_id=asked.call_id)
    session = Session(
        id=asked.session or who.token,
        user=who.user,
        agent=who.agent or "",
        workspace=who.workspace or workspace or (),
        modes=asked.modes,
        interactive=who.interactive is not False,
        remote=workspace is None,
    )
    return call, session
