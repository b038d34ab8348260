"""A server of PostgreSQL of the tests' own: in a folder that goes with it, on a socket, by an unprivileged user."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DEBIAN = Path("/usr/lib/postgresql")
SETTINGS = ("listen_addresses=''", "fsync=off", "max_connections=40", "shared_buffers=32MB")


def find_programs() -> Path | None:
    """Return where `initdb` and `pg_ctl` are, as `run.py` looks for them."""
    if (found := shutil.which("postgres")) and shutil.which("initdb"):
        return Path(found).resolve().parent
    several = {float(path.parts[-3]): path.parent for path in DEBIAN.glob("*/bin/postgres")}
    return several[max(several)] if several else None


def unprivileged() -> str | None:
    """Return the user that runs the server; None for the one that runs the tests."""
    if os.geteuid() != 0:
        return None
    known = {user.pw_name for user in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)


@contextmanager
def server(programs: Path) -> Iterator[str]:
    """Start a server; yield its address."""
    user = unprivileged()
    with tempfile.TemporaryDirectory(prefix="etalis") as name:
        folder = Path(name)
        if user is not None:
            shutil.chown(folder, user)
        data, log = folder / "data", folder / "log"

        def run(program: str, *options: str) -> None:
            command = [str(programs / program), "-D", str(data), *options]
            done = subprocess.run(
                command, cwd=folder, user=user, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, text=True, check=False, env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            )  # fmt: skip
            assert done.returncode == 0, f"{program}: {done.stderr}{log.read_text() if log.exists() else ''}"

        run("initdb", "--username=etalis", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
        settings = " ".join(f"-c {setting}" for setting in SETTINGS)
        run("pg_ctl", "start", "--wait", f"--log={log}", f"--options=-k {folder} {settings}")
        try:
            yield f"postgresql://etalis@/postgres?host={folder}"
        finally:
            run("pg_ctl", "stop", "--wait", "--mode=immediate")
