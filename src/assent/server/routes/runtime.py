"""Routes of the runtime protocol."""

from __future__ import annotations

from assent.server.http.route import AGENTS, ANYONE, PEOPLE, QueryParameter, Route
from assent.server.routes.parameters import WAIT
from assent.server.runtime import endpoints, evidence, permission_state, refs, report_events
from assent.wire.runtime import ActionResolved, EvaluateBody, Evaluated, PermissionState, Ref, RespondActionBody
from assent.wire.runtime_reports import EventsRecorded, ReportEventsBody

ROUTES: tuple[Route, ...] = (
    Route(
        method="GET",
        path="/api/runtime/events",
        roles=PEOPLE,
        handler=endpoints.stream_events,
        summary="What happens, as a stream of events; `Last-Event-ID` goes on without loss or repeats.",
        query=(
            QueryParameter("sessionId", "of this session"),
            QueryParameter("type", "of these types, or families such as `permission.*`, with commas between"),
            QueryParameter("user", "this user's; for an admin"),
            QueryParameter("after", "begin after this event, where no header can be sent"),
        ),
        stream=True,
    ),
    Route(
        method="POST",
        path="/api/runtime/evaluate_permission",
        roles=AGENTS,
        handler=endpoints.evaluate,
        summary="Decide an action, on record, and show the three facts; with `wait`, once a person has said.",
        takes=EvaluateBody,
        gives=Evaluated,
        query=(WAIT,),
        hook=True,
    ),
    Route(
        method="POST",
        path="/api/runtime/report_events",
        roles=AGENTS,
        handler=report_events.report_events,
        summary="Record what became of decided calls, as the host that ran them tells it.",
        takes=ReportEventsBody,
        gives=EventsRecorded,
    ),
    Route(
        method="POST",
        path="/api/runtime/respond_action",
        roles=PEOPLE,
        handler=endpoints.respond,
        summary="Resolve an action that is required: allow or deny.",
        takes=RespondActionBody,
        gives=ActionResolved,
        errors=(404,),
    ),
    Route(
        method="GET",
        path="/api/runtime/permission_state",
        roles=ANYONE,
        handler=permission_state.show_state,
        summary="Mode, rules and their sources, whether somebody can be asked, what waits, and the sandbox.",
        gives=PermissionState,
        query=(
            QueryParameter("sessionId", "as it is for this session"),
            QueryParameter("cwd", "the folder whose project counts"),
        ),
    ),
    Route(
        method="GET",
        path="/api/runtime/evidence/{sessionId}",
        roles=PEOPLE,
        handler=evidence.export_evidence,
        summary="All that is on record of a session, signed, for `assent audit verify --bundle`.",
        errors=(404,),
    ),
    Route(
        method="GET",
        path="/api/refs/{ref}",
        deep=True,
        roles=PEOPLE,
        handler=refs.show_ref,
        summary="What a ref in an event stands for.",
        gives=Ref,
        errors=(404,),
    ),
)
