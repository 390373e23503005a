"""Networks whose every matrix product goes through a unit: a transformer that embeds sentences, and one for digits."""
