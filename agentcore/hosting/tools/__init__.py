"""Tools: what an agent's model may do with its own memory, and the guard between the two."""
