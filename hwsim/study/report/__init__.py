"""What a study shows: charts, tables and one page."""
