"""Authentication: principals, tokens, rate limits."""
