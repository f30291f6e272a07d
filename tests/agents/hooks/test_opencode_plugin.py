"""The plugin for OpenCode as its own engine runs it: nothing but a clear yes lets a call run."""

from __future__ import annotations

import json
import subprocess

import pytest

from assent.agents.hooks.opencode import plugin_text

LINES = {
    "silence": ("cat > /dev/null", None),
    "silence on trial": ("cat > /dev/null", "ran"),
    "a yes": ("""cat > /dev/null; echo '{"allow": true, "reason": "fine"}'""", "ran"),
    "a changed call": ("""echo '{"allow": true, "updatedInput": {"command": "other"}}'""", "ran other"),
    "a no": ("""echo '{"allow": false, "reason": "never"}'; exit 2""", "never"),
    "a yes and a code that is none": ("""echo '{"allow": true}'; exit 1""", None),
    "a yes that is none": ("""echo '{"allow": "true"}'""", None),
    "no object": ("echo null", None),
    "half an answer": ("""printf '{"allow": true'""", None),
    "a crash": ("kill -9 $$", None),
    "no program": ("/nonexistent/program", None),
    "the folder": ("""printf '{"allow": false, "reason": "%s"}' "$PWD"; exit 2""", "FOLDER"),
}
HARNESS = """
const out = {}
for (const [name, file] of Object.entries(JSON.parse(process.argv[2]))) {
  const { Assent } = await import(file)
  const args = { command: "first", timeout: 5 }
  try {
    const hooks = await Assent({ client: {}, directory: process.argv[3] })
    await hooks["tool.execute.before"]({ tool: "bash", sessionID: "s", callID: "c" }, { args })
    out[name] = args.command === "first" ? "ran" : `ran ${args.command}${args.timeout ?? ""}`
  } catch (error) {
    out[name] = error.message
  }
}
console.log(JSON.stringify(out))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What became of a call, by what the hook's line did."""
    root = tmp_path_factory.mktemp("plugins")
    folder = root / "folder"
    folder.mkdir()
    files = {}
    for number, (name, (line, _)) in enumerate(LINES.items()):
        file = root / f"plugin{number}.mjs"
        file.write_bytes(plugin_text(line, "true", trial="trial" in name))
        files[name] = str(file)
    (root / "harness.mjs").write_text(HARNESS)
    argv = ["node", str(root / "harness.mjs"), json.dumps(files), str(folder)]
    done = subprocess.run(argv, capture_output=True, check=True, timeout=120, cwd=root)
    return json.loads(done.stdout) | {"FOLDER": str(folder)}


@pytest.mark.parametrize("name", LINES)
def test_what_the_hook_says_is_what_happens(said, name):
    wanted = LINES[name][1]
    if wanted is None:
        assert not said[name].startswith("ran")
    else:
        assert said[name] == said.get(wanted, wanted)
