"""The host: the process that uses OpenCL, the threads that take turns on a session, and memory that both have left."""
