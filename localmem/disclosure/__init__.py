"""Progressive disclosure: sessions are searched, and opened layer by layer, until the question is covered."""
