"""What explanations refer to: the inputs of a run, what was made of them, and how facts and rules changed."""
