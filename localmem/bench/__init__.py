"""Benchmarks that anyone can run: they make their own data and compare within one run."""
