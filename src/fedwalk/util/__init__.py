"""Helpers for all layers that need only the standard library: files, locks, text, parallel tasks, signals."""
