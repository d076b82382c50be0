"""The cycle: the runner that alone writes, undo, plan, and the facade hosts use."""
