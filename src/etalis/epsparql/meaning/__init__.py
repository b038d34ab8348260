"""What queries mean: their solutions over a finite stream, by naive loops over the table of patterns.

Engines are compared with it. Nothing is shared with the plan but the evaluator of expressions.
"""

from etalis.epsparql.meaning.model import Answer, UnitAnswers, meaning
from etalis.epsparql.meaning.solutions import StreamedTriple

__all__ = ["Answer", "StreamedTriple", "UnitAnswers", "meaning"]
