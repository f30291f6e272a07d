"""Structured tools: their names, their input fields, and the operations that they stand for."""
