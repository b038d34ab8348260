"""What operators keep: stores of joins, blockers of absences, repetitions, aggregates."""
