"""How a program is divided on Spark: kinds of events, shards, stages."""
