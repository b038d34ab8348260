"""State of operators: stores of joins, blockers of absences, repetitions, aggregates."""
