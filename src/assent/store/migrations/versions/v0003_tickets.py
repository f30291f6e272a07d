"""Tickets: decided lines that may run once, inside their boundary."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "tickets",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("created_at", sa.Double, nullable=False),
        sa.Column("expires_at", sa.Double, nullable=False),
        sa.Column("used_at", sa.Double),
        sa.Column("ended_at", sa.Double),
        sa.Column("call", sa.LargeBinary),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("stopped", sa.LargeBinary),
    )
    op.create_index("tickets_by_digest", "tickets", ["digest"])
    op.create_index("tickets_by_end", "tickets", ["expires_at"])
