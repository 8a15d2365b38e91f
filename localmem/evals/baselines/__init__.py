"""The systems that BFR is compared with, over the same flat store (BFR, Appendix E).

Each is an adaptation that keeps a system's way of retrieving and leaves out what would change the store; the
module says what.
"""
