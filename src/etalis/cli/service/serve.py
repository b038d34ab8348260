"""`etalis serve`: engines behind HTTP, until a signal ends it."""

from __future__ import annotations

import re
import warnings
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from etalis.cli.common import count, one_of, read_program, reporting
from etalis.errors import InputError, Problem, ProgramWarning
from etalis.language.flags import SERVICE_MAX_STEPS

if TYPE_CHECKING:
    from etalis.service.expressions.opening import SnoopOptions
    from etalis.service.host import ServedProgram
    from etalis.service.limits import ServiceLimits

PORT = 8123
QUERIES = (".rq", ".epsparql", ".sparql")
_MEGABYTE = 1024 * 1024
_HOUR = 3600.0

Programs = Annotated[
    list[Path] | None, typer.Argument(help="Programs that are engines from the start.", exists=True, dir_okay=False)
]
Host = Annotated[str, typer.Option(help="Address to listen on; others than this machine's own need --tokens.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")]
TcpPort = Annotated[
    int | None, typer.Option(min=0, max=65535, help="Port for lines, terms or JSON; 0 takes a free one.")
]
TokensPath = Annotated[
    Path | None, typer.Option("--tokens", help="File of clients: name token scopes [secret] in each line.")
]
PublicUrl = Annotated[str | None, typer.Option(help="The address by which clients reach the service.")]
Time = Annotated[
    str | None,
    one_of(("events", "clock"), "Whose time counts; else that of events for engines, the clock for expressions."),
]
Data = Annotated[Path | None, typer.Option(help="Folder in which all is kept; without one, nothing is written.")]
Hosts = Annotated[list[str] | None, typer.Option(help="Host that may be called: client.example or *.client.example.")]
PlainHosts = Annotated[list[str] | None, typer.Option(help="Host that may be called without TLS too.")]
Networks = Annotated[
    list[str] | None, typer.Option(help="Network of allowed hosts beside public addresses: 10.0.0.0/8.")
]
ProvidersPath = Annotated[
    Path | None, typer.Option("--providers", help="File of evaluators: language push|URL [client] in each line.")
]
CallbackSecret = Annotated[
    Path | None, typer.Option(help="File with the secret that signs callbacks where there are no tokens.", exists=True)
]
Lateness = Annotated[float, typer.Option(min=0, help="Seconds by which signals may be late, in the time of events.")]
Certificate = Annotated[Path | None, typer.Option("--cert", help="Certificate for TLS, with --key.", exists=True)]
Key = Annotated[Path | None, typer.Option("--key", help="Private key of the certificate.", exists=True)]


def serve(
    programs: Programs = None,
    *,
    host: Host = "127.0.0.1",
    port: Port = PORT,
    tcp: TcpPort = None,
    tokens: TokensPath = None,
    public_url: PublicUrl = None,
    time: Time = None,
    data: Data = None,
    allow_host: Hosts = None,
    allow_http_host: PlainHosts = None,
    allow_network: Networks = None,
    providers: ProvidersPath = None,
    callback_secret: CallbackSecret = None,
    lateness: Lateness = 0.0,
    max_expressions: Annotated[int, typer.Option(min=1, help="Expressions of a client.")] = 1_000,
    cert: Certificate = None,
    key: Key = None,
    max_engines: Annotated[int, typer.Option(min=1, help="Engines of a client.")] = 20,
    max_streams: Annotated[int, typer.Option(min=1, help="Streams that a client reads at once.")] = 50,
    max_body: Annotated[float, typer.Option(min=0.001, help="Megabytes of a body.")] = 16.0,
    max_line: Annotated[float, typer.Option(min=0.001, help="Megabytes of a line in it.")] = 1.0,
    max_program: Annotated[int, typer.Option(min=1, help="Characters of a program.")] = 64 * 1024,
    max_depth: Annotated[int, typer.Option(min=1, max=500, help="Levels of JSON.")] = 100,
    rate: Annotated[float, typer.Option(min=0.001, help="Requests of a client per second.")] = 5_000.0,
    burst: Annotated[float, typer.Option(min=1, help="Requests of a client that may come at once.")] = 10_000.0,
    queue_requests: Annotated[int, typer.Option(min=1, help="Requests that may wait for an engine.")] = 1_000,
    queue_events: Annotated[int, typer.Option(min=1, help="Events that may wait for an engine.")] = 100_000,
    keep: Annotated[int, typer.Option(min=1, help="Matches of an engine that are kept.")] = 10_000,
    keep_hours: Annotated[float, typer.Option(min=0.001, help="Hours for which they are kept.")] = 24.0,
    max_behind: Annotated[int, typer.Option(min=1, help="Matches by which a reader may be behind.")] = 1_000,
    scratch_minutes: Annotated[float, typer.Option(min=0.001, help="Idle minutes of a scratch engine.")] = 10.0,
    max_instances: Annotated[int, typer.Option(min=1, help="Instances that an engine may hold.")] = 1_000_000,
    max_derivations: Annotated[int, typer.Option(min=1, help="Events that one event may cause.")] = 100_000,
    goal_steps: Annotated[int, typer.Option(min=1, help="Steps that a goal may take.")] = SERVICE_MAX_STEPS,
) -> None:
    """Serve engines over HTTP: programs in, events in, matches out."""
    with reporting():
        if (cert is None) != (key is None):
            raise typer.BadParameter("--cert and --key stand together", param_hint="--cert")
        _need_extra()
        from etalis.service.limits import ServiceLimits

        limits = ServiceLimits(
            engines=max_engines, streams=max_streams, body=int(max_body * _MEGABYTE), line=int(max_line * _MEGABYTE),
            program=max_program, depth=max_depth, rate=rate, burst=burst, queue_requests=queue_requests,
            queue_events=queue_events, kept=keep, kept_seconds=keep_hours * _HOUR, behind=max_behind,
            scratch_seconds=scratch_minutes * 60, goal_steps=goal_steps,
            instances=max_instances, derivations=max_derivations,
        )  # fmt: skip
        snoop = _snoop(
            time or "clock", lateness, max_expressions, limits, (allow_host, allow_http_host, allow_network), providers,
            callback_secret,
        )  # fmt: skip
        served = [_read(path) for path in programs or ()]
        names = [program.spec.name for program in served]
        if len({*names}) < len(names):
            raise typer.BadParameter("two programs have one name: rename a file", param_hint="PROGRAMS")
        _run(served, limits, snoop, host, (port, tcp), tokens, public_url, time or "events", data, cert, key)


