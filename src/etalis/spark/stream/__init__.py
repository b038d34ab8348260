"""Streams on Spark: which rows are taken and when, what cannot be, how a query ends and goes on."""
