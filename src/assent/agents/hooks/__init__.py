"""One module per agent reads what its hook sends and writes the answer that it understands. No I/O."""
