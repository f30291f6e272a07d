"""One module per agent parses its hook's input and renders the answer. No I/O."""
