"""What the program asks of a model, one module for each role.

A *task* is a prompt, an output type and a limit; :func:`~localmem.roles.task.call` runs it. Tasks take plain
text and give plain values: they know nothing of the store, so that a capability probe can pose
them exactly as the program does.
"""
