"""A session's records, taken out of the log so that they can be checked elsewhere, without the log.

Each record comes with the hash before it, so that its own can be computed again; all of them together, and what is told
about them, are signed by the node that took them out. What is missing, added or changed is found. Before it signs, the
node follows its log from the seal before the first record to the seal after the last: what was changed is not signed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

import msgspec

from assent.audit.chain import COLUMNS, genesis, hash_row
from assent.audit.log import Log
from assent.audit.seals.node_keys import is_signed
from assent.audit.seals.seal import COLUMNS as SEAL
from assent.audit.seals.seal import Seal, read_seal
from assent.audit.search import Record, RecordColumns
from assent.audit.verify.segments import Part, check_part
from assent.model import AssentError, StoreError, canonical
from assent.store.store import Store

FORMAT = "assent.evidence.v1"
LARGEST = 256 << 20
_DOMAIN = b"assent.evidence.v1\0"
_PREVIOUS = "SELECT hash FROM events WHERE writer = :writer AND position < :position ORDER BY position DESC LIMIT 1"
_SEALS = (
    f"SELECT {', '.join(SEAL)} FROM checkpoints "  # noqa: S608 - constants
    "WHERE writer = :writer AND seq >= :seq ORDER BY seq LIMIT 1"
)
_SEALED_BEFORE = "SELECT coalesce(max(position), 0) FROM checkpoints WHERE position < :position"
LONGEST_SPAN = 200_000
"""How many records of the log are followed for one bundle; what is spread further is proven by `audit verify`."""


class BundledRecord(RecordColumns, frozen=True, kw_only=True):
    """A record with everything that its hash covers, and the hash before it."""

    body: str
    previous: str
    hash: str

    @property
    def row(self) -> tuple[Any, ...]:
        """Return the columns as they are hashed."""
        named = {"session_id": "session", "user_id": "user", "agent_id": "agent"}
        values = (getattr(self, named.get(name, name)) for name in COLUMNS[:-1])
        return (*values, self.body.encode())


class BundledSeal(msgspec.Struct, frozen=True):
    """The signature of the log's end at some moment after the last record."""

    writer: str
    seq: int
    position: int
    hash: str
    at: float
    signature: str
    number: int | None = None
    previous: str | None = None

    @property
    def seal(self) -> Seal:
        """Return it as the log has it."""
        previous = None if self.previous is None else _hex(self.previous)
        return Seal(
            writer=self.writer,
            seq=self.seq,
            position=self.position,
            hash=_hex(self.hash),
            at=self.at,
            signature=_hex(self.signature),
            number=self.number,
            previous=previous,
        )


class Chain(msgspec.Struct, frozen=True, kw_only=True):
    """The records, and what the log said of itself when they were taken out."""

    records: tuple[BundledRecord, ...]
    seals: tuple[BundledSeal, ...] = ()
    followed: bool = False
    """Whether the log was followed around them before this was signed."""


class Signature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who took it out."""

    writer: str
    key: str
    value: str


class BundleReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a verification found."""

    ok: bool
    records: int = 0
    linked: int = 0
    """How many records directly follow the one before them in the bundle."""
    session: str = ""
    writer: str = ""
    key: str = ""
    sealed: int = 0
    """How many records a seal in the bundle covers."""
    known: bool = False
    """Whether the key that signed it is one that was expected."""
    broken: str | None = None


class _BrokenError(AssentError):
    pass


async def gather_chain(store: Store, records: tuple[Record, ...]) -> Chain:
    """Take records out of the log, with what is needed to hash them again; raises `StoreError` if one was changed."""
    kept = [await _keep(store, record) for record in records]
    last = {record.writer: record.seq for record in records}
    seals: list[BundledSeal] = []
    for writer, seq in last.items():
        rows = await store.query(_SEALS, {"writer": writer, "seq": seq})
        seals += [_keep_seal(read_seal(row)) for row in rows]
    followed = await _follow(store, records, seals) if seals else False
    return Chain(records=tuple(kept), seals=tuple(seals), followed=followed)


async def _follow(store: Store, records: tuple[Record, ...], seals: list[BundledSeal]) -> bool:
    """Follow the log from the seal before the first record to the seals after the last; false if that is too far."""
    until = max(seal.position for seal in seals)
    after = int((await store.query(_SEALED_BEFORE, {"position": records[0].position}))[0][0])
    if until - after > LONGEST_SPAN:
        return False
    found = await asyncio.to_thread(check_part, Part(store.address, after, until), lambda _: None)
    if found.broken is not None:
        where = "" if found.broken.position is None else f"record {found.broken.position}: "
        raise StoreError(f"the log is not as it was written, so nothing of it is signed: {where}{found.broken.what}")
    return True


def _keep_seal(seal: Seal) -> BundledSeal:
    previous = None if seal.previous is None else seal.previous.hex()
    where = (seal.writer, seal.seq, seal.position, seal.hash.hex(), seal.at, seal.signature.hex())
    return BundledSeal(*where, seal.number, previous)


async def _keep(store: Store, record: Record) -> BundledRecord:
    rows = await store.query(_PREVIOUS, {"writer": record.writer, "position": record.position})
    previous = bytes(rows[0][0]) if rows else genesis(record.writer)
    fields = {
        name: getattr(record, name) for name in BundledRecord.__struct_fields__ if name not in ("body", "previous")
    }
    return BundledRecord(**fields, body=bytes(record.body).decode(), previous=previous.hex())


