"""Facts on their way to the workers, and facts that change while a stream runs."""
