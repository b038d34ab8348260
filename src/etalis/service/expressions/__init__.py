"""Expressions of SNOOP-R as resources: registered, signalled, told of, over HTTP and in the lines session.

`Expressions` is the state of all of them, a function of the operations that the log has; `SnoopService` is what doors
work on: it writes operations, has them done in order, and starts evaluators and callbacks.
"""
