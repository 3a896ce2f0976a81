"""QMD as a backend: a program beside the index that names the places where an answer may be.

Text, lines, citations, scores and filters are the index's own. QMD is asked behind a deadline, in a
home of its own, and never for its models that rewrite questions or rerank: they are downloaded at
their first use, and wait for ever without a network.
"""
