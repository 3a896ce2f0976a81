"""Pure functions of text: chunking, tokens, terms, time expressions, redaction."""
