"""`/api/runtime`: facts and events in the runtime protocol."""
