"""Seals that count themselves and follow each other. Those of earlier versions stay as they are, without a number."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("checkpoints", sa.Column("number", sa.BigInteger))
    op.add_column("checkpoints", sa.Column("previous", sa.LargeBinary))
