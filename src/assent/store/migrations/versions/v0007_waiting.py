"""How much waits of each agent, found at once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_WAITS = sa.text("state = 'pending'")


def upgrade() -> None:
    """Make the way to it."""
    named = ("approvals_waiting", "approvals", ["user_id", "agent_id"])
    op.create_index(*named, sqlite_where=_WAITS, postgresql_where=_WAITS)
