"""The table of connectors: formats of sources and sinks by their names."""

from __future__ import annotations

from etalis.pipeline.connectors.connector import Connector
from etalis.pipeline.connectors.effects import EFFECTS
from etalis.pipeline.connectors.files import FILES
from etalis.pipeline.connectors.kafka import KAFKA
from etalis.pipeline.connectors.spark_formats import SPARK_FORMATS

CONNECTORS: dict[str, Connector] = {connector.name: connector for connector in (*FILES, *SPARK_FORMATS, KAFKA, EFFECTS)}
