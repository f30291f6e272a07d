"""One module per command of `assent`, loaded when it is called."""
