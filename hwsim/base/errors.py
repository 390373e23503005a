"""Errors that have an exit status of their own."""

from __future__ import annotations

INTERRUPTED = 130  # the exit status of a run that Ctrl-C ended


class ToolMissing(RuntimeError):
    """Raised where a program that hwsim runs is not installed. The message holds the command that installs it."""


class InputError(ValueError):
    """Raised for a user's input that is not valid. The message names it, the rule and the value."""


class InputTypeError(InputError, TypeError):
    """Raised for a user's input that is of no valid type."""
