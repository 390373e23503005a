"""Small networks trained on units: what the papers claim of training, at the scale of one machine."""
