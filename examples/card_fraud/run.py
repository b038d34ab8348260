"""Card fraud on Spark: `history` over Parquet files, `live` on rows that arrive late, `backtest` of changed rules.

`python examples/card_fraud/run.py history` makes its data and shows what it found; it needs `etalis[spark]` and Java.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import etalis
from etalis.pipeline import check_pipeline, run_pipeline
from etalis.spark import session

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER))

import data  # noqa: E402 - it stands beside this file

FOUND = ("fraud", "block", "live", "late", "checkpoint")


def main() -> int:
    commands = {"history": show_history, "live": show_live, "backtest": show_backtest}
    if len(sys.argv) != 2 or sys.argv[1] not in commands:
        print(f"usage: python {sys.argv[0]} {'|'.join(commands)}", file=sys.stderr)
        return 2
    prepare(FOLDER / "data")
    spark = session(cores=2)
    commands[sys.argv[1]](spark, FOLDER)
    spark.stop()
    return 0


def prepare(folder: Path) -> None:
    """Make the data, and remove what earlier runs have found in it."""
    for name in FOUND:
        shutil.rmtree(folder / name, ignore_errors=True)
    data.write_data(folder)


def show_history(spark: Any, folder: Path) -> None:
    """Run the rules over all files."""
    figures = run_pipeline(check_pipeline(folder / "history.toml"), spark=spark)
    print(f"{figures.rows:,} rows, {figures.matched:,} matches: {dict(figures.matches)}")
    spark.read.parquet(str(folder / "data" / "fraud")).orderBy("end", "Card").show(5, truncate=False)


def show_live(spark: Any, folder: Path) -> None:
    """Run the same rules batch by batch; what is too late is put aside."""
    figures = run_pipeline(check_pipeline(folder / "live.toml"), spark=spark)
    print(f"{(figures.batch or 0) + 1} batches, {figures.rows:,} rows, {figures.late} of them too late")
    print(f"{figures.matched:,} matches: {dict(figures.matches)}")
    spark.read.parquet(str(folder / "data" / "late")).select("event", "args", "reason").show(3, truncate=False)


def show_backtest(spark: Any, folder: Path) -> None:
    """Tell what changed rules would have found, and what no more."""
    old = etalis.compile_file(folder.parent / "fraud" / "fraud.etalis")
    new = etalis.compile_file(folder / "stricter.etalis")
    frames = {
        "withdrawal": spark.read.parquet(str(folder / "data" / "withdrawals")),
        "confirmed": spark.read.parquet(str(folder / "data" / "confirmations")),
    }
    changes = old.on(spark).compare(new, frames, time="ts").cache()
    changes.groupBy("event", "change").count().orderBy("event", "change").show()
    changes.orderBy("end", "event", "args").show(5, truncate=False)


if __name__ == "__main__":
    sys.exit(main())
