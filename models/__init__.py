"""The on-device model runtime, imported as ``localmem.models``.

It knows nothing of memory: it imports nothing from the rest of localmem (import-linter holds this).
"""
