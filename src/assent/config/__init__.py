"""`assent.yaml`, `agentrail.yaml`, settings, layers and trust. What cannot be read for sure is a `ConfigError`."""
