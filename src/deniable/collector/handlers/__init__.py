"""Handlers: parse a request, call one noun, answer. No SQL and no mathematics."""
