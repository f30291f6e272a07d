"""Runs: tools that the daemon executes for agents, each call decided by the guard of its tool."""
