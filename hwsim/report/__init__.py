"""Reports of what was compared: JUnit XML, JSON and one HTML page."""
