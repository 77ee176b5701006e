"""What the other floors build on: records and their JSON, messages, sizes, files."""
