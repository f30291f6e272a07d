"""Tools of a Python agent: their schema, their input, and the callbacks around them."""
