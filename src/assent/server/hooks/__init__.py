"""Hooks of agents over HTTP: the call they announce, and the answer they get."""
