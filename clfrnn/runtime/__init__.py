"""One device at work: its queue, memory, compiled programs and launches."""
