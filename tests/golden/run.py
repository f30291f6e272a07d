"""`make golden`: freeze what must not change while the code does, and compare.

It freezes the decision about every line of the corpora and every example of the catalog in all modes, OpenAPI, the
JSON Schemas, what the command line prints and how it ends, and a log with its evidence. Nothing depends on this
machine or on the checkout's path: facts, clock, ids and keys are fixed in `adapter.py`, the only file to change when
modules of the product move. Each record has two parts: what machines read, and texts for people. `make golden` exits
with 0 if no machine part differs, and says how many texts do (STRICT=1 counts them too); otherwise it exits with 1
and lists the differences. A line added to a corpus is reported, and is no difference if the whole output of the base
is there.

`make golden FREEZE=1` (or `make freeze`) freezes anew: hashes go to `frozen.json` and `sample.json`, to be committed,
and the whole output goes to `.golden/base`, which is not committed. With it, a later `make golden` says which line,
mode and field differ. In another checkout, name that folder with `python -m golden.run --base FOLDER`, or freeze at
the commit that wrote `frozen.json`: it comes out the same. `make golden QUICK=1` takes one line in twenty; the test
suite runs it.
"""

from __future__ import annotations

import argparse
import functools
import os
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from golden import auditlog, decisions, interfaces, shelf, transcripts
from golden.compare import Report, compare, compare_sample
from golden.parts import Group, hashes

MOST_LISTED = 60
_WHOLE = "whole"


def small_groups() -> dict[str, Group]:
    """Return everything but decisions: it is little, and never sampled."""
    turns, schemas = transcripts.collect()
    return {
        "transcripts": turns,
        "schemas": interfaces.schemas(schemas),
        "openapi": interfaces.openapi(),
        "log": auditlog.fixed(),
        "evidence": auditlog.lived(),
    }


def _work(name: str, *, sample: bool) -> dict[str, Group]:
    return small_groups() if name == _WHOLE else {name: decisions.make_group(name, sample=sample)}


def _work_and_keep(name: str, *, folder: Path) -> dict[str, dict[str, Any]]:
    made = _work(name, sample=False)
    for each, group in made.items():
        shelf.keep(folder, each, group)
    return {each: hashes(group) for each, group in made.items()}


def _everywhere(work: functools.partial[dict[str, Any]]) -> dict[str, Any]:
    """Do all the work, on every core."""
    names = [_WHOLE, *decisions.group_names()]
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return {name: made for each in pool.map(work, names) for name, made in each.items()}


def make_sample() -> dict[str, Group]:
    """Make the sample: some lines in all modes, and everything else."""
    return _everywhere(functools.partial(_work, sample=True))


def check_sample(groups: dict[str, Group]) -> Report:
    """Hold the sample against what was frozen of it."""
    titles = {record.key: record.title for group in groups.values() for record in group}
    return compare_sample(shelf.read(shelf.SAMPLE), shelf.sample_hashes(groups), titles)


def freeze() -> None:
    """Freeze what is."""
    base = shelf.FOLDER / "base"
    shutil.rmtree(base, ignore_errors=True)
    found = _everywhere(functools.partial(_work_and_keep, folder=base))
    shelf.write(shelf.FROZEN, found)
    groups = {name: shelf.find(base, name) or [] for name in found}
    shelf.write(shelf.SAMPLE, shelf.sample_hashes({name: _sampled(name, group) for name, group in groups.items()}))


def _sampled(name: str, group: Group) -> Group:
    return [r for r in group if decisions.is_sampled(r.key)] if name.startswith("decisions/") else group


def check_all(base: Path) -> Report:
    """Hold everything against what was frozen."""
    current = shelf.FOLDER / "current"
    shutil.rmtree(current, ignore_errors=True)
    found = _everywhere(functools.partial(_work_and_keep, folder=current))
    frozen, report = shelf.read(shelf.FROZEN), Report()
    for name in sorted(found):
        report.add(compare(name, frozen.get(name), found[name], base, current))
    report.machine += [f"{name}: is gone" for name in frozen if name not in found]
    return report


def show(report: Report, *, strict: bool) -> int:
    """Print what differs, and return the exit code."""
    for title, told in (("not frozen yet", report.new), ("texts", report.text), ("MACHINE PART", report.machine)):
        if told:
            print(f"{title}: {len(told)} differ" if told is not report.new else f"{title}: {len(told)}")
            print("\n".join(f"  {each}" for each in told[:MOST_LISTED]))
            if len(told) > MOST_LISTED:
                print(f"  … and {len(told) - MOST_LISTED} more")
    failed = bool(report.machine or (strict and report.text))
    state = "differs" if report.machine else "is identical"
    print(f"golden: what machines read {state}; {len(report.text)} texts differ; {len(report.new)} not frozen yet")
    return int(failed)


def main() -> int:
    """Compare, or freeze."""
    parser = argparse.ArgumentParser(prog="make golden", description=__doc__.partition("\n")[0])
    parser.add_argument("--freeze", action="store_true", help="freeze what is")
    parser.add_argument("--quick", action="store_true", help="compare the sample alone")
    parser.add_argument("--strict", action="store_true", help="texts count too")
    parser.add_argument("--base", type=Path, default=shelf.FOLDER / "base", help="the whole output that was frozen")
    given = parser.parse_args()
    began = time.monotonic()
    if given.freeze:
        freeze()
        print(f"golden: frozen in {time.monotonic() - began:.0f} s; commit {shelf.FROZEN.name} and {shelf.SAMPLE.name}")
        return 0
    report = check_sample(make_sample()) if given.quick else check_all(given.base)
    code = show(report, strict=given.strict)
    print(f"golden: took {time.monotonic() - began:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
