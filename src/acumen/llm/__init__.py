"""Models: the one door to language models, embeddings made on this machine, and token counts."""
