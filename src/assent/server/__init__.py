"""The daemon: one module per dialect, in front of one `Decisions`. A dialect translates; it decides nothing itself."""
