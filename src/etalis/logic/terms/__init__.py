"""Terms: values, variables, unification, standard order, text."""
