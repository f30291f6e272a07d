"""Who is behind a request: principals, tokens, rate limits."""
