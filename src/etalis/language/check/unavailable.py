"""Predicates of the manual (003, section 5.2) that programs cannot call here, with what to use instead.

A program is data from someone else, so files, processes and the network are the host's; what the original kept in its
database is the engine's own affair.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_FILES = "programs reach no files: the host calls etalis.compile_file(path), or `etalis run` is given the files"
_EXPLAIN = "use program.explain() or `etalis explain --code`"
_COLLECTED = "leave it out: what no later event can use is dropped as time passes"
_NETWORK = "the host opens connections and calls engine.push"
_INTERNAL = "leave it out: rules are compiled when an engine is made"

REFUSED_GOALS: Mapping[tuple[str, int], str] = MappingProxyType(
    {
        ("binarization", 2): _EXPLAIN,
        ("logging_binary_file", 2): _EXPLAIN,
        ("event2tr_transformation", 2): _EXPLAIN,
        ("logging_TR_file", 2): _EXPLAIN,
        ("compile_event_file", 1): _FILES,
        ("load_database", 1): "programs reach no files: the host calls program.load_facts(name, path)",
        ("execute_event_stream_file", 1): "programs reach no files: use `etalis run PROGRAM EVENTS`",
        ("compile_event_rules", 1): "insert rules one by one with ins_event_rule/1",
        ("fire_event_list_return_external_events", 2): "raise events with event/1; the host calls engine.run(events)",
        ("event_trigger", 1): "raise the event with event/1",
        ("set_etalis_flag", 2): "write `:- set_flag(Flag, Value).`, or give etalis.compile(text, Flag=Value)",
        ("get_etalis_flag", 2): "flags do not change while a program runs: they are those of its text, and the host's",
        ("start_garbage_collection", 0): _COLLECTED,
        ("general_garbage_collection", 0): _COLLECTED,
        ("pattern_garbage_collection", 0): _COLLECTED,
        ("check_event_rule_conditions_internal", 4): "properties are checked by themselves",
        ("log", 1): "write with writeln/1 or format/2",
        ("write_log", 2): "write with writeln/1 or format/2; the host says where that goes: engine(output=...)",
        ("create_server", 1): _NETWORK,
        ("dispatch", 1): _NETWORK,
        ("create_client", 2): _NETWORK,
        ("repeat_read", 2): _INTERNAL,
        ("parse_event_rules", 2): _INTERNAL,
        ("seeDB", 0): "the host asks engine.waiting()",
        ("etr_dbf", 2): _INTERNAL,
        ("etr_insrf", 2): _INTERNAL,
        ("etr_delf", 2): _INTERNAL,
        ("reset_ETALIS", 0): "the host makes a new engine: program.engine()",
        ("reset_etalis", 0): "the host makes a new engine: program.engine()",
        ("halt", 0): "programs end no process: the host closes the engine",
    }
)

_TIMES = "the times of a match are read behind `check`: a(X) check (t1(Start), t2(End))"
# Predicates of other languages that a host may give, with what there is here.
ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        "in": "write member(X, [1, 2, 3])",
        "contains": "write member(X, List), or sub_atom(Word, _, _, _, Part)",
        "startswith": "write sub_atom(Word, 0, _, _, Beginning)",
        "starts_with": "write sub_atom(Word, 0, _, _, Beginning)",
        "endswith": "write sub_atom(Word, _, _, 0, End)",
        "ends_with": "write sub_atom(Word, _, _, 0, End)",
        "like": "write sub_atom(Word, _, _, _, Part)",
        "now": _TIMES,
        "get_time": _TIMES,
        "current_time": _TIMES,
        "timestamp": _TIMES,
        ":": "types are declared: :- event(a(x: int)).",
        "is_null": "write X = null",
        "isnull": "write X = null",
        "exists": "write the goal alone; \\+ says that there is none",
        "raise": "an action raises an event by event(name(X))",
        "emit": "an action raises an event by event(name(X))",
        "fire": "an action raises an event by event(name(X))",
        "upper": "write upcase_atom(Word, Upper)",
        "lower": "write downcase_atom(Word, Lower)",
    }
)
