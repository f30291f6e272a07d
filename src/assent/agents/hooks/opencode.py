"""OpenCode, through Assent's plugin: it sends every call, raises to stop it, and can change the input.

The plugin also answers OpenCode's own permission prompts once a person has answered in Assent.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from assent.agents.hooks.messages import (
    ALLOWED,
    REFUSED,
    SILENCE,
    HookAnswer,
    HookCall,
    Moment,
    Rendered,
    parse_claude_shape,
    reason_for_model,
)
from assent.agents.specs import is_our_line

EVENTS: dict[str, Moment] = {
    "tool.execute.before": "before",
    "permission.asked": "permission",
    "tool.execute.after": "after",
    "tool.execute.failed": "after",
}


PLUGIN_FILE = "plugin/assent.js"
_PLUGIN = """\
// Written by `assent init opencode`; `assent uninit opencode` removes it.
// Asks Assent before every tool call. Any error stops the call.
import { spawn } from "node:child_process"

const LINE = %LINE%
const REPORT = %REPORT%
const TRIAL = %TRIAL%

// The hook runs in the working directory of the call: one OpenCode server may serve several projects.
function ask(call) {
  return new Promise((resolve) => {
    const done = { code: null, out: "", err: "" }
    const child = spawn("/bin/sh", ["-c", LINE], { stdio: ["pipe", "pipe", "pipe"], cwd: call.cwd })
    child.stdout.on("data", (data) => (done.out += data))
    child.stderr.on("data", (data) => (done.err += data))
    child.on("error", (error) => resolve({ ...done, err: String(error) }))
    child.on("close", (code) => resolve({ ...done, code }))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(call))
  })
}

function read(done) {
  if (done.code === 0 && done.out === "") return { silent: true }
  try {
    const said = JSON.parse(done.out)
    if (done.code === 0 && said.allow === true) return said
    return { allow: false, reason: said.reason || done.err }
  } catch {
    return { allow: false, reason: done.err || "Assent could not decide, so it is not allowed" }
  }
}

// Report the outcome of a call without waiting for the response.
function report(call) {
  return new Promise((resolve) => {
    const stdio = ["pipe", "ignore", "ignore"]
    const child = spawn("/bin/sh", ["-c", REPORT], { stdio, cwd: call.cwd, detached: true })
    child.on("error", resolve)
    child.stdin.on("error", resolve)
    child.stdin.end(JSON.stringify(call), resolve)
    child.unref()
  })
}

export const Assent = async ({ client, directory }) => {
  const call = (event, input, args, more) => ({
    hook_event_name: event,
    session_id: input.sessionID,
    tool_use_id: input.callID,
    tool_name: input.tool,
    tool_input: args ?? {},
    cwd: directory,
    ...more,
  })
  const running = new Map()
  const ended = async (event, id, more) => {
    const begun = running.get(id)
    running.delete(id)
    if (begun) await report(call(event, begun.input, begun.args, { duration_ms: Date.now() - begun.at, ...more }))
  }
  // OpenCode asks its own user about a call that Assent allowed: a person's yes to that call answers it too.
  const answer = async (asked) => {
    const begun = running.get(asked.tool?.callID)
    if (!begun) return
    const said = read(await ask(call("permission.asked", begun.input, begun.args)))
    if (said.silent) return
    const body = said.allow === true ? { reply: "once" } : { reply: "reject", message: said.reason || "not allowed" }
    const headers = { "Content-Type": "application/json" }
    const path = { requestID: asked.id }
    await client._client.post({ url: "/permission/{requestID}/reply", path, query: { directory }, body, headers })
  }
  return {
    "tool.execute.before": async (input, output) => {
      const said = read(await ask(call("tool.execute.before", input, output.args)))
      const may = said.silent ? TRIAL : said.allow === true
      if (!may) throw new Error(said.reason || "Assent said nothing, so it is not allowed")
      if (said.updatedInput) {
        for (const name of Object.keys(output.args)) delete output.args[name]
        Object.assign(output.args, said.updatedInput)
      }
      running.set(input.callID, { input, at: Date.now(), args: structuredClone(output.args) })
    },
    "tool.execute.after": async (input, output) => {
      const code = output?.metadata?.exit
      await ended("tool.execute.after", input.callID, code ? { error: `exit code ${code}` } : {})
    },
    event: async ({ event }) => {
      const part = event.properties?.part
      if (event.type === "permission.asked") {
        answer(event.properties).catch(() => {}) // keep its own prompt
      } else if (event.type === "message.part.updated" && part?.type === "tool" && part.state?.status === "error") {
        await ended("tool.execute.failed", part.callID, { error: String(part.state.error) })
      }
    },
  }
}
"""
REWRITES: frozenset[Moment] = frozenset({"before"})
"""The events at which the agent runs the input that the hook returns."""


def plugin_line(text: str) -> str | None:
    """Return the command line that Assent's plugin runs; None if it is another plugin."""
    found = re.search(r'^const LINE = ("(?:[^"\\\n]|\\.)*")$', text, re.MULTILINE)
    try:
        return msgspec.json.decode(found[1], type=str) if found else None
    except msgspec.DecodeError:  # the file was changed
        return None


def is_our_plugin(text: str) -> bool:
    """Return whether a plugin runs Assent's hook, even if it was changed."""
    return is_our_line(plugin_line(text))


def plugin_text(line: str, report: str, *, trial: bool = False) -> bytes:
    """Return the plugin, which runs `line` before and `report` after every call."""
    words = {"%LINE%": line, "%REPORT%": report, "%TRIAL%": trial}
    return re.sub("|".join(words), lambda found: msgspec.json.encode(words[found[0]]).decode(), _PLUGIN).encode()


def parse(data: bytes) -> HookCall:
    """Parse the plugin's input, or raise `CallError`."""
    return parse_claude_shape(data, EVENTS)


def render(answer: HookAnswer, call: HookCall | None) -> Rendered:
    """Return the answer for the plugin: `allow`, the reason, and the changed input."""
    if call is not None and (answer.abstain or call.moment == "after"):
        return SILENCE
    if call is not None and call.moment == "permission" and answer.allow and not answer.person:
        return SILENCE  # the user's own ask rules caused this prompt: only a person may answer it
    said: dict[str, Any] = {"allow": answer.allow, "reason": reason_for_model(answer)}
    if answer.allow and answer.updated_input is not None:
        said["updatedInput"] = answer.updated_input
    return Rendered(msgspec.json.encode(said), ALLOWED if answer.allow else REFUSED)
