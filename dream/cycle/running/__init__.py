"""Running a cycle: its passes, their model calls, and the steps they take."""
