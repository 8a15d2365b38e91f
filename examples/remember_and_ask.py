"""Remember a few things, find them, and have a question answered by rule.

`HashEmbedder` needs no model file. Leave `embedder` and `use_model` out to use the models of your home
folder (`localmem models pull smollm2-135m all-minilm-l6-v2`).
"""

from localmem import Memory
from localmem.models.hashing import HashEmbedder

with Memory.open("example.db", embedder=HashEmbedder()) as memory:
    memory.add("My cat is called Miso.")
    memory.add(
        [
            {"session": "monday", "text": "I adopted Miso yesterday.", "at": "2026-03-08T09:00"},
            {"session": "monday", "role": "assistant", "text": "Lovely!", "at": "2026-03-08T09:01"},
        ]
    )
    for hit in memory.search("cat", k=1):
        print(f"{hit.message.text} ({hit.score:.2f})")
    answer = memory.ask("When did I adopt Miso?", use_model=False)
    print(answer.text)
    read, all_messages = answer.ledger.records, memory.stats().messages
    print(f"rests on messages {list(answer.citations)}, read {read} of {all_messages}")
