"""The console: events, goals, rules and questions typed in, over an engine in the process or one of a service.

`workspace` is the program with its engine, `local` what is done with a clause, `commands` the table of commands, from
which help, completion and dispatch come. `terminal` reads with history, completion and colours where somebody types,
`plain` reads lines where nobody does; `remote` sends the clauses to a service.
"""
