"""Files and surroundings → policies and facts. What can not be read for sure is a `ConfigError`."""
