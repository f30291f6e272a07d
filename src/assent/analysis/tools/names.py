"""Tools by their names: every agent's vocabulary, mapped onto one."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Shape: TypeAlias = Literal["command", "read", "write", "search", "fetch", "inert", "foreign-shell", "unknown"]


class KnownTool(msgspec.Struct, frozen=True):
    """A tool as Assent knows it."""

    name: str
    shape: Shape
    aliases: tuple[str, ...] = ()
    does: str = ""


TOOLS = (
    KnownTool(
        "Bash",
        "command",
        (
            "exec",
            "shell",
            "run_command",
            "run_shell_command",
            "execute_command",
            "exec_command",
            "local_shell",
            "unified_exec",
            "run_in_terminal",
            "terminal",
            "Execute",
        ),
    ),
    KnownTool("PowerShell", "foreign-shell", ("pwsh", "powershell_command"), "runs a PowerShell command"),
    KnownTool("WriteStdin", "foreign-shell", ("write_stdin",), "types into a running program"),
    KnownTool("Read", "read", ("file_read", "read_file", "view", "read_many_files", "NotebookRead", "open_file")),
    KnownTool("Write", "write", ("file_write", "write_file", "create", "create_file", "write_to_file", "save_file")),
    KnownTool(
        "Edit",
        "write",
        (
            "file_edit",
            "edit_file",
            "replace",
            "str_replace",
            "str_replace_editor",
            "str_replace_based_edit_tool",
            "MultiEdit",
            "multi_edit",
            "NotebookEdit",
            "notebook_edit",
            "apply_patch",
            "patch",
            "replace_in_file",
            "search_replace",
            "insert_edit_into_file",
        ),
    ),
    KnownTool("Delete", "write", ("delete_file", "remove_file", "file_delete")),
    KnownTool("Glob", "search", ("find_files", "file_search", "glob_file_search", "glob_search")),
    KnownTool("Grep", "search", ("search_files", "search_file_content", "grep_search", "ripgrep", "rg")),
    KnownTool("LS", "read", ("list_dir", "list_directory", "list_files", "dir")),
    KnownTool("WebFetch", "fetch", ("web_fetch", "fetch_url", "fetch_webpage")),
    KnownTool("WebSearch", "inert", ("web_search", "google_web_search"), "searches the web"),
    KnownTool(
        "TodoWrite",
        "inert",
        ("TodoRead", "todo_write", "todo_read", "update_plan", "write_todos"),
        "updates its to-do list",
    ),
    KnownTool("AskUserQuestion", "inert", ("ask_user", "ask_followup_question", "question"), "asks the user"),
    KnownTool("ExitPlanMode", "inert", ("exit_plan_mode",), "shows a plan to the user"),
    KnownTool("BashOutput", "inert", ("TaskOutput", "bash_output"), "shows the output of a background command"),
    KnownTool("KillShell", "inert", ("KillBash", "kill_shell", "TaskStop"), "stops a background command"),
    KnownTool("Agent", "unknown", ("Task", "spawn_agent"), "starts another agent"),
)

_KNOWN = {name.lower(): tool for tool in TOOLS for name in (tool.name, *tool.aliases)}
_NAMED = {tool.name: tool for tool in TOOLS}


def find_tool(name: str) -> KnownTool:
    """Return the tool by this name in any vocabulary; an unknown one keeps its name."""
    if name in _NAMED:
        return _NAMED[name]
    # Lower case turns some letters of other scripts into ours: such a name is nobody's.
    known = _KNOWN.get(name.lower()) if name.isascii() else None
    return known if known is not None else KnownTool(name, "unknown")
