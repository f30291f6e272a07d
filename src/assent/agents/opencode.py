"""OpenCode, by a plugin of ours: it sends what it is about to run, stops it by raising, and can change the input."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from assent.agents.hook import (
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

EVENTS: dict[str, Moment] = {
    "tool.execute.before": "before",
    "permission.asked": "permission",
    "tool.execute.after": "after",
}


PLUGIN_FILE = "plugin/assent.js"
_PLUGIN = """\
// Written by `assent init opencode`; `assent uninit opencode` removes it.
// Asks Assent before every tool call. Whatever goes wrong stops the call.
import { spawn } from "node:child_process"

const LINE = %LINE%

function ask(call) {
  return new Promise((resolve) => {
    const done = { code: null, out: "", err: "" }
    const child = spawn("/bin/sh", ["-c", LINE], { stdio: ["pipe", "pipe", "pipe"] })
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
  const started = new Map()
  return {
    "tool.execute.before": async (input, output) => {
      const said = read(await ask(call("tool.execute.before", input, output.args)))
      if (!said.silent && said.allow !== true) throw new Error(said.reason || "not allowed")
      if (said.updatedInput) {
        for (const name of Object.keys(output.args)) delete output.args[name]
        Object.assign(output.args, said.updatedInput)
      }
      started.set(input.callID, { at: Date.now(), args: structuredClone(output.args) })
    },
    "tool.execute.after": async (input) => {
      const begun = started.get(input.callID)
      started.delete(input.callID)
      const more = begun ? { duration_ms: Date.now() - begun.at } : {}
      await ask(call("tool.execute.after", input, begun?.args ?? input.args, more))
    },
  }
}
"""


def plugin_line(text: str) -> str | None:
    """Return the command line that a plugin of ours runs; None if it is not one."""
    found = re.search(r'^const LINE = ("(?:[^"\\\n]|\\.)*")$', text, re.MULTILINE)
    return msgspec.json.decode(found[1], type=str) if found else None


def plugin_text(line: str) -> bytes:
    """Return the plugin, which runs this command line for every call."""
    return _PLUGIN.replace("%LINE%", msgspec.json.encode(line).decode()).encode()


def parse(data: bytes) -> HookCall:
    """Read what the plugin sent, or raise `CallError`."""
    return parse_claude_shape(data, EVENTS)


def render(answer: HookAnswer, call: HookCall | None) -> Rendered:
    """Write the answer for the plugin: `allow`, the reason, and what to run instead."""
    if call is not None and (answer.abstain or call.moment == "after"):
        return SILENCE
    if call is not None and call.moment == "permission" and answer.allow and not answer.person:
        return SILENCE  # the user's own ask rules brought it here: only a person may answer for them
    said: dict[str, Any] = {"allow": answer.allow, "reason": reason_for_model(answer)}
    if answer.allow and answer.updated_input is not None:
        said["updatedInput"] = answer.updated_input
    return Rendered(msgspec.json.encode(said), ALLOWED if answer.allow else REFUSED)
