"""The log: append-only, chained by hashes, sealed by signatures."""

from assent.audit.log import Log
from assent.audit.search import Page, Query, Record, search
from assent.audit.verify import Report, verify_log

__all__ = ["Log", "Page", "Query", "Record", "Report", "search", "verify_log"]
