"""Exact matrix products, errors against them, theoretical bounds of these errors, and swamped terms."""
