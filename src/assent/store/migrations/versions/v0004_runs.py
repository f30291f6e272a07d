"""Runs of the daemon's own: what was started, by whom, and how it ended."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "runs",
        sa.Column("id", sa.Text, primary_key=True),
        *(sa.Column(n, sa.Text, nullable=False) for n in ("user_id", "node", "status", "strategy", "path", "cwd")),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("started_at", sa.Double),
        sa.Column("ended_at", sa.Double),
        sa.Column("reason", sa.Text),
    )
    op.create_index("runs_by_time", "runs", ["created_at", "id"])
