"""Holds what is against what was frozen, and says in plain lines what differs: which record, which field."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from golden import shelf
from golden.parts import Group, Record, flatten, hashes

MOST_SHOWN = 8
"""Fields of one record that are shown."""


@dataclass
class Report:
    """What differs: `machine` counts, `text` is only told, `new` was not there to be frozen."""

    machine: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)

    def add(self, other: Report) -> None:
        self.machine += other.machine
        self.text += other.text
        self.new += other.new


def compare(name: str, frozen: dict[str, Any] | None, found: dict[str, Any], base: Path, current: Path) -> Report:
    """Compare one group by its hashes, and where these differ by the whole output, if that of the base is there."""
    report = Report()
    if frozen is None:
        report.new.append(f"{name}: not frozen")
        return report
    if frozen == found:
        return report
    before, after = shelf.find(base, name), shelf.find(current, name)
    if before is None or after is None or hashes(before) != frozen:
        _by_hash(report, name, frozen, found)
        return report
    return by_record(name, before, after)


def _by_hash(report: Report, name: str, frozen: dict[str, Any], found: dict[str, Any]) -> None:
    if frozen["keys"] != found["keys"]:
        report.machine.append(f"{name}: other records ({frozen['records']} were frozen, now {found['records']})")
    elif frozen["machine"] != found["machine"]:
        report.machine.append(f"{name}: what machines read differs")
    if frozen["text"] != found["text"]:
        report.text.append(f"{name}: texts differ")


def by_record(name: str, before: Group, after: Group) -> Report:
    """Compare two outputs record by record."""
    report = Report()
    old, new = ({record.key: record for record in group} for group in (before, after))
    report.machine += [f"{name}: {old[key].title}: is gone" for key in old if key not in new]
    report.new += [f"{name}: {new[key].title}" for key in new if key not in old]
    for key, was in old.items():
        if key in new:
            _by_field(report, name, was, new[key])
    return report


def _by_field(report: Report, name: str, was: Record, now: Record) -> None:
    for told, before, after in ((report.machine, was.machine, now.machine), (report.text, was.text, now.text)):
        if before != after:
            told.append("\n".join((f"{name}: {now.title}", *_fields(json.loads(before), json.loads(after)))))


def _fields(before: Any, after: Any) -> list[str]:
    old, new = flatten(before), flatten(after)
    differ = [path for path in {**old, **new} if old.get(path) != new.get(path)]
    shown = [f"    {path}: {old.get(path, 'nothing')} -> {new.get(path, 'nothing')}" for path in differ[:MOST_SHOWN]]
    return shown + ([f"    … and {len(differ) - MOST_SHOWN} fields more"] if len(differ) > MOST_SHOWN else [])


def compare_sample(frozen: dict[str, Any], found: dict[str, Any], titles: dict[str, str]) -> Report:
    """Compare the sample line by line, by hashes alone."""
    report = Report()
    for source, lines in frozen.items():
        now = found.get(source, {})
        for key, (machine, text) in lines.items():
            title = f"{source}: {titles.get(key, key)}"
            if key not in now:
                report.machine.append(f"{title}: is gone")
                continue
            if now[key][0] != machine:
                report.machine.append(f"{title}: what machines read differs")
            if now[key][1] != text:
                report.text.append(f"{title}: texts differ")
    known = {(source, key) for source, lines in frozen.items() for key in lines}
    report.new += [f"{s}: {titles.get(k, k)}" for s, lines in found.items() for k in lines if (s, k) not in known]
    return report