def sign_bundle(log: Log, bundle: dict[str, Any]) -> dict[str, Any]:
    """Sign everything in a bundle, as this node."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(bundle))
    value = log.sign(_signed_bytes(plain)).hex()
    return plain | {"signature": msgspec.to_builtins(Signature(log.writer, log.public_key.hex(), value))}


def verify_bundle(
    data: bytes,
    *,
    expected: tuple[str, bytes] | None = None,
    keys: tuple[str, ...] = (),
    neighbours: dict[str, str] | None = None,
) -> BundleReport:
    """Check a bundle by itself.

    `expected` is this installation's id and key; `keys` are others to trust, in hex, and `neighbours` those of the
    nodes that share its store, by their ids.
    """
    own = {} if expected is None else {expected[0]: expected[1].hex()}
    try:
        return _verify(data, (neighbours or {}) | own, tuple(key.lower() for key in keys))
    except _BrokenError as error:
        return BundleReport(ok=False, broken=str(error))


def _verify(data: bytes, nodes: dict[str, str], keys: tuple[str, ...]) -> BundleReport:
    bundle = _decode(data)
    signature = _convert(bundle.get("signature"), Signature, "signature")
    chain = _convert(bundle.get("chain"), Chain, "chain")
    unsigned = {name: value for name, value in bundle.items() if name != "signature"}
    if not is_signed(_hex(signature.key), _hex(signature.value), _signed_bytes(unsigned)):
        raise _BrokenError("it was changed after it was signed")
    runtime = bundle.get("runtime")
    if not isinstance(runtime, dict) or runtime.get("runtimeId") != signature.writer:
        raise _BrokenError("it does not say of itself that it is of the installation that its signature names")
    if nodes.get(signature.writer, signature.key) != signature.key:
        raise _BrokenError("it claims to be of an installation that is known here, and is signed by another key")
    known = signature.key in keys or signature.writer in nodes
    linked = _check_records(chain.records, bundle.get("sessionId"))
    sealed = _count_sealed(chain, signature, nodes)
    _check_timeline(bundle.get("timeline"), chain.records)
    return BundleReport(
        ok=known,
        records=len(chain.records),
        linked=linked,
        sealed=sealed,
        session=str(bundle.get("sessionId")),
        writer=signature.writer,
        key=signature.key,
        known=known,
        broken=None if known else "the key that signed it is not known here: compare it, and give it with --key",
    )


def _check_records(records: tuple[BundledRecord, ...], session: Any) -> int:
    heads: dict[str, BundledRecord] = {}
    linked, position = 0, 0
    for record in records:
        where = f"record {record.position}"
        if record.session != session or record.position <= position:
            raise _BrokenError(f"{where} is of another session, or out of order")
        if hash_row(_hex(record.previous), record.row).hex() != record.hash:
            raise _BrokenError(f"{where} was changed")
        before = heads.get(record.writer)
        if before is not None and before.seq + 1 == record.seq:
            if before.hash != record.previous:
                raise _BrokenError(f"{where} does not follow the one before it")
            linked += 1
        heads[record.writer], position = record, record.position
    return linked


def _count_sealed(chain: Chain, signature: Signature, nodes: dict[str, str]) -> int:
    """Check the seals of whoever signed the bundle and of known nodes, and count the signer's records before them."""
    known = nodes | {signature.writer: signature.key}
    by_hash = {(record.writer, record.seq): record.hash for record in chain.records}
    ends: dict[str, int] = {}
    for kept in chain.seals:
        if kept.writer not in known:
            continue
        if not kept.seal.is_genuine(_hex(known[kept.writer])):
            raise _BrokenError(f"the seal after record {kept.position} is wrong")
        if by_hash.get((kept.writer, kept.seq), kept.hash) != kept.hash:
            raise _BrokenError(f"the seal after record {kept.position} is of another log")
        ends[kept.writer] = kept.seq
    own = [record for record in chain.records if record.writer == signature.writer]
    sealed = sum(record.seq <= ends.get(record.writer, 0) for record in own)
    if sealed < len(own):
        raise _BrokenError(f"{len(own) - sealed} of its records are not sealed by the key that signed it")
    return sealed


def _check_timeline(timeline: Any, records: tuple[BundledRecord, ...]) -> None:
    """Hold what is told against what is on record: every record is told, and nothing else."""
    if not isinstance(timeline, list):
        raise _BrokenError("it has no timeline")
    told = {str(event.get("eventId", "")).removesuffix(".1") for event in timeline if isinstance(event, dict)}
    known = {_event_id(record) for record in records}
    if told != known:
        raise _BrokenError("its timeline is not that of its records")


def _event_id(record: BundledRecord) -> str:
    given = msgspec.json.decode(record.body).get("eventId")
    return given or f"evt_{record.writer}_{record.seq}"


def _signed_bytes(bundle: dict[str, Any]) -> bytes:
    return _DOMAIN + hashlib.sha256(canonical(bundle)).digest()


def _decode(data: bytes) -> dict[str, Any]:
    try:
        bundle = msgspec.json.decode(data)
        # Of a name that is there twice, one reader takes the first and another the last: who verified it is but one.
        json.loads(data, object_pairs_hook=_refuse_twins)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise _BrokenError("it is not JSON") from None
    if not isinstance(bundle, dict) or bundle.get("format") != FORMAT:
        raise _BrokenError(f"it is not a bundle of the format {FORMAT}")
    return bundle


def _refuse_twins(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) < len(pairs):
        raise _BrokenError("it says something twice, under the same name")


def _convert(value: Any, kind: type[Any], name: str) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _BrokenError(f"its {name} cannot be read: {error}") from None


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise _BrokenError("a hash or key in it is no hexadecimal number") from None
