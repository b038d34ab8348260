"""Pipelines from a file: `etalis pipeline check | run | drain | status pipeline.toml` (docs/pipeline.md).

A TOML file says where events come from, which program finds complex events in them, and where those go. Everything that
can be known is checked before Spark starts, all problems at once.
"""

from __future__ import annotations

from etalis.pipeline.check import Checked, check_pipeline
from etalis.pipeline.parts import Pipeline
from etalis.pipeline.run import drain_pipeline, run_pipeline, status_path
from etalis.pipeline.spec import read_pipeline

__all__ = ["Checked", "Pipeline", "check_pipeline", "drain_pipeline", "read_pipeline", "run_pipeline", "status_path"]
