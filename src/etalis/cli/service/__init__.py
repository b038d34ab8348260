"""Commands of the service and of its clients: serve, shell, send."""
