"""Programs of the kind that users write: USUAL are those in the tables of docs/speed.md, MORE are others like them."""

from __future__ import annotations

from programs.cards import CARDS
from programs.case import Case
from programs.joins import JOINS, RULES
from programs.more_alerts import ALERTS
from programs.more_facts import FACTS
from programs.more_flows import FLOWS
from programs.more_houses import HOUSES
from programs.more_meters import METERS
from programs.more_networks import NETWORKS
from programs.more_orders import ORDERS
from programs.more_payments import PAYMENTS
from programs.more_prices import PRICES
from programs.more_sensors import SENSORS
from programs.more_services import SERVICES
from programs.more_tables import TABLES
from programs.more_users import USERS
from programs.more_ventures import VENTURES
from programs.more_watches import WATCHES
from programs.things import THINGS
from programs.trades import TRADES

USUAL: dict[str, Case] = CARDS | TRADES | THINGS | JOINS | RULES
MORE: dict[str, Case] = (
    ALERTS
    | PAYMENTS
    | PRICES
    | USERS
    | NETWORKS
    | SENSORS
    | ORDERS
    | WATCHES
    | FLOWS
    | TABLES
    | FACTS
    | SERVICES
    | VENTURES
    | HOUSES
    | METERS
)
CASES: dict[str, Case] = USUAL | MORE
