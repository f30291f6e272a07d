"""Rules: parsed, indexed, matched against operations, compared and described."""
