"""HTTP itself: routes, requests, replies, errors, streams, origins."""
