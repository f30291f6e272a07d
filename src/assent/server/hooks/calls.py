"""Turn a hook's call and its principal into the call and session that are decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from assent.model import CallError, Session, ToolCall, Workspace, read_trace
from assent.server.hooks.environment_header import HEADER, read_environment
from assent.server.state.session_workspaces import SessionWorkspaces
from assent.wire.refusal import Refusal

if TYPE_CHECKING:
    from assent.agents.hooks.messages import HookCall
    from assent.model.principal import Principal
    from assent.server.project_engines import Projects

LONGEST_NAME = 512
_PROJECT, _TRACE = b"x-assent-project", b"traceparent"
_NO_HEADERS: dict[bytes, bytes] = {}


def place_call(
    asked: HookCall,
    who: Principal,
    projects: Projects,
    *,
    session_workspaces: SessionWorkspaces | None = None,
    headers: Mapping[bytes, bytes] = _NO_HEADERS,
) -> tuple[ToolCall, Session]:
    """Return the call and its session. User and agent are the token's; a body that names others is refused."""
    _check_names(asked, who)
    cwd = asked.cwd or None
    workspace = _look(cwd, who, projects, is_over=asked.moment == "after")
    if workspace is not None and session_workspaces is not None and asked.session is not None and not who.workspace:
        started = headers.get(_PROJECT, b"").decode("utf-8", "replace")
        workspace = session_workspaces.find(who.token, asked.session, started, workspace)
    found = Workspace(who.workspace) if who.workspace else workspace or Workspace()
    trace = read_trace(headers[_TRACE].decode("latin-1")) if _TRACE in headers else None
    call = ToolCall(
        tool=asked.tool,
        input=asked.input,
        cwd=cwd,
        call_id=asked.call_id,
        trace=trace,
        rewritable=asked.rewritable,
    )
    session = Session(
        id=asked.session or who.token,
        user=who.user,
        agent=who.agent or "",
        workspace=found.roots,
        guessed=found.guessed,
        modes=asked.modes,
        interactive=who.interactive is not False,
        remote=who.remote,
        environment=read_environment(headers[HEADER]) if HEADER in headers else None,
        shell=asked.shell,
    )
    return call, session


def _look(cwd: str | None, who: Principal, projects: Projects, *, is_over: bool) -> Workspace | None:
    """Return the workspace of a call's working directory; None without a local directory.

    A local agent's call in a directory that does not exist is refused: its project's rules and paths are unknown, and
    an agent could cause that. A call that is over may have deleted its directory.
    """
    if cwd is not None and not cwd.startswith("/"):
        raise CallError("Expected cwd to be an absolute path")
    if cwd is None or who.remote:
        return None
    for root in who.workspace[:1]:
        projects.look(root)  # its rules decide; where the file is long, the caller waits for it here
    workspace = projects.look(cwd)
    if workspace is None and not is_over:
        raise CallError(f"There is no folder {cwd!r} here; the token of an agent on another disk is made with --remote")
    return workspace


def _check_names(asked: HookCall, who: Principal) -> None:
    if (asked.agent or who.agent) != who.agent or (asked.user or who.user) != who.user:
        raise Refusal(403, "Forbidden")
    for name in (asked.tool, asked.session, asked.call_id):
        if name is not None and len(name) > LONGEST_NAME:
            raise Refusal(400, f"A name is longer than {LONGEST_NAME} characters")
