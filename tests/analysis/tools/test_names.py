"""Tools by their names: many vocabularies, one meaning."""

from __future__ import annotations

import pytest

from assent.analysis.tools.names import TOOLS, find_tool

#: names in agents' own vocabularies, and the tool meant
VOCABULARIES = {
    "Bash": "bash exec shell Shell run_command run_shell_command execute_command exec_command local_shell "
    "unified_exec run_in_terminal terminal Execute",
    "Read": "read file_read read_file view read_many_files",
    "Write": "write file_write write_file create write_to_file",
    "Edit": "edit file_edit edit_file replace str_replace_editor MultiEdit NotebookEdit apply_patch patch",
    "Delete": "delete_file Delete",
    "Glob": "glob find_files",
    "Grep": "grep search_files search_file_content grep_search rg",
    "LS": "ls list_dir list_directory",
    "WebFetch": "webfetch web_fetch fetch_url",
    "WebSearch": "websearch web_search google_web_search",
    "Agent": "Task task spawn_agent",
    "AskUserQuestion": "ask_user question",
    "PowerShell": "powershell pwsh",
}


@pytest.mark.parametrize(("tool", "names"), VOCABULARIES.items())
def test_every_vocabulary_reaches_the_tool_it_means(tool, names):
    assert {find_tool(n).name for n in names.split()} == {tool}


def test_a_name_belongs_to_one_tool():
    names = [n.lower() for t in TOOLS for n in (t.name, *t.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ["mcp__x__y", "Nobody", "", "Bash ", " bash", "\u212aillShell", "b\u00e4sh"])
def test_a_name_nobody_knows_stays_what_it_is(name):
    tool = find_tool(name)
    assert (tool.name, tool.shape) == (name, "unknown")
