"""Sources and sinks of pipelines."""
