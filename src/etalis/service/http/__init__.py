"""HTTP: one table of routes, from which the router, `/openapi.json` and the table of docs/service.md are made.

`routes` has the table, `app` admits and answers requests, `engine_calls` and others beside it do what a route says.
"""
