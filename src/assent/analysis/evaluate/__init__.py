"""A syntax tree to the simple commands that it runs, in order, with their words expanded."""