def _snoop(
    time: str, lateness: float, most: int, limits: ServiceLimits, allowed: tuple[list[str] | None, ...],
    providers: Path | None, secret: Path | None,
) -> SnoopOptions:  # fmt: skip
    """Return what is said of expressions."""
    from etalis.service.evaluators.table import read_providers
    from etalis.service.expressions.opening import SnoopOptions
    from etalis.service.expressions.snoop_service import SnoopSettings
    from etalis.service.outbound.addresses import AddressRules

    hosts, plain, networks = (tuple(each or ()) for each in allowed)
    AddressRules(hosts, plain, networks)
    settings = SnoopSettings(
        time=time, lateness=round(lateness * 1_000_000), expressions=most, kept=limits.kept,
        kept_seconds=limits.kept_seconds,
    )  # fmt: skip
    return SnoopOptions(
        settings=settings, hosts=hosts, plain_hosts=plain, networks=networks,
        providers=() if providers is None else tuple(read_providers(providers)),
        callback_secret=None if secret is None else secret.read_text(encoding="utf-8").strip(),
    )  # fmt: skip


def _need_extra() -> None:
    """Refuse to serve without what the service is made of."""
    try:
        import_module("etalis.service.http.server")
        import_module("etalis.service.http.app")
    except ModuleNotFoundError as error:
        hint = 'pip install "etalis[service]"'
        message = f"the service needs {error.name}, which is not installed"
        raise InputError(Problem("E412", message, hint=hint)) from None


def _read(path: Path) -> ServedProgram:
    """Return a program of a file, which is named as the file is; one with errors is refused before anything starts."""
    from etalis.language.read.imports import read_below
    from etalis.service.host import EngineSpec, ServedProgram
    from etalis.service.programs import compile_program

    text = read_program(path)
    language = "ep-sparql" if path.suffix in QUERIES else "rules"
    reader = read_below(path.parent)
    compile_program(text, language, name=str(path), read=reader)
    return ServedProgram(EngineSpec(program=text, name=_engine_name(path), language=language), reader)


def _engine_name(path: Path) -> str:
    """Return what the engine of a file is called.

    >>> _engine_name(Path("rules/card fraud.etalis"))
    'card-fraud'
    """
    return re.sub(r"[^A-Za-z0-9_.]+", "-", path.stem).strip("-_.")[:64] or "engine"


def _run(
    served: list[ServedProgram], limits: ServiceLimits, snoop: SnoopOptions, host: str, ports: tuple[int, int | None],
    tokens: Path | None, public_url: str | None, time: str, data: Path | None, cert: Path | None, key: Path | None,
) -> None:  # fmt: skip
    """Listen, and answer until a signal comes."""
    from etalis.service.access import TokenFile, is_loopback
    from etalis.service.host import Service
    from etalis.service.http import server
    from etalis.service.http.app import make_app

    if tokens is None and not is_loopback(host):
        hint = "give --tokens FILE, or listen on this machine alone: --host 127.0.0.1"
        raise InputError(Problem("E835", f"without tokens the service does not listen on {host}", hint=hint))
    known = None if tokens is None else TokenFile(tokens)
    port, tcp = ports
    with ExitStack() as opened, server.quick_switches(), warnings.catch_warnings():
        listening = opened.enter_context(server.bind(host, port))
        lines = None if tcp is None else opened.enter_context(server.bind(host, tcp))
        warnings.simplefilter("ignore", ProgramWarning)
        shown = f"[{host}]" if ":" in host else host
        address = f"{'http' if cert is None else 'https'}://{shown}:{listening.getsockname()[1]}"
        service = Service(
            limits=limits, time=time, public_url=public_url or address, tokens=known, programs=served, data=data,
            snoop=snoop,
        )  # fmt: skip
        sessions = "" if lines is None else f" and tcp://{shown}:{lines.getsockname()[1]}"
        said = f"etalis serves {count(len(served), 'engine')} at {address}{sessions}; Ctrl-C ends it"
        server.serve(
            make_app(service, lines=lines), service, listening, certificate=cert, key=key,
            ready=lambda: print(said, flush=True),
        )  # fmt: skip
        print("the service has ended", flush=True)
