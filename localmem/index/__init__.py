"""What makes messages findable: terms, postings and vectors, with exact scores and a fixed order."""
