"""Keep a boundary in force while files outside are replaced."""
