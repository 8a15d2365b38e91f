"""Offline evaluation: dataset -> arm -> scorer -> log."""
