"""Follow an answer as it comes about: typed events instead of the final value."""

from localmem import Memory
from localmem.errors import LocalmemError
from localmem.events import AnswerDelta, Answered, Recalled, StepTaken
from localmem.models.hashing import HashEmbedder

with Memory.open("example.db", embedder=HashEmbedder()) as memory:
    memory.add("My cat is called Miso.")
    try:
        for event in memory.ask_events("What is my cat called?", policy="agent", use_model=False):
            match event:
                case StepTaken(step):
                    print(f"step {step}")
                case Recalled(evidence):
                    print(f"recalled {len(evidence)} message")
                case AnswerDelta(text):
                    print(f"writes: {text}")
                case Answered(answer):
                    print(f"stopped: {answer.stop_reason}")
    except LocalmemError as error:  # every error says what to do about it
        print(error)
