"""`any` on random streams: the engine gives what the meaning gives, under every policy, also through a snapshot."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import etalis
from etalis import semantics
from etalis.language import syntax as s
from etalis.language.check.shapes import pattern_shape
from etalis.language.read.parser import parse
from etalis.temporal.event import Event
from etalis.temporal.policy import POLICIES
