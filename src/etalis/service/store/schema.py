"""The tables of a data folder, and their version."""

FORMAT = 1
FILE = "etalis.sqlite"

TABLES = {
    "etalis_service": "format INTEGER NOT NULL, mark INTEGER NOT NULL",  # entries up to the mark are in snapshots
    "log": (
        "number INTEGER PRIMARY KEY, actor TEXT NOT NULL, kind TEXT NOT NULL, stamp INTEGER NOT NULL,"
        " request TEXT, body BLOB NOT NULL"
    ),
    "states": "actor TEXT PRIMARY KEY, body BLOB NOT NULL",  # what the units of an actor share, as of the mark
    "snapshots": "unit TEXT PRIMARY KEY, number INTEGER NOT NULL, body BLOB NOT NULL",
    "results": (
        "unit TEXT NOT NULL, number INTEGER NOT NULL, at REAL NOT NULL, body BLOB NOT NULL, PRIMARY KEY (unit, number)"
    ),
    "deliveries": "unit TEXT PRIMARY KEY, number INTEGER NOT NULL",
    "dead_letters": "unit TEXT NOT NULL, number INTEGER NOT NULL, why TEXT NOT NULL, PRIMARY KEY (unit, number)",
    "answers": (
        "client TEXT NOT NULL, key TEXT NOT NULL, at REAL NOT NULL, status INTEGER NOT NULL, headers TEXT NOT NULL,"
        " request BLOB NOT NULL, body BLOB NOT NULL, PRIMARY KEY (client, key)"
    ),
    "seen": "id TEXT PRIMARY KEY, number INTEGER NOT NULL, at REAL NOT NULL",
}
INDEXES = {"seen_by_number": "seen (number)", "answers_by_time": "answers (at)"}
OF_A_UNIT = ("snapshots", "results", "deliveries", "dead_letters")
