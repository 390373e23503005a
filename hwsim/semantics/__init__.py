"""Semantics: other readings of a specification, and what tells them apart."""
