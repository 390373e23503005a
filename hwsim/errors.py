"""Errors that have an exit status of their own."""

from __future__ import annotations


class ToolMissing(RuntimeError):
    """A program that hwsim drives is not there. The message holds the command that installs it."""
