"""Capability probes: may this model serve this role?

Each role has about twenty fixed items that pose its tasks as the program poses them, marked by rule. What
came out is kept by model hash (:mod:`localmem.probing.results`); a role that failed is served by its
deterministic twin.
"""
