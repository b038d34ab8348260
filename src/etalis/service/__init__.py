"""The engine as a service: engines as resources over HTTP, their matches as streams (`etalis[service]`).

`host.Service` holds engines and is what every door works on; one `Worker` thread runs all of them, a piece at a time,
while the event loop reads and writes. `http` has the routes. Law: what is answered has been detected; numbers of
matches are the same at every door.
"""
