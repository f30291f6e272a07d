"""Agents' own words: one module each reads what an agent's hook sends and writes the answer it understands.

They are pure: text in, records out, and back.
"""
