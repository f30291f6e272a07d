"""Where the steps are run: on the connection that the store opened, in its transaction."""

from __future__ import annotations

from alembic import context

from assent.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
