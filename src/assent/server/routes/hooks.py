"""Routes of hooks."""

from __future__ import annotations

from assent.server.hooks import agents, classify
from assent.server.http.route import AGENTS, QueryParameter, Route
from assent.server.routes.parameters import WAIT
from assent.wire.hooks import Classified, ClassifyBody

ROUTES: tuple[Route, ...] = (
    Route(
        method="POST",
        path="/api/hooks/classify",
        roles=AGENTS,
        handler=classify.classify,
        summary="May this call run? With `wait`, held until a person has said.",
        takes=ClassifyBody,
        gives=Classified,
        query=(WAIT,),
        hook=True,
        refuse=classify.refuse_call,
    ),
    Route(
        method="POST",
        path="/api/hooks/{agent}",
        roles=AGENTS,
        handler=agents.ask_as_agent,
        summary="The same for an agent's own hook, in its own words; `X-Assent-Exit` is the code to end with.",
        query=(
            WAIT,
            QueryParameter("observe", "only write down what would be decided, and say nothing", "boolean"),
            QueryParameter("again", "a daemon that stops says so with 503: the caller comes again", "boolean"),
        ),
        hook=True,
        refuse=agents.refuse_hook,
    ),
)
