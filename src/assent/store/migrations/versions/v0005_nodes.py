"""Daemons that share a store: until when each is known to live, and which run a token is of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_ACTIVE = sa.text("status IN ('pending', 'running')")


def upgrade() -> None:
    """Make the table, the column, and the way to runs that are not over."""
    op.create_table(
        "nodes",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("until", sa.Double, nullable=False),
    )
    op.add_column("tokens", sa.Column("run", sa.Text))
    op.create_index("runs_active", "runs", ["node"], sqlite_where=_ACTIVE, postgresql_where=_ACTIVE)
