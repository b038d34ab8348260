"""The five queries of 003, chapter 7, as printed there."""

from __future__ import annotations

DROP_AND_RISE = """\
SELECT ?company
WHERE
  { ?company hasStockPrice ?price1 }
  SEQ { ?company hasStockPrice ?price2 }
  SEQ { ?company hasStockPrice ?price3 }
FILTER ( ?price2 < ?price1 * 0.7 &&
         ?price3 > ?price1 * 1.05 &&
         getDURATION() < "P30D"^^xsd:duration)
"""

DOWNRATED = """\
SELECT ?company ?ratingagency
WHERE
  { ?company downratedby ?ratingagency}
OPTIONALSEQ
  { { ?company hasStockPrice ?price1 }
    SEQ { ?company hasStockPrice ?price2 } }
FILTER ( ?price2 < ?price1 * 0.5)
"""

NOT_ACQUIRED = """\
SELECT ?company
WHERE
  { ?company hasStockprice ?price1 }
  SEQ { { ?company hasAcquired ?othercompany }
    OPTIONALSEQ
      { ?company hasStockPrice ?price2 } }
FILTER ( ?price2 < ?price1 * 1.5 &&
        !BOUND(?othercompany) &&
        getDURATION() < "P15D"^^xsd:duration )
"""

RATINGS = """\
CONSTRUCT ?company downratedby ?ratingagency
WHERE
    { ?rating1 rater ?ratingagency ;
      rated ?company ; score ?score1 }
    SEQ { ?rating2 rater ?ratingagency ;
          rated ?company ; score ?score2 }
FILTER ( ?score2 < ?score1 )
"""

RUNNING_COUNT = """\
CONSTRUCT _:aaa :hasCount ?count .
          _:aaa :hasSum ?sum .
{ SELECT ?count AS ?prevcount + 1
      ?sum AS ?prevsum + ?price
  WHERE {{ ?point :hasCount ?prevcount .
            ?point :hasSum ?prevsum . }
    SEQ { :ACME :hasStockPrice ?price . }}
  EQUALSOPTIONAL
    {{ ?point :hasCount ?prevcount .
      ?point :hasSum ?prevsum . }
    SEQ { :ACME :hasStockPrice ?inbetween . }
    SEQ { :ACME :hasStockPrice ?price . }}
FILTER ( !BOUND(?inbetween) &&
        getDURATION() < "P10D"^^xsd:duration )}
"""

QUERIES = (DROP_AND_RISE, DOWNRATED, NOT_ACQUIRED, RATINGS, RUNNING_COUNT)
