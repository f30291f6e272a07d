"""Where goldens are kept: hashes beside this file, in the repository; the whole output in `.golden/`, which is not.

`sample.json` has a hash for each line of the sample, over all modes, so that a new line of a corpus disturbs no other.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from golden.parts import Group, Record, short_hash

HERE = Path(__file__).parent
FROZEN, SAMPLE = HERE / "frozen.json", HERE / "sample.json"
FOLDER = HERE.parents[1] / ".golden"


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def _file(folder: Path, name: str) -> Path:
    return folder / (name.replace("/", "+") + ".jsonl.gz")


def keep(folder: Path, name: str, group: Group) -> None:
    """Write the whole of a group."""
    folder.mkdir(parents=True, exist_ok=True)
    with gzip.open(_file(folder, name), "wt", compresslevel=1, encoding="utf-8", errors="surrogatepass") as file:
        file.writelines(json.dumps(record) + "\n" for record in group)


def find(folder: Path, name: str) -> Group | None:
    """Read the whole of a group; None if it was not kept."""
    path = _file(folder, name)
    if not path.exists():
        return None
    with gzip.open(path, "rt", encoding="utf-8", errors="surrogatepass") as file:
        return [Record(*json.loads(line)) for line in file]


def sample_hashes(groups: dict[str, Group]) -> dict[str, dict[str, list[str]]]:
    """Return, by corpus and line, a hash of what machines read and one of the texts, over all modes."""
    found: dict[str, dict[str, list[list[str]]]] = {}
    for name in sorted(groups):
        kind, _, rest = name.partition("/")
        lines = found.setdefault(rest.split("/")[0] if kind == "decisions" else name, {})
        for record in groups[name]:
            machine, text = lines.setdefault(record.key, [[name], [name]])
            machine.append(record.machine)
            text.append(record.text)
    return {
        source: {key: [short_hash(machine)[:12], short_hash(text)[:12]] for key, (machine, text) in lines.items()}
        for source, lines in found.items()
    }
