"""The log, and the hints by which processes wake each other."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_COUNTER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "events",
        sa.Column("position", _COUNTER, primary_key=True, autoincrement=False),
        sa.Column("writer", sa.Text, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("prev", sa.LargeBinary, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        *(sa.Column(n, sa.Text, nullable=False) for n in ("type", "session_id", "user_id", "agent_id", "tool")),
        *(sa.Column(n, sa.Text, nullable=False) for n in ("tier", "verdict", "source", "digest")),
        sa.Column("approval", sa.Text),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
    )
    op.create_index("events_by_session", "events", ["session_id", "position"])
    named = sa.text("approval IS NOT NULL")
    op.create_index("events_by_approval", "events", ["approval"], sqlite_where=named, postgresql_where=named)
    op.create_table(
        "heads",
        sa.Column("writer", sa.Text, primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.Column("key", sa.LargeBinary, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
    )
    op.create_table(
        "checkpoints",
        sa.Column("writer", sa.Text, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("signature", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "changes",
        sa.Column("id", _COUNTER, primary_key=True, autoincrement=True),
        sa.Column("origin", sa.Text, nullable=False),
        sa.Column("topic", sa.Text, nullable=False),
        sa.Column("ref", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
