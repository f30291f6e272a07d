"""What answers leave behind: grants, what they are bound to, and what relies on them."""
