"""Finding messages: one pipeline over the lexical and the dense index."""
