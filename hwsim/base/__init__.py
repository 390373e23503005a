"""The base of all rooms: errors, files, child processes, resources, compiled loops, arrays, texts."""
