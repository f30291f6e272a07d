"""The tables, once for both engines. The migrations make them; a test holds the two together."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    text,
)

metadata = MetaData()

# SQLite counts by itself only in a column of exactly this type.
_Counter = BigInteger().with_variant(Integer(), "sqlite")

events = Table(
    "events",
    metadata,
    Column("position", _Counter, primary_key=True, autoincrement=False),
    Column("writer", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("at", Double, nullable=False),
    Column("type", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("agent_id", Text, nullable=False),
    Column("tool", Text, nullable=False),
    Column("tier", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("approval", Text),
    Column("text", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Index("events_by_session", "session_id", "position"),
    Index(
        "events_by_approval",
        "approval",
        sqlite_where=text("approval IS NOT NULL"),
        postgresql_where=text("approval IS NOT NULL"),
    ),
)

heads = Table(
    "heads",
    metadata,
    Column("writer", Text, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("key", LargeBinary, nullable=False),
    Column("created_at", Double, nullable=False),
)

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("writer", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("at", Double, nullable=False),
    Column("signature", LargeBinary, nullable=False),
    Column("number", BigInteger),
    Column("previous", LargeBinary),
)

changes = Table(
    "changes",
    metadata,
    Column("id", _Counter, primary_key=True, autoincrement=True),
    Column("origin", Text, nullable=False),
    Column("topic", Text, nullable=False),
    Column("ref", Text, nullable=False),
    sqlite_autoincrement=True,
)

approvals = Table(
    "approvals",
    metadata,
    Column("id", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("agent_id", Text, nullable=False),
    Column("session", LargeBinary, nullable=False),
    Column("call", LargeBinary),
    Column("call_id", Text),
    Column("tool", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("tier", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("summary", Text, nullable=False),
    Column("decision", LargeBinary),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("resolved_at", Double),
    Column("resolved_by", Text),
    Column("answer", LargeBinary),
    Column("used_at", Double),
    Column("caller_gone", Boolean, nullable=False),
    Index("approvals_by_digest", "digest"),
    Index(
        "approvals_pending",
        "expires_at",
        sqlite_where=text("state = 'pending'"),
        postgresql_where=text("state = 'pending'"),
    ),
    Index(
        "approvals_waiting",
        "user_id",
        "agent_id",
        sqlite_where=text("state = 'pending'"),
        postgresql_where=text("state = 'pending'"),
    ),
    Index("approvals_by_user", "user_id", "created_at", "id"),
    Index("approvals_by_time", "created_at", "id"),
)

grants = Table(
    "grants",
    metadata,
    Column("id", Text, primary_key=True),
    Column("user_id", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("revoked_at", Double),
    Column("approval", Text),
    Column("body", LargeBinary, nullable=False),
    Index(
        "grants_standing",
        "created_at",
        sqlite_where=text("revoked_at IS NULL"),
        postgresql_where=text("revoked_at IS NULL"),
    ),
)

enablements = Table(
    "enablements",
    metadata,
    Column("id", Text, primary_key=True),
    Column("user_id", Text, nullable=False),
    Column("agent_id", Text),
    Column("session_id", Text),
    Column("digest", Text),
    Column("until", Double, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("used_at", Double),
    Column("revoked_at", Double),
    Index("enablements_by_end", "until"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("user_id", Text, nullable=False),
    Column("node", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("strategy", Text, nullable=False),
    Column("path", Text, nullable=False),
    Column("cwd", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("started_at", Double),
    Column("ended_at", Double),
    Column("reason", Text),
    Index("runs_by_time", "created_at", "id"),
    Index(
        "runs_active",
        "node",
        sqlite_where=text("status IN ('pending', 'running')"),
        postgresql_where=text("status IN ('pending', 'running')"),
    ),
)

nodes = Table(
    "nodes",
    metadata,
    Column("id", Text, primary_key=True),
    Column("until", Double, nullable=False),
)

tickets = Table(
    "tickets",
    metadata,
    Column("id", Text, primary_key=True),
    Column("digest", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("used_at", Double),
    Column("ended_at", Double),
    Column("call", LargeBinary),
    Column("body", LargeBinary, nullable=False),
    Column("stopped", LargeBinary),
    Index("tickets_by_digest", "digest"),
    Index("tickets_by_end", "expires_at"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("hash", LargeBinary, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("user_id", Text, nullable=False),
    Column("agent_id", Text),
    Column("label", Text, nullable=False),
    Column("remote", Boolean, nullable=False),
    Column("interactive", Boolean),
    Column("workspace", Text, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("expires_at", Double),
    Column("revoked_at", Double),
    Column("used_at", Double),
    Column("run", Text),
)
