"""``clfrnn verify``: its command, the matrix of all searches as a table, and as a report for programs."""
