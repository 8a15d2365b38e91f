"""Forget for good: look at what would go, let it go, read the receipt."""

from localmem import Memory
from localmem.models.hashing import HashEmbedder

with Memory.open("example.db", embedder=HashEmbedder()) as memory:
    memory.add([{"session": "a", "text": "My PIN is 2581."}, {"session": "a", "text": "I like tea."}])
    selection = memory.select(matching="2581")
    print("would go:", *(message.text for message in selection.every))
    receipt = memory.forget(selection, prove=True)
    assert receipt.proof is not None
    print(f"bytes searched: {sum(receipt.proof.scanned.values()) > 0}, found: {len(receipt.proof.hits)}")
    print(memory.show(1))
