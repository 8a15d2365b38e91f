"""From found messages to an answer: sentences, dates, notes, and the text with its citations."""
