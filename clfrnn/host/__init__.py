"""The host: the process that uses OpenCL, the threads that share a session, and memory that both have left."""
