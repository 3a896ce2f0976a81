"""Time expressions: the days that a question names ("last week"), and a log's closeness to them.

English, dates in numbers (ISO 8601, ``7.5.2023``), and months in some other languages. One regular
expression recognises a query without a time expression in microseconds.
"""

from commonplace.text.time_expressions.days import Days, closeness
from commonplace.text.time_expressions.parser import (
    TIME_WORD,
    calendar_names,
    days_named,
    is_date_word,
    weekday_names,
    without_times,
)

__all__ = [
    "TIME_WORD",
    "Days",
    "calendar_names",
    "closeness",
    "days_named",
    "is_date_word",
    "weekday_names",
    "without_times",
]
