"""Talk to `localmem serve` as to any OpenAI-compatible endpoint (`pip install openai`).

Give the address that `localmem serve` prints and the folder of the home: ``openai_client.py URL HOME``.
"""

import sys
from pathlib import Path

from openai import OpenAI

address, home = sys.argv[1], Path(sys.argv[2])
client = OpenAI(base_url=address, api_key=(home / "endpoint-token").read_text().strip())
for text in ("My cat is called Miso.", "What is my cat called?"):  # two conversations
    stream = client.chat.completions.create(
        model="localmem", messages=[{"role": "user", "content": text}], stream=True
    )
    for chunk in stream:
        if chunk.choices:
            print(chunk.choices[0].delta.content or "", end="")
        for citation in (chunk.model_extra or {}).get("localmem", {}).get("citations", []):
            print(f"\n  said before: {citation['text']}", end="")
    print()
