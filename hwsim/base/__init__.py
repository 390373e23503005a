"""What all rooms stand on: errors, files, child processes, resources, compiled loops, arrays, texts."""
