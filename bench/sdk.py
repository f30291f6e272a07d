"""Benchmark a guarded call of a Python agent, next to LangChain's own cost."""

from __future__ import annotations

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import tool as langchain_tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from assent import create_agent_app, parse_rules, tool
from assent.sdk.frameworks.langchain import AssentMiddleware

ROUNDS = 2000
LIMIT = 150.0


@tool
async def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def make_app(store: str) -> Any:
    return create_agent_app(permission_policy={"deny": parse_rules(["Bash(rm:*)"])}, tools=[add], store=store)


async def median_us(work: Callable[[], Awaitable[Any]], rounds: int) -> float:
    for _ in range(rounds // 10):
        await work()
    took = []
    for _ in range(rounds):
        started = time.perf_counter()
        await work()
        took.append(time.perf_counter() - started)
    return statistics.median(took) * 1e6


def measure_call(store: str, rounds: int) -> float:
    with make_app(store) as app:
        return asyncio.run(median_us(lambda: app.call_tool("add", {"a": 1}), rounds))


class Nothing(AgentMiddleware):  # type: ignore[type-arg]
    """Does nothing, as LangChain does it."""

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return await handler(request)


def measure_langchain(guard: Any, rounds: int) -> float:
    node = ToolNode([langchain_tool(add.plain)], awrap_tool_call=None if guard is None else guard.awrap_tool_call)
    graph = StateGraph(MessagesState)
    graph.add_node("tools", node)
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    compiled = graph.compile()
    call = {"name": "add", "args": {"a": 1}, "id": "c", "type": "tool_call"}
    return asyncio.run(median_us(lambda: compiled.ainvoke({"messages": [AIMessage("", tool_calls=[call])]}), rounds))


def run(report: Callable[..., None]) -> None:
    memory = measure_call("memory", ROUNDS)
    report("sdk: a safe call, log in memory", f"{memory:.0f} µs", limit=f"at most {LIMIT:.0f} µs", ok=memory <= LIMIT)
    with tempfile.TemporaryDirectory() as home:
        before = os.environ.get("ASSENT_HOME")
        os.environ["ASSENT_HOME"] = home
        try:
            report("sdk: the same with SQLite", f"{measure_call('sqlite', ROUNDS // 10):.0f} µs")
        finally:
            if before is None:
                del os.environ["ASSENT_HOME"]
            else:
                os.environ["ASSENT_HOME"] = before
    plain = measure_langchain(None, ROUNDS // 10)
    own = measure_langchain(Nothing(), ROUNDS // 10)
    with make_app("memory") as app:
        guarded = measure_langchain(AssentMiddleware(app), ROUNDS // 10)
    report("sdk: langgraph, no middleware", f"{plain:.0f} µs")
    report("sdk: langgraph, a middleware that does nothing", f"{own:.0f} µs")
    report("sdk: langgraph, guarded", f"{guarded:.0f} µs")
