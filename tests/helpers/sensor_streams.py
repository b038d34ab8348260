"""Streams of sensors, of the shape that benchmarks of RDF stream engines have: weather stations, and a city.

A reading is one element: an observation with its sensor, its property and a result. What is fixed is background: where
stations are and of which kind; which road a sensor watches, where roads and car parks lie, what is on in the city. All
of it is drawn from a seed, on a clock of minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

SPACE = "http://sensors.example/"
PREFIXES = f"""@prefix : <{SPACE}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
MINUTE = 60
WEATHER, TRAFFIC, PARKING, PEOPLE, AIR = (
    f"{SPACE}{name}" for name in ("weather", "traffic", "parking", "people", "air")
)


@dataclass(frozen=True, slots=True)
class SensorReading:
    """An element of a stream: when, which stream, and its triples as Turtle."""

    at: int
    stream: str
    turtle: str


@dataclass(frozen=True, slots=True)
class SensorWorld:
    """The readings of sensors in their order, and what is known besides, as Turtle."""

    readings: tuple[SensorReading, ...]
    background: str


def observation(number: int, kind: str, sensor: str, value: object, unit: str | None = None) -> str:
    """Return a reading in the form of the sensor ontologies: the result is a node of its own."""
    told = f" ; :unit :{unit}" if unit is not None else ""
    return f":o{number} a :{kind} ; :by :{sensor} ; :result [ :value {value}{told} ] ."


KINDS = {"Rain": ("mm", 0, 40), "Snow": ("mm", 0, 40), "Wind": ("kmh", 0, 150), "Heat": ("celsius", -5, 40)}


def weather(seed: int, minutes: int = 120) -> SensorWorld:
    """Draw weather stations: each tells one of its properties every few minutes, some with a unit, some fall silent."""
    rng = Random(seed)
    stations = [f"st{i}" for i in range(5)]
    known = [
        ":Rain rdfs:subClassOf :Precipitation . :Snow rdfs:subClassOf :Precipitation .",
        ":Precipitation rdfs:subClassOf :Observation . :Wind rdfs:subClassOf :Observation .",
        ":Heat rdfs:subClassOf :Observation .",
    ]
    for i, station in enumerate(stations):
        known.append(f":{station} :near :town{i % 3} ; :height {i * 250} .")
    known += [f':town{i} :people {people} ; :name "Town {i}" .' for i, people in enumerate((200_000, 9_000, 45_000))]
    readings = []
    for at in range(1, minutes):
        for station in stations:
            is_silent = station == "st4" and at > minutes // 2
            if rng.random() < 0.15 and not is_silent:
                kind = rng.choice(tuple(KINDS))
                unit, low, high = KINDS[kind]
                text = observation(
                    len(readings), kind, station, rng.randint(low, high), unit if rng.random() < 0.7 else None
                )
                readings.append(SensorReading(at * MINUTE, WEATHER, text))
    return SensorWorld(tuple(readings), PREFIXES + "\n".join(known))


def city(seed: int, minutes: int = 60) -> SensorWorld:
    """Draw a city: speeds on roads, free places of car parks, where somebody walks, the air of districts."""
    rng = Random(seed)
    roads, parks = [f"road{i}" for i in range(4)], [f"park{i}" for i in range(3)]
    known = [
        ":route :takes :road0 , :road1 .",
        ':library :holds :reading ; :in :district1 . :reading :title "Reading" .',
    ]
    for i, road in enumerate(roads):
        known.append(f":loop{i} :watches :{road} . :{road} :length {500 + 250 * i} ; :in :district{i % 2} .")
        known.append(f":{road} :leadsTo :road{(i + 1) % 4} .")
    known += [f":{park} :places {10 + 5 * i} ; :in :district{i % 2} ; :costs {i} ." for i, park in enumerate(parks)]
    readings: list[SensorReading] = []

    def tell(at: int, stream: str, text: str) -> None:
        readings.append(SensorReading(at, stream, text))

    for at in range(MINUTE, minutes * MINUTE, 30):
        number = len(readings)
        if rng.random() < 0.5:
            loop = rng.randrange(4)
            cars = f":cars {rng.randrange(20)}"
            tell(at, TRAFFIC, f":o{number} :by :loop{loop} ; :speed {rng.randrange(10, 80)} ; {cars} .")
        if rng.random() < 0.3:
            park = rng.randrange(3)
            tell(at, PARKING, f":p{number} :of :park{park} ; :free {rng.choice((0, 0, 1, 3, 8))} .")
        if rng.random() < 0.2:
            tell(at, PEOPLE, f":ann :walksIn :district{rng.randrange(2)} .")
        if rng.random() < 0.25:
            tell(at, AIR, f":a{number} :around :district{rng.randrange(2)} ; :particles {rng.randrange(5, 60)} .")
    return SensorWorld(tuple(readings), PREFIXES + "\n".join(known))
