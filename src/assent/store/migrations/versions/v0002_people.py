"""What people are asked, what they say, and who they are: approvals, grants, enablements, tokens."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables."""
    _approvals()
    _standing()
    _tokens()


def _approvals() -> None:
    op.create_table(
        "approvals",
        sa.Column("id", sa.Text, primary_key=True),
        *(sa.Column(n, sa.Text, nullable=False) for n in ("state", "kind", "user_id", "agent_id")),
        sa.Column("session", sa.LargeBinary, nullable=False),
        sa.Column("call", sa.LargeBinary),
        sa.Column("call_id", sa.Text),
        *(sa.Column(n, sa.Text, nullable=False) for n in ("tool", "digest", "tier", "reason", "summary")),
        sa.Column("decision", sa.LargeBinary),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("resolved_at", sa.Double),
        sa.Column("resolved_by", sa.Text),
        sa.Column("answer", sa.LargeBinary),
        sa.Column("used_at", sa.Double),
        sa.Column("caller_gone", sa.Boolean, nullable=False),
    )
    pending = sa.text("state = 'pending'")
    op.create_index("approvals_by_digest", "approvals", ["digest"])
    op.create_index("approvals_pending", "approvals", ["expires_at"], sqlite_where=pending, postgresql_where=pending)
    op.create_index("approvals_by_user", "approvals", ["user_id", "created_at", "id"])
    op.create_index("approvals_by_time", "approvals", ["created_at", "id"])


def _standing() -> None:
    op.create_table(
        "grants",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("user_id", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double),
        sa.Column("revoked_at", sa.Double),
        sa.Column("approval", sa.Text),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    standing = sa.text("revoked_at IS NULL")
    op.create_index("grants_standing", "grants", ["created_at"], sqlite_where=standing, postgresql_where=standing)
    op.create_table(
        "enablements",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("user_id", sa.Text, nullable=False),
        *(sa.Column(n, sa.Text) for n in ("agent_id", "session_id", "digest")),
        sa.Column("until", sa.Double, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("used_at", sa.Double),
        sa.Column("revoked_at", sa.Double),
    )
    op.create_index("enablements_by_end", "enablements", ["until"])


def _tokens() -> None:
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("hash", sa.LargeBinary, nullable=False, unique=True),
        *(sa.Column(n, sa.Text, nullable=False) for n in ("kind", "role", "user_id")),
        sa.Column("agent_id", sa.Text),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("remote", sa.Boolean, nullable=False),
        sa.Column("interactive", sa.Boolean),
        sa.Column("workspace", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double),
        sa.Column("revoked_at", sa.Double),
        sa.Column("used_at", sa.Double),
    )
