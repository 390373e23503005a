"""Studies of accuracy: many units run on many kinds of data, their errors measured against exact results."""
