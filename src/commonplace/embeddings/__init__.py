"""Who makes vectors: the `Embedder` protocol, the bundled default, and the providers by name.

A provider is one file, imported when it is first asked for; its client is imported when it is first
used. The clients are the vendors' own, behind an extra each, and not LangChain's partner packages,
which any user can pass in as an object. What decided it, package by package:

========= ============= ==========================================================================
provider  client        what LangChain's package does instead
========= ============= ==========================================================================
openai    openai        takes twice as long to import (1.3 s of CPU against 0.7 s, and a search
                        from the command line waits for it), counts tokens with a vocabulary that
                        it downloads unless it is told not to, and has no files and batches
gemini    google-genai  takes twice as long, wraps what was raised in an error without a status,
                        has no timeout, cuts requests itself, and has no batch jobs
voyage    voyageai      counts tokens with a tokenizer from the Hugging Face hub, always; has no
                        timeout and no headers
mistral   mistralai     takes twice as long, downloads a tokenizer from the hub, logs a traceback
                        with every failure, and cannot choose the length of vectors
ollama    ollama        takes nearly three times as long, and adds nothing
========= ============= ==========================================================================

So none of them reaches for a hub or a vocabulary, and no extra brings a framework along, but for
the text splitters that Voyage's client depends on. Each makes one request for each call, without
retries of its own: `EmbeddingClient` cuts texts into requests, waits and tries again, the same way
for all.
Voyage's client drops headers that are not its own and has no batch jobs; its requests are made
through the class beneath, which has both.
"""
