"""What the daemon remembers in memory between requests. The store has everything that must last."""
