"""Rules, layers, modes and guards: from a reading to a decision."""
