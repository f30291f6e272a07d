"""Where everything lasting is kept: SQLite in the process, or PostgreSQL for many nodes."""

from assent.store.cursor import Cursor
from assent.store.store import Store, open_store
from assent.store.watcher import Subscriber

__all__ = ["Cursor", "Store", "Subscriber", "open_store"]
