"""HTTP: routes, requests, responses, errors, origins, connections."""
