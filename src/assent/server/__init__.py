"""The daemon: one module per dialect, in front of one gate. A dialect translates; it decides nothing itself."""
