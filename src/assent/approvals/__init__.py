"""Pending questions, their answers, and what answers leave behind: grants and enablements."""
