"""Lines: a session of terms or of JSON texts over one connection, the same over TCP and WebSocket.

`requests` cuts bytes into requests, `verbs` is the table of what can be asked, `dialects` how answers are written,
`session` answers in order and sends matches behind what caused them. `tcp` and `websocket` carry it (003, section 5.2,
item 13: create_server, dispatch; the original read one term per connection).
"""
