"""``clfrnn tune``: the command, and what it prints."""
