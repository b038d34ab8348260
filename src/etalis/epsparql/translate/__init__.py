"""From queries to rules: the translation of EP-SPARQL into the rule language."""
