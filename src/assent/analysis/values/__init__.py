"""What a word or a variable may be while a line runs."""
