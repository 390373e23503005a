"""Errors that have an exit status of their own."""

from __future__ import annotations


class ToolMissing(RuntimeError):
    """Raised where a program that hwsim runs is not installed. The message holds the command that installs it."""
