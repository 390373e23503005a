"""Units drawn at random over the whole language of specifications, which all implementations must agree on."""
