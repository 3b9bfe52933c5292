"""Single questions about speed, and what the other folders share: clouds, clocks and tables."""
