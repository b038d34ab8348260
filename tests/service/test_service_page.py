"""The page of the service (docs/service.md): its lines of curl are run, its tables are those of the source."""

from __future__ import annotations

import asyncio
import re
import runpy
from pathlib import Path

from etalis.cli import load_command
from etalis.service.host import EngineSpec, ServedProgram, Service
from etalis.service.http.routes import ENDPOINTS
from etalis.service.intake.bodies import READERS
from etalis.service.problems import DoorError
from helpers.curl import agrees, answer, commands, read_command
from helpers.service import URL, served

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "service.md").read_text(encoding="utf-8")
FRAUD = ROOT / "examples" / "fraud" / "fraud.etalis"


def test_every_line_of_curl_answers_what_the_page_says() -> None:
    async def run() -> None:
        program = ServedProgram(EngineSpec(program=FRAUD.read_text(encoding="utf-8"), name="fraud"))
        service = Service(public_url=URL, programs=[program])
        async with served(service) as client:
            for command, wanted in commands(PAGE):
                found = await answer(read_command(command, ROOT), client, service, wanted)
                assert agrees(found, wanted), f"{command}\n{found}"

    asyncio.run(run())


def test_every_route_is_shown_by_a_line_of_curl() -> None:
    asked = [read_command(command, ROOT) for command, _ in commands(PAGE)]
    for endpoint in ENDPOINTS:
        pattern = re.sub(r"{\w+}", "[^/?]+", endpoint.path) + r"(\?.*)?"
        shown = any(one.method == endpoint.method and re.fullmatch(pattern, one.path) for one in asked)
        assert shown, f"{endpoint.method} {endpoint.path}"


def test_the_table_of_routes_is_that_of_the_source() -> None:
    fill = runpy.run_path(str(ROOT / "docs" / "generate.py"))["fill"]
    assert fill(PAGE) == PAGE, "run python docs/generate.py"


def test_options_and_content_types_are_told() -> None:
    command = load_command("serve")
    named = {name for option in command.params for name in option.opts if name.startswith("--")}
    told = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE))
    assert named - {"--help"} <= told
    assert all(f"`{media}`" in PAGE for media in READERS)


def test_agreement_is_exact_but_for_what_is_left_out() -> None:
    assert agrees('{"a": [1, 2]}', '{"a":[1,2]}')
    assert not agrees('{"a": [1, 2]}', '{"a":[1,3]}')
    assert agrees('{"a": [1, 2], "b": 3}', '{"a":[1,...],"b":3}')
    assert not agrees('{"a": [1, 2], "b": 4}', '{"a":[1,...],"b":3}')


def test_the_container_is_built_from_locks_alone() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    installs = [line for line in lines if "pip install" in line]
    assert len(installs) == 1
    locks = re.findall(r"-r (\S+)", installs[0])
    assert locks == ["requirements/core.lock", "requirements/service.lock"]
    for line in (line for line in lines if line.startswith("COPY")):
        assert all((ROOT / name).exists() for name in line.split()[1:-1]), line
    for lock in locks:
        pins = [pin for pin in (ROOT / lock).read_text().splitlines() if pin and not pin.startswith("#")]
        assert all("==" in pin for pin in pins)
    assert not re.search(r"https?://(?!127\.0\.0\.1)|\w+\.\w+/\w+/", text)
    start = next(line for line in lines if line.startswith("ENTRYPOINT"))
    given = re.findall(r'"(--[\w-]+)"', start)
    known = {name for option in load_command("serve").params for name in option.opts}
    assert {*given} <= known
    assert "--tokens" in given
    assert "USER 10001" in lines


def test_refusals_have_their_statuses() -> None:
    statuses = {kind.__name__: int(kind.status) for kind in DoorError.__subclasses__()}
    assert len({*statuses.values()}) == len(statuses)
    assert {400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 429, 503} == {*statuses.values()}
