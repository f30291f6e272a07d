"""The run protocol: its messages, and how frames are parsed."""
