"""One command against its catalog entry: options, clauses, tier, impact, and what it wraps."""
