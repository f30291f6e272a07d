"""From a tool call to what it would do, without doing it."""
