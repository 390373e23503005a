"""A matrix engine around a unit: streams of operands, a tile of elements that share decoders and control, results."""
