"""The agents that Assent is wired into: what their hooks say, and how they are connected."""
