"""Models: the gateway to language models, embeddings made on this machine, and token counts."""
