"""Embeddings: the `Embedder` protocol, providers by name, and a client with retries.

A provider is one file of `providers`, imported when it is first selected; its vendor's client is
imported when it is first used. The clients are the vendors' own, behind an extra each, and not
LangChain's partner packages, which any user can pass in as an object. The reasons, by package:

========= ============= ==========================================================================
provider  client        LangChain's package instead
========= ============= ==========================================================================
openai    openai        takes twice as long to import (1.3 s of CPU against 0.7 s, and a search
                        from the command line waits for it), counts tokens with a vocabulary that
                        it downloads by default, and has no files and batches
gemini    google-genai  takes twice as long, wraps exceptions in an error without a status, has no
                        timeout, splits requests itself, and has no batch jobs
voyage    voyageai      counts tokens with a tokenizer from the Hugging Face hub, always; has no
                        timeout and no headers
mistral   mistralai     takes twice as long, downloads a tokenizer from the hub, logs a traceback
                        with every failure, and cannot choose the length of vectors
ollama    ollama        takes nearly three times as long, and adds nothing
========= ============= ==========================================================================

So no provider downloads a vocabulary, and no extra brings a framework along, but for the text
splitters that Voyage's client depends on. A provider makes one request for each call, without
retries of its own. `client.EmbeddingClient` packs texts into requests, keeps rate limits and
retries, by one policy for all (`retry`). Voyage's client drops headers that are not its own and has
no batch jobs; its requests are made through the class beneath, which has both.
"""
