"""How things look to a person: pure functions from values to lines, without markup, at any width."""
