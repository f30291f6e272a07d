"""The steps by which the tables came to be; each is run once, in order."""
