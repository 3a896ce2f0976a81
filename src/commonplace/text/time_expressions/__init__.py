"""The days a question names ("what did we decide last week?"), and how close a log is to them.

English, and dates in numbers (ISO 8601, ``7.5.2023``); other languages name no days here. A query
that names none is told from its words alone, for next to nothing.
"""

from commonplace.text.time_expressions.days import Days, closeness
from commonplace.text.time_expressions.parser import days_named, without_times

__all__ = ["Days", "closeness", "days_named", "without_times"]
