"""SNOOP-R, the event expressions of 004: three notations, checks, and detection in process. It opens no connection.

`read_xml`, `read_json`, `read_text` read an expression, `write_xml`, `write_json`, `write_text` write one; `Detector`
has what is registered and takes signals.
"""

from etalis.snoop.check import check, checked
from etalis.snoop.detection.detector import Detector, SignalReception
from etalis.snoop.detection.graph import EventGraph, draw_graph
from etalis.snoop.detection.leaf import ExpressionLeaf
from etalis.snoop.detection.leaf_index import LeafIndex
from etalis.snoop.detection.registration import LeafInstance, Registration
from etalis.snoop.detection.results import Contribution, ExpressionFailed, Notice, Result
from etalis.snoop.expression import Argument, Expression, ExpressionVariable, Opaque, Parameter
from etalis.snoop.markup.json_form import read_json, write_json
from etalis.snoop.markup.read_text import read_text
from etalis.snoop.markup.write_text import write_text
from etalis.snoop.markup.xml_form import read_xml, write_xml
from etalis.snoop.normal_form import normal_form

__all__ = [
    "Argument",
    "Contribution",
    "Detector",
    "EventGraph",
    "Expression",
    "ExpressionFailed",
    "ExpressionLeaf",
    "ExpressionVariable",
    "LeafIndex",
    "LeafInstance",
    "Notice",
    "Opaque",
    "Parameter",
    "Registration",
    "Result",
    "SignalReception",
    "check",
    "checked",
    "draw_graph",
    "normal_form",
    "read_json",
    "read_text",
    "read_xml",
    "write_json",
    "write_text",
    "write_xml",
]
