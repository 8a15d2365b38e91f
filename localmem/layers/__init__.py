"""What is derived from messages by rule, and the guard for what a model derives.

:mod:`~localmem.layers.summary` makes L0, :mod:`~localmem.layers.bullets` L1 and L2, from messages and with no
store or model; :mod:`~localmem.layers.grounding` says what in a derived text its messages do not carry.
"""
