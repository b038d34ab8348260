"""Why an event did not occur: how far each rule got, nearest first. `ask` is the door."""
