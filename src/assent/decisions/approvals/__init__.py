"""Questions to people: opened, answered, expired, waited for."""
