"""`assent audit`: search, follow, verify and export the audit log."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from assent.audit.evidence_bundle import LARGEST, BundleReport, verify_bundle
from assent.audit.log import Log
from assent.audit.seals.node_keys import find_public_key
from assent.audit.seals.peer_keys import read_neighbours
from assent.audit.search import MOST_ROWS, Query, Record, export, find, make_page, read_record
from assent.audit.snapshot import open_snapshot
from assent.audit.verify.log import VerifyReport, verify_log
from assent.cli import exit_codes
from assent.cli.options.arguments import add_output_option, make_parser
from assent.cli.output.screen import STYLE_OF, has_colour, paint, say, visible
from assent.model import AssentError
from assent.platform.paths import assent_home
from assent.platform.spool import list_left
from assent.store.address import StoreAddress, read_address
from assent.store.read_only import open_reader
from assent.store.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_EXAMPLES = (
    "assent audit tail -f                         follow decisions live",
    "assent audit search --verdict deny --since 2d",
    "assent audit search --text 'npm install' --json",
    "assent audit verify                          check that no record was changed",
    "assent audit verify --bundle session.json    check a session's evidence without the log",
    "assent audit export -o log.jsonl             the whole log as JSON lines",
)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_FILTERS = ("type", "session", "user", "agent", "tool", "tier", "verdict", "source", "digest", "approval", "text")
_FOLLOW_SECONDS = 0.5
_EXITS = {"whole": exit_codes.OK, "broken": exit_codes.FOUND, "unproven": exit_codes.UNPROVEN}


def run(argv: list[str]) -> int:
    """Run the command."""
    given = _parse(argv)
    home = assent_home()
    address = read_address(given.store or os.environ.get("ASSENT_STORE") or None, home=home)
    commands: dict[str, Callable[[Any, StoreAddress, str], int]] = {
        "tail": _tail,
        "search": _search,
        "verify": _verify,
        "export": _export,
    }
    _import_spooled(given.store or os.environ.get("ASSENT_STORE") or None, home)
    return commands[given.action](given, address, home)


def _import_spooled(store: str | None, home: str) -> None:
    """Import events that were spooled while no daemon ran."""
    if not list_left(home):
        return
    with open_store(store, home=home) as opened:
        Log(opened, home)


def _parse(argv: list[str]) -> Any:
    parser = make_parser("audit", "Search, verify and export the audit log.", _EXAMPLES)
    actions = parser.add_subparsers(dest="action", required=True, metavar="tail|search|verify|export")
    tail = actions.add_parser("tail", help="show the last records; with -f also new ones")
    tail.add_argument("-n", dest="limit", type=_count, default=20, metavar="COUNT", help="how many (default: 20)")
    tail.add_argument("-f", "--follow", action="store_true", help="keep printing new records")
    search = actions.add_parser("search", help="find records, newest first")
    search.add_argument("--limit", type=_count, default=50, metavar="COUNT", help="how many at most (default: 50)")
    for action in (tail, search):
        for name in _FILTERS:
            action.add_argument(f"--{name}", metavar=name.upper())
        action.add_argument("--since", type=_moment, metavar="WHEN", help="90s, 15m, 2h, 3d, or 2026-01-31T12:00")
        action.add_argument("--until", type=_moment, metavar="WHEN")
    verify = actions.add_parser("verify", help="check every hash, seal and anchor")
    verify.add_argument("--bundle", metavar="FILE", help="verify a session's evidence bundle instead of the log")
    verify.add_argument(
        "--key",
        metavar="HEX",
        action="append",
        default=[],
        help="a trusted public key (repeatable); with --bundle, in addition to the keys of this home",
    )
    verify.add_argument(
        "--anchors", metavar="FILE", action="append", default=[], help="a copy of the anchors from another place"
    )
    exporting = actions.add_parser("export", help="write the log as JSON lines")
    exporting.add_argument("-o", "--output", metavar="FILE", help="the output file (default: stdout)")
    for action in (tail, search, verify, exporting):
        action.add_argument(
            "--store", metavar="URL", help="the store (default: ASSENT_STORE, or SQLite in ASSENT_HOME)"
        )
        add_output_option(action)
    return parser.parse_args(argv)


def _query(given: Any) -> Query:
    return Query(since=given.since, until=given.until, **{name: getattr(given, name) for name in _FILTERS})


def _search(given: Any, address: StoreAddress, _home: str) -> int:
    with open_reader(address) as read:
        page = make_page(read(find(_query(given), limit=given.limit + 1)), given.limit)
    _show(page.records, json=given.json)
    if page.cursor is not None and not given.json:
        say("… more records match; raise --limit or narrow the search")
    return exit_codes.OK if page.records else exit_codes.FOUND


def _tail(given: Any, address: StoreAddress, _home: str) -> int:
    query = _query(given)
    with open_reader(address) as read:
        records = [read_record(row) for row in reversed(read(find(query, limit=given.limit)))]
        _show(records, json=given.json)
        last = records[-1].position if records else 0
        while given.follow:
            time.sleep(_FOLLOW_SECONDS)
            records = [read_record(row) for row in read(find(query, after=last, limit=MOST_ROWS))]
            _show(records, json=given.json)
            sys.stdout.flush()
            last = records[-1].position if records else last
    return exit_codes.OK


def _show(records: Any, *, json: bool) -> None:
    colour = has_colour(sys.stdout)
    for record in records:
        say(msgspec.json.encode(record).decode() if json else _line(record, colour=colour))


def _line(record: Record, *, colour: bool) -> str:
    what = record.verdict or record.type.partition(".")[2]
    shown = paint(f"{visible(what):<9}", STYLE_OF.get(record.verdict, ""), colour=colour)
    who = "/".join(filter(None, (record.user, record.agent))) or "-"
    kind = record.tool if record.type == "permission.evaluated" else f"{record.tool} {record.type}".strip()
    return f"{record.position:>8}  {record.time}  {shown}  {visible(who)}  {visible(kind)}  {visible(record.text)}"


def _verify(given: Any, address: StoreAddress, home: str) -> int:
    if given.bundle is not None:
        return _verify_bundle(given, home)
    with _progress() as progress:
        keys = tuple(key.lower() for key in given.key)
        report = verify_log(address, home=home, keys=keys, copies=_copies(given.anchors), progress=progress)
    say(msgspec.json.encode(report).decode() if given.json else _describe(report))
    return _EXITS[report.state]


def _copies(paths: list[str]) -> tuple[str, ...]:
    """Return the anchor copies; a missing file is an error, since it proves nothing."""
    for path in paths:
        if not os.path.isfile(path):  # noqa: PTH113 - paths are strings here
            raise AssentError(f"`{path}` is not an anchor file")
    return tuple(paths)


def _verify_bundle(given: Any, home: str) -> int:
    """Verify a bundle without the log, with the keys of this home or given ones."""
    try:
        with open(given.bundle, "rb") as file:  # noqa: PTH123 - paths are strings here
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise AssentError(f"cannot read `{given.bundle}`: {error.strerror}") from None
    if len(data) > LARGEST:
        raise AssentError(f"`{given.bundle}` is larger than {LARGEST >> 20} MiB")
    own = find_public_key(home) if os.path.isdir(home) else None  # noqa: PTH112 - as above
    neighbours = {} if own is None else read_neighbours(home)
    report = verify_bundle(data, expected=own, keys=tuple(given.key), neighbours=neighbours)
    say(msgspec.json.encode(report).decode() if given.json else _describe_bundle(report))
    return exit_codes.OK if report.ok else exit_codes.FOUND


def _describe_bundle(report: BundleReport) -> str:
    if report.ok:
        counts = f"{report.records:,} records, {report.linked:,} of them adjacent in the log"
        return f"the bundle is valid: {counts}; signed by {report.writer} with {report.key}"
    signed = f"\n  signed by {visible(report.writer)} with {visible(report.key)}" if report.key else ""
    return f"the bundle is NOT VALID\n  {visible(report.broken or '')}{signed}"


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar in a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - slow to load
    from rich.progress import Progress  # noqa: PLC0415 - as above

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("verifying", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _describe(report: VerifyReport) -> str:
    counts = f"{_several(report.events, 'record')} of {_several(report.writers, 'writer')}, "
    counts += f"{_several(report.checkpoints, 'checkpoint')}, {_several(report.anchors, 'anchor')}"
    if report.broken is None:
        return _describe_unbroken(report, counts)
    broken = report.broken
    place = "" if broken.position is None else f"record {broken.position:,}: "
    whose = "" if broken.writer is None else f" (number {broken.seq or 0:,} of writer {visible(broken.writer)})"
    return f"the log is BROKEN\n  {place}{visible(broken.what)}{whose}\n  {counts} were valid before it"


def _describe_unbroken(report: VerifyReport, counts: str) -> str:
    if report.state == "whole":
        seen = _each(report.first_seen, "the key of writer {} is the one that it had when it was first seen here")
        return f"the log is valid: {counts}; sealed up to record {report.sealed:,}{seen}"
    told = _each(report.unsealed, "writer {} has records without a seal")
    told += _each(
        report.unknown, "the key of writer {} comes only from the database; verify in its home, or pass --key"
    )
    nothing = "\n  the log is empty"
    said = "the log is NOT VERIFIED: no record is wrong, but not all of them are proven"
    return f"{said}\n  {counts}{told or nothing}"


def _each(writers: tuple[str, ...], text: str) -> str:
    return "".join(f"\n  {text.format(visible(writer))}" for writer in writers)


def _several(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _export(given: Any, address: StoreAddress, _home: str) -> int:
    with open_snapshot(address) as snapshot:
        if given.output is None:
            for line in export(snapshot):
                sys.stdout.write(line.decode())
            return exit_codes.OK
        with _private_file(given.output) as file:
            for line in export(snapshot):
                file.write(line)
    return exit_codes.OK


def _private_file(path: str) -> Any:
    try:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb")
    except OSError as error:
        raise AssentError(f"cannot write `{path}`: {error.strerror}") from None


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MOST_ROWS - 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to {MOST_ROWS - 1}, not `{text}`")
    return int(text)


def _moment(text: str) -> float:
    """Parse a duration before now, or a date, in UTC without a time zone."""
    if ago := re.fullmatch(r"(\d{1,6})([smhdw])", text):
        return time.time() - int(ago[1]) * _UNITS[ago[2]]
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"`{text}` is not a time; use 15m, 2h, 3d or 2026-01-31T12:00") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
