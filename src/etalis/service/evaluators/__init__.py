"""Who detects the parts of an expression that SNOOP-R does not: by the language of a part, a table of evaluators.

An evaluator is started with a leaf and emits bindings with a cursor; it is started anew with the last cursor after a
restart. Law: what it emits enters by the log, as signals do; what comes after its end is counted and dropped.
"""
