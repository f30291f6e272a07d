"""The guarded tools of runs: their inputs, and what they do once allowed."""
